// A digest of bytes that is about as fast as reading them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace whence {

// 128 bits. Bytes that differ have different digests but for chance; it is no protection against someone who wants two
// alike.
std::array<uint64_t, 2> digest(const void* data, std::size_t bytes);

}  // namespace whence
