// A digest of bytes that is about as fast as reading them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace whence {

// Returns a digest of 128 bits. Different bytes have different digests, except by chance; it is not cryptographic, so
// it does not protect against deliberate collisions.
std::array<uint64_t, 2> digest(const void* data, std::size_t bytes);

}  // namespace whence
