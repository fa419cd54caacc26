#include "kernels/keys.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace whence {

size_t encode(const int64_t* x, size_t n, const std::vector<int64_t>& dims, uint64_t* keys) {
  const size_t k = dims.size();
  for (size_t i = 0; i < n; ++i) {
    const int64_t* t = x + i * k;
    uint64_t key = 0;
    bool ok = true;
    for (size_t c = 0; c < k; ++c) {
      ok &= t[c] >= 0 && t[c] < dims[c];
      key = key * static_cast<uint64_t>(dims[c]) + static_cast<uint64_t>(t[c]);
    }
    if (!ok) return i;
    keys[i] = key;
  }
  return n;
}

size_t sort_unique(uint64_t* keys, size_t n) {
  if (!std::is_sorted(keys, keys + n)) {
    if (n < 4096) {
      std::sort(keys, keys + n);
    } else {
      constexpr int kBits = 11;
      constexpr size_t kBuckets = size_t{1} << kBits;
      const uint64_t top = *std::max_element(keys, keys + n);
      const std::unique_ptr<uint64_t[]> other(new uint64_t[n]);
      uint64_t *from = keys, *to = other.get();
      for (int shift = 0; shift < 64 && (top >> shift) != 0; shift += kBits) {
        std::array<size_t, kBuckets> start{};
        for (size_t i = 0; i < n; ++i) ++start[(from[i] >> shift) & (kBuckets - 1)];
        size_t sum = 0;
        bool one = false;  // all in one bucket: skip this digit
        for (size_t& s : start) {
          one |= s == n;
          const size_t c = s;
          s = sum;
          sum += c;
        }
        if (one) continue;
        for (size_t i = 0; i < n; ++i) to[start[(from[i] >> shift) & (kBuckets - 1)]++] = from[i];
        std::swap(from, to);
      }
      if (from != keys) std::copy(from, from + n, keys);
    }
  }
  return static_cast<size_t>(std::unique(keys, keys + n) - keys);
}

void rekey(uint64_t* keys, size_t n, const std::vector<int64_t>& view, const std::vector<int>& order) {
  const size_t k = view.size();
  // weight[v]: the value of one step along axis v of the view in the new key
  std::vector<uint64_t> weight(k);
  uint64_t w = 1;
  for (size_t i = k; i-- > 0;) {
    weight[order[i]] = w;
    w *= static_cast<uint64_t>(view[order[i]]);
  }
  for (size_t i = 0; i < n; ++i) {
    uint64_t rest = keys[i], key = 0;
    for (size_t v = k; v-- > 0;) {
      const uint64_t d = static_cast<uint64_t>(view[v]);
      key += (rest % d) * weight[v];
      rest /= d;
    }
    keys[i] = key;
  }
}

void decode(const uint64_t* keys, size_t n, const std::vector<int64_t>& dims, int64_t* tuples) {
  const size_t k = dims.size();
  for (size_t i = 0; i < n; ++i) {
    uint64_t rest = keys[i];
    for (size_t v = k; v-- > 0;) {
      const uint64_t d = static_cast<uint64_t>(dims[v]);
      tuples[i * k + v] = static_cast<int64_t>(rest % d);
      rest /= d;
    }
  }
}

Fed feed_keys(Folder& folder, const uint64_t* keys, size_t n, const std::vector<int64_t>& dims) {
  constexpr size_t kChunk = 8192;
  std::vector<int64_t> tuples(kChunk * dims.size());
  for (size_t i = 0; i < n; i += kChunk) {
    const size_t c = std::min(kChunk, n - i);
    decode(keys + i, c, dims, tuples.data());
    const Fed fed = folder.feed(tuples.data(), c);
    if (fed != Fed::ok) return fed;
  }
  return Fed::ok;
}

}  // namespace whence
