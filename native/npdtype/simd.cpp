#include "npdtype/simd.hpp"

#include <cmath>
#include <limits>

namespace whence::tracked {

namespace {

bool split_plain(const Cell* cells, npy_intp n, Handle first, uint64_t step, double* values) {
  uint64_t off = 0;
  for (npy_intp i = 0; i < n; ++i) {
    values[i] = cells[i].value;
    off |= cells[i].handle ^ (first + step * static_cast<uint64_t>(i));
  }
  return off == 0;
}

void separate_plain(const Cell* cells, npy_intp n, double* values, Handle* handles) {
  for (npy_intp i = 0; i < n; ++i) {
    values[i] = cells[i].value;
    handles[i] = cells[i].handle;
  }
}

void join_plain(const double* values, const Handle* handles, npy_intp n, Cell* cells) {
  for (npy_intp i = 0; i < n; ++i) cells[i] = {values[i], handles[i]};
}

// NumPy adds up to 128 numbers in eight lanes, and splits longer arrays in half at a multiple of eight.
constexpr npy_intp kLeaf = 128;

double few(const Cell* cells, npy_intp n, Handle first, uint64_t step, uint64_t* off) {
  double result = -0.0;
  for (npy_intp i = 0; i < n; ++i) {
    result += cells[i].value;
    *off |= cells[i].handle ^ (first + step * static_cast<uint64_t>(i));
  }
  return result;
}

double leaf_plain(const Cell* cells, npy_intp n, Handle first, uint64_t step, uint64_t* off) {
  double r[8];
  uint64_t o[8];
  for (int k = 0; k < 8; ++k) {
    r[k] = cells[k].value;
    o[k] = cells[k].handle ^ (first + step * static_cast<uint64_t>(k));
  }
  npy_intp i = 8;
  for (; i < n - n % 8; i += 8) {
    const Handle expected = first + step * static_cast<uint64_t>(i);
    for (int k = 0; k < 8; ++k) {
      r[k] += cells[i + k].value;
      o[k] |= cells[i + k].handle ^ (expected + step * static_cast<uint64_t>(k));
    }
  }
  double result = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (uint64_t each : o) *off |= each;
  for (; i < n; ++i) {
    result += cells[i].value;
    *off |= cells[i].handle ^ (first + step * static_cast<uint64_t>(i));
  }
  return result;
}

template <Sum leaf>
double pairwise(const Cell* cells, npy_intp n, Handle first, uint64_t step, uint64_t* off) {
  if (n < 8) return few(cells, n, first, step, off);
  if (n <= kLeaf) return leaf(cells, n, first, step, off);
  npy_intp half = n / 2;
  half -= half % 8;
  const double left = pairwise<leaf>(cells, half, first, step, off);
  return left + pairwise<leaf>(cells + half, n - half, first + step * static_cast<uint64_t>(half), step, off);
}

template <bool large>
double extreme_plain(double start, const Cell* cells, npy_intp n, Handle first, uint64_t step, uint64_t* off) {
  double best = start;
  bool nan = start != start;
  for (npy_intp i = 0; i < n; ++i) {
    const double value = cells[i].value;
    best = (large ? std::isgreater(value, best) : std::isless(value, best)) ? value : best;
    nan |= value != value;
    *off |= cells[i].handle ^ (first + step * static_cast<uint64_t>(i));
  }
  return nan ? std::numeric_limits<double>::quiet_NaN() : best;
}

#ifdef WHENCE_AVX2

// Four cells are in two registers; unpacking makes one of values and one of handles, both in the order 0 2 1 3.
struct Four {
  __m256d values;
  __m256i handles;
};

__attribute__((target("avx2"), always_inline)) inline Four load(const Cell* cells) {
  const __m256d low = _mm256_loadu_pd(&cells[0].value), high = _mm256_loadu_pd(&cells[2].value);
  return {_mm256_unpacklo_pd(low, high), _mm256_castpd_si256(_mm256_unpackhi_pd(low, high))};
}

__attribute__((target("avx2"), always_inline)) inline __m256i progression(Handle first, uint64_t step) {
  const auto at = [=](uint64_t k) { return static_cast<long long>(first + step * k); };
  return _mm256_set_epi64x(at(3), at(1), at(2), at(0));
}

__attribute__((target("avx2"))) bool split_avx2(const Cell* cells, npy_intp n, Handle first, uint64_t step,
                                                double* values) {
  __m256i expected = progression(first, step), off = _mm256_setzero_si256();
  const __m256i ahead = _mm256_set1_epi64x(static_cast<long long>(4 * step));
  npy_intp i = 0;
  for (; i + 4 <= n; i += 4) {
    const Four four = load(cells + i);
    off = _mm256_or_si256(off, _mm256_xor_si256(four.handles, expected));
    expected = _mm256_add_epi64(expected, ahead);
    _mm256_storeu_pd(values + i, _mm256_permute4x64_pd(four.values, 0xd8));
  }
  const bool same = split_plain(cells + i, n - i, first + step * static_cast<uint64_t>(i), step, values + i);
  return same && _mm256_testz_si256(off, off);
}

__attribute__((target("avx2"))) void separate_avx2(const Cell* cells, npy_intp n, double* values, Handle* handles) {
  npy_intp i = 0;
  for (; i + 4 <= n; i += 4) {
    const Four four = load(cells + i);
    _mm256_storeu_pd(values + i, _mm256_permute4x64_pd(four.values, 0xd8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(handles + i), _mm256_permute4x64_epi64(four.handles, 0xd8));
  }
  separate_plain(cells + i, n - i, values + i, handles + i);
}

__attribute__((target("avx2"))) void join_avx2(const double* values, const Handle* handles, npy_intp n, Cell* cells) {
  npy_intp i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256d v = _mm256_permute4x64_pd(_mm256_loadu_pd(values + i), 0xd8);
    const __m256d h = _mm256_permute4x64_pd(_mm256_loadu_pd(reinterpret_cast<const double*>(handles + i)), 0xd8);
    _mm256_storeu_pd(&cells[i].value, _mm256_unpacklo_pd(v, h));
    _mm256_storeu_pd(&cells[i + 2].value, _mm256_unpackhi_pd(v, h));
  }
  join_plain(values + i, handles + i, n - i, cells + i);
}

__attribute__((target("avx2"))) double leaf_avx2(const Cell* cells, npy_intp n, Handle first, uint64_t step,
                                                 uint64_t* off) {
  __m256i expected = progression(first, step), expected2 = progression(first + 4 * step, step);
  const __m256i ahead = _mm256_set1_epi64x(static_cast<long long>(8 * step));
  Four low = load(cells), high = load(cells + 4);
  __m256d r = low.values, r2 = high.values;
  __m256i o = _mm256_xor_si256(low.handles, expected), o2 = _mm256_xor_si256(high.handles, expected2);
  npy_intp i = 8;
  for (; i < n - n % 8; i += 8) {
    low = load(cells + i);
    high = load(cells + i + 4);
    expected = _mm256_add_epi64(expected, ahead);
    expected2 = _mm256_add_epi64(expected2, ahead);
    r = _mm256_add_pd(r, low.values);
    r2 = _mm256_add_pd(r2, high.values);
    o = _mm256_or_si256(o, _mm256_xor_si256(low.handles, expected));
    o2 = _mm256_or_si256(o2, _mm256_xor_si256(high.handles, expected2));
  }
  double a[4], b[4];  // lanes 0 2 1 3 and 4 6 5 7
  _mm256_storeu_pd(a, r);
  _mm256_storeu_pd(b, r2);
  double result = ((a[0] + a[2]) + (a[1] + a[3])) + ((b[0] + b[2]) + (b[1] + b[3]));
  o = _mm256_or_si256(o, o2);
  if (!_mm256_testz_si256(o, o)) *off |= 1;
  for (; i < n; ++i) {
    result += cells[i].value;
    *off |= cells[i].handle ^ (first + step * static_cast<uint64_t>(i));
  }
  return result;
}

// Sixteen cells at a time, so that four comparisons run in parallel.
template <bool large>
__attribute__((target("avx2"))) double extreme_avx2(double start, const Cell* cells, npy_intp n, Handle first,
                                                    uint64_t step, uint64_t* off) {
  constexpr int lanes = 4;
  __m256i expected = progression(first, step), o = _mm256_setzero_si256();
  const __m256i ahead = _mm256_set1_epi64x(static_cast<long long>(4 * step));
  __m256d best[lanes], nan = _mm256_setzero_pd();
  for (__m256d& each : best) each = _mm256_set1_pd(start);
  npy_intp i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    Four four[lanes];
    for (int k = 0; k < lanes; ++k) {
      four[k] = load(cells + i + 4 * k);
      o = _mm256_or_si256(o, _mm256_xor_si256(four[k].handles, expected));
      expected = _mm256_add_epi64(expected, ahead);
      best[k] = large ? _mm256_max_pd(four[k].values, best[k]) : _mm256_min_pd(four[k].values, best[k]);
    }
    for (int k = 0; k < lanes; k += 2) {  // one comparison shows whether either is a NaN
      nan = _mm256_or_pd(nan, _mm256_cmp_pd(four[k].values, four[k + 1].values, _CMP_UNORD_Q));
    }
  }
  for (; i + 4 <= n; i += 4) {
    const Four four = load(cells + i);
    o = _mm256_or_si256(o, _mm256_xor_si256(four.handles, expected));
    expected = _mm256_add_epi64(expected, ahead);
    best[0] = large ? _mm256_max_pd(four.values, best[0]) : _mm256_min_pd(four.values, best[0]);
    nan = _mm256_or_pd(nan, _mm256_cmp_pd(four.values, four.values, _CMP_UNORD_Q));
  }
  if (!_mm256_testz_si256(o, o)) *off |= 1;
  const auto better = [](__m256d a, __m256d b) __attribute__((target("avx2"))) {
    return large ? _mm256_max_pd(a, b) : _mm256_min_pd(a, b);
  };
  double found[4];
  _mm256_storeu_pd(found, better(better(best[0], best[1]), better(best[2], best[3])));
  double result = found[0];
  for (double each : found) result = (large ? each > result : each < result) ? each : result;
  if (_mm256_movemask_pd(nan) != 0) result = std::numeric_limits<double>::quiet_NaN();
  return extreme_plain<large>(result, cells + i, n - i, first + step * static_cast<uint64_t>(i), step, off);
}

#endif

}  // namespace

bool has_avx2() {
#ifdef WHENCE_AVX2
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
#else
  return false;
#endif
}

#ifdef WHENCE_AVX2
Split split = has_avx2() ? split_avx2 : split_plain;
Separate separate = has_avx2() ? separate_avx2 : separate_plain;
Join join = has_avx2() ? join_avx2 : join_plain;
Sum sum = has_avx2() ? pairwise<leaf_avx2> : pairwise<leaf_plain>;
Extreme largest = has_avx2() ? extreme_avx2<true> : extreme_plain<true>;
Extreme smallest = has_avx2() ? extreme_avx2<false> : extreme_plain<false>;
#else
Split split = split_plain;
Separate separate = separate_plain;
Join join = join_plain;
Sum sum = pairwise<leaf_plain>;
Extreme largest = extreme_plain<true>;
Extreme smallest = extreme_plain<false>;
#endif

}  // namespace whence::tracked
