// Radix sort of unsigned keys, for inputs that are too long for a comparison sort.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whence {

// A sort key with a payload (an index, a length).
struct Keyed {
  uint64_t key;
  uint64_t value;
};

inline uint64_t key_of(uint64_t k) { return k; }
inline uint64_t key_of(const Keyed& k) { return k.key; }

// Sorts by key; keys are below 2^bits. Least significant digit first, 11 bits at a time; constant digits are skipped.
template <class T>
void radix_sort(std::vector<T>& items, int bits) {
  constexpr int kDigit = 11;
  constexpr std::size_t kBins = std::size_t{1} << kDigit;
  const std::size_t n = items.size();
  if (n < 2048) {
    std::sort(items.begin(), items.end(), [](const T& x, const T& y) { return key_of(x) < key_of(y); });
    return;
  }
  const int passes = (bits + kDigit - 1) / kDigit;
  std::vector<std::size_t> counts(passes * kBins, 0);
  for (const T& item : items)
    for (int p = 0; p < passes; ++p) ++counts[p * kBins + ((key_of(item) >> (p * kDigit)) & (kBins - 1))];
  std::vector<T> other(n);
  for (int p = 0; p < passes; ++p) {
    std::size_t* bin = &counts[p * kBins];
    if (*std::max_element(bin, bin + kBins) == n) continue;
    for (std::size_t b = 0, at = 0; b < kBins; ++b) {
      const std::size_t count = bin[b];
      bin[b] = at;
      at += count;
    }
    for (const T& item : items) other[bin[(key_of(item) >> (p * kDigit)) & (kBins - 1)]++] = item;
    items.swap(other);
  }
}

}  // namespace whence
