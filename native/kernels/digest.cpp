// Each of eight lanes of 64 bits reads one word of every 64 bytes, so that no multiplication waits for another. A step
// is a bijection of its lane, so a difference in a single word is never lost. At the end the lanes are mixed into two
// words.
#include "kernels/digest.hpp"

#include <bit>
#include <cstring>

namespace whence {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kStripe = kLanes * sizeof(uint64_t);
constexpr uint64_t kOdd = 0xd6e8feb86659fd93ULL;
constexpr uint64_t kOther = 0xa0761d6478bd642fULL;

uint64_t stirred(uint64_t x) {
  x = (x ^ (x >> 32)) * kOdd;
  x = (x ^ (x >> 29)) * kOther;
  return x ^ (x >> 32);
}

}  // namespace

std::array<uint64_t, 2> digest(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t lane[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) lane[i] = stirred(kOther + i);
  uint64_t word[kLanes];
  std::size_t left = bytes;
  for (; left >= kStripe; left -= kStripe, at += kStripe) {
    std::memcpy(word, at, kStripe);
    for (std::size_t i = 0; i < kLanes; ++i) lane[i] = std::rotl((lane[i] ^ word[i]) * kOdd, 29);
  }
  if (left) {
    std::memset(word, 0, kStripe);
    std::memcpy(word, at, left);
    for (std::size_t i = 0; i < kLanes; ++i) lane[i] = std::rotl((lane[i] ^ word[i]) * kOdd, 29);
  }
  uint64_t one = stirred(bytes ^ kOdd), two = stirred(bytes + kOther);
  for (std::size_t i = 0; i < kLanes; ++i) {
    one = stirred(one ^ lane[i]);
    two = stirred(two + std::rotl(lane[i], 32)) ^ one;
  }
  return {one, two};
}

}  // namespace whence
