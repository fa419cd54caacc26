#include "npdtype/columns.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "npdtype/operations.hpp"
#include "npdtype/sets.hpp"

namespace whence::tracked {

namespace {

// Reduces all rows from `top` on into `results`; returns zero if each handle is first + row * down + column * across.
template <class Op>
struct Pass {
  const Cell* cells;
  npy_intp n, m;
  Handle first;
  uint64_t down, across;
  npy_intp top;
  double* results;

  uint64_t plain() const {
    uint64_t off = 0;
    for (npy_intp i = top; i < n; ++i) {
      const Cell* row = cells + i * m;
      const Handle start = first + down * static_cast<uint64_t>(i);
      for (npy_intp j = 0; j < m; ++j) {
        results[j] = Op::of(results[j], row[j].value);
        off |= row[j].handle ^ (start + across * static_cast<uint64_t>(j));
      }
    }
    return off;
  }

#ifdef WHENCE_AVX2
  // Four cells at a time, values and handles in the order 0 2 1 3.
  __attribute__((target("avx2"))) uint64_t wide() const {
    const npy_intp end = m / 4 * 4;
    const auto at = [this](uint64_t k) { return static_cast<long long>(across * k); };
    const __m256i lanes = _mm256_set_epi64x(at(3), at(1), at(2), at(0));
    const __m256i stride = _mm256_set1_epi64x(at(4));
    __m256i off = _mm256_setzero_si256();
    uint64_t rest = 0;
    for (npy_intp j = 0; j < end; j += 4) std::swap(results[j + 1], results[j + 2]);
    for (npy_intp i = top; i < n; ++i) {
      const Cell* row = cells + i * m;
      const Handle start = first + down * static_cast<uint64_t>(i);
      __m256i expected = _mm256_add_epi64(lanes, _mm256_set1_epi64x(static_cast<long long>(start)));
      for (npy_intp j = 0; j < end; j += 4) {
        const __m256d low = _mm256_loadu_pd(&row[j].value), high = _mm256_loadu_pd(&row[j + 2].value);
        const __m256i handles = _mm256_castpd_si256(_mm256_unpackhi_pd(low, high));
        off = _mm256_or_si256(off, _mm256_xor_si256(handles, expected));
        expected = _mm256_add_epi64(expected, stride);
        _mm256_storeu_pd(results + j, Op::lanes(_mm256_loadu_pd(results + j), _mm256_unpacklo_pd(low, high)));
      }
      for (npy_intp j = end; j < m; ++j) {
        results[j] = Op::of(results[j], row[j].value);
        rest |= row[j].handle ^ (start + across * static_cast<uint64_t>(j));
      }
    }
    for (npy_intp j = 0; j < end; j += 4) std::swap(results[j + 1], results[j + 2]);
    return rest | static_cast<uint64_t>(!_mm256_testz_si256(off, off));
  }
#endif

  uint64_t run() const {
#ifdef WHENCE_AVX2
    if (has_avx2()) return wide();
#endif
    return plain();
  }
};

// Sums start at zero, as NumPy's do; the others start at the first row.
template <class Op, bool from_zero>
bool reduced(const Cell* cells, npy_intp n, npy_intp m, Cell* out) {
  const Handle first = cells[0].handle;
  const uint64_t down = cells[m].handle - first, across = cells[1].handle - first;
  std::vector<double> results(static_cast<size_t>(m), 0.0);
  uint64_t off = 0;
  for (npy_intp j = 0; j < m && !from_zero; ++j) {
    results[j] = cells[j].value;
    off |= cells[j].handle ^ (first + across * static_cast<uint64_t>(j));
  }
  const Pass<Op> pass = {cells, n, m, first, down, across, from_zero ? 0 : 1, results.data()};
  if (off != 0 || pass.run() != 0 || tag(first) != Tag::shaped) return false;
  const auto set_of = [&](Handle top) {
    Gatherer& all = Gatherer::fresh();
    all.add_run(top, down, static_cast<uint64_t>(n));
    return all.finish(true);
  };
  // Sets are independent of their origin: if the last column's set is the first one's, moved, so are all between.
  const Handle set = set_of(first);
  const uint64_t width = static_cast<uint64_t>(m - 1);
  const bool moved = set != 0 && tag(set) == Tag::shaped && set_of(first + across * width) == set + across * width;
  for (npy_intp j = 0; j < m; ++j) {
    const uint64_t shift = across * static_cast<uint64_t>(j);
    out[j] = {results[j], moved ? set + shift : set_of(first + shift)};
  }
  return true;
}

}  // namespace

Columns columns_of(const char* ufunc) {
  const std::string_view name = ufunc;
  if (name == "add") return reduced<Add, true>;
  if (name == "maximum") return reduced<Maximum, false>;
  if (name == "minimum") return reduced<Minimum, false>;
  return nullptr;
}

}  // namespace whence::tracked
