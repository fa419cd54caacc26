// The most frequent operations, computed together with the handles in one pass.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "npdtype/loops.hpp"
#include "npdtype/operations.hpp"
#include "npdtype/pieces.hpp"
#include "npdtype/simd.hpp"
#include "npdtype/unions.hpp"

namespace whence::tracked {

namespace {

constexpr npy_intp kCell = sizeof(Cell);
constexpr npy_intp kBlock = 32;  // cells that are checked at a time

#ifdef WHENCE_AVX2
#define WHENCE_LANE(EXPRESSION) \
  static WHENCE_TARGET inline __m256d lanes(__m256d a) { return EXPRESSION; }
#else
#define WHENCE_LANE(EXPRESSION)
#endif

struct Negative {
  static double of(double a) { return -a; }
  WHENCE_LANE(_mm256_xor_pd(a, _mm256_set1_pd(-0.0)))
};
struct Absolute {
  static double of(double a) { return std::fabs(a); }
  WHENCE_LANE(_mm256_andnot_pd(_mm256_set1_pd(-0.0), a))
};
struct SquareRoot {
  static double of(double a) { return std::sqrt(a); }
  WHENCE_LANE(_mm256_sqrt_pd(a))
};
struct Square {
  static double of(double a) { return a * a; }
  WHENCE_LANE(_mm256_mul_pd(a, a))
};

#ifdef WHENCE_AVX2

// Contiguous cells, four at a time: `values(v, i)` computes the results of cells i, i + 2, i + 1, i + 3 from their
// values.
template <class Lanes, class One>
WHENCE_TARGET [[gnu::always_inline]] inline void adjacent(const Cell* in, Cell* out, npy_intp n, Lanes values, One one) {
  npy_intp i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256d low = _mm256_loadu_pd(&in[i].value), high = _mm256_loadu_pd(&in[i + 2].value);
    const __m256d made = values(_mm256_unpacklo_pd(low, high), i), handles = _mm256_unpackhi_pd(low, high);
    _mm256_storeu_pd(&out[i].value, _mm256_unpacklo_pd(made, handles));
    _mm256_storeu_pd(&out[i + 2].value, _mm256_unpackhi_pd(made, handles));
  }
  for (; i < n; ++i) out[i] = {one(in[i].value, i), in[i].handle};
}

template <class Op>
WHENCE_TARGET void unary_adjacent(const Cell* in, Cell* out, npy_intp n) {
  adjacent(
      in, out, n, [](__m256d v, npy_intp) WHENCE_TARGET { return Op::lanes(v); }, [](double v, npy_intp) { return Op::of(v); });
}

// A plain operand that is constant, or has one value for each cell.
template <class Op, bool first_tracked>
WHENCE_TARGET void mixed_adjacent(const Cell* cells, const double* plain, bool still, Cell* out, npy_intp n) {
  const auto lanes = [](__m256d v, __m256d w) WHENCE_TARGET { return first_tracked ? Op::lanes(v, w) : Op::lanes(w, v); };
  const auto one = [](double v, double w) { return first_tracked ? Op::of(v, w) : Op::of(w, v); };
  if (still) {
    const double number = *plain;
    const __m256d same = _mm256_set1_pd(number);
    adjacent(
        cells, out, n, [&](__m256d v, npy_intp) WHENCE_TARGET { return lanes(v, same); },
        [&](double v, npy_intp) { return one(v, number); });
  } else {
    adjacent(
        cells, out, n,
        [&](__m256d v, npy_intp i) WHENCE_TARGET { return lanes(v, _mm256_permute4x64_pd(_mm256_loadu_pd(plain + i), 0xd8)); },
        [&](double v, npy_intp i) { return one(v, plain[i]); });
  }
}

#endif

template <class Op>
void unary_cells(const char* from, char* to, npy_intp n, const npy_intp* strides) {
#ifdef WHENCE_AVX2
  if (strides[0] == kCell && strides[1] == kCell && has_avx2()) {
    return unary_adjacent<Op>(reinterpret_cast<const Cell*>(from), reinterpret_cast<Cell*>(to), n);
  }
#endif
  for (npy_intp i = 0; i < n; ++i) {
    Cell cell = *reinterpret_cast<const Cell*>(from + i * strides[0]);
    cell.value = Op::of(cell.value);
    *reinterpret_cast<Cell*>(to + i * strides[1]) = cell;
  }
}

template <class Op>
int unary(PyArrayMethod_Context*, char* const* data, const npy_intp* n, const npy_intp* strides, NpyAuxData*) {
  return guarded([&] {
    in_pieces(n[0], [&](npy_intp from, npy_intp to) {
      unary_cells<Op>(data[0] + from * strides[0], data[1] + from * strides[1], to - from, strides);
    });
  });
}

// One operand is plain: the handle of the other is copied.
template <class Op, bool first_tracked>
[[gnu::always_inline]] inline void mixed(const char* a, const char* b, char* out, npy_intp n, npy_intp as, npy_intp bs,
                                         npy_intp os) {
  for (npy_intp i = 0; i < n; ++i) {
    const char *x = a + i * as, *y = b + i * bs;
    *reinterpret_cast<Cell*>(out + i * os) = {Op::of(value_at(x), value_at(y)), handle_at(first_tracked ? x : y)};
  }
}

// Whether the handle `all`, a constant interval, contains n single cells.
[[gnu::always_inline]] inline bool swallows(Handle all, const char* cells, npy_intp stride, npy_intp n) {
  if (all == 0 || !is_interval(all)) return false;
  const Handle first = one_cell(origin(all));
  uint64_t outside = 0;
  for (npy_intp k = 0; k < n; ++k) outside |= handle_at(cells + k * stride) - first >= shape(all);
  return outside == 0;
}

// Two tracked operands, block by block. If all unions of a block are the latest one, moved, each costs an addition.
template <class Op>
[[gnu::always_inline]] inline void both(const char* a, const char* b, char* out, npy_intp n, npy_intp as, npy_intp bs,
                                        npy_intp os) {
  const Repetition around(n);
  Latest latest;
  Handle handles[kBlock];
  const char* still = bs == 0 ? b : as == 0 ? a : nullptr;  // a broadcast operand, such as a row's mean
  for (npy_intp i = 0; i < n; i += kBlock) {
    const npy_intp some = std::min(kBlock, n - i);
    const char *x = a + i * as, *y = b + i * bs;
    char* to = out + i * os;
    if (still != nullptr && swallows(handle_at(still), bs == 0 ? x : y, bs == 0 ? as : bs, some)) {
      std::fill(handles, handles + some, handle_at(still));
    } else {
      still = nullptr;
      uint64_t off = some == kBlock ? 0 : 1;
      for (npy_intp k = 0; k < some; ++k) {
        const Handle p = handle_at(x + k * as), q = handle_at(y + k * bs);
        off |= ((q - p) ^ latest.distance) | ((p >> kOriginBits) ^ latest.shape);
      }
      if (off == 0) {
        for (npy_intp k = 0; k < kBlock; ++k) handles[k] = handle_at(x + k * as) + latest.result;
      } else {
        for (npy_intp k = 0; k < some; ++k) handles[k] = latest.unite(handle_at(x + k * as), handle_at(y + k * bs));
      }
    }
    for (npy_intp k = 0; k < some; ++k) {
      *reinterpret_cast<Cell*>(to + k * os) = {Op::of(value_at(x + k * as), value_at(y + k * bs)), handles[k]};
    }
  }
}

// Whether all n handles are the same.
bool constant(const Cell* cells, npy_intp n) {
  uint64_t off = 0;
  for (npy_intp k = 1; k < n; ++k) off |= cells[k].handle ^ cells[0].handle;
  return off == 0;
}

// Computes the unions of a block whose first operands' handles, plus a constant, are already in `out`.
void unite_block(Cell* out, uint64_t moved, const Cell* b, Latest& latest) {
  for (npy_intp k = 0; k < kBlock; ++k) out[k].handle -= moved;
  const auto take = [&](Handle h) {
    for (npy_intp k = 0; k < kBlock; ++k) out[k].handle = h;
  };
  // NumPy copies a broadcast operand into a buffer, so the same cell is repeated.
  if (constant(b, kBlock) && swallows(b[0].handle, reinterpret_cast<const char*>(out), kCell, kBlock)) {
    return take(b[0].handle);
  }
  if (constant(out, kBlock) && swallows(out[0].handle, reinterpret_cast<const char*>(b), kCell, kBlock)) return;
  for (npy_intp k = 0; k < kBlock; ++k) out[k].handle = latest.unite(out[k].handle, b[k].handle);
}

#ifdef WHENCE_AVX2

// Contiguous cells: computes values and handles in one pass, assuming that each union is the latest one, moved. If that
// was wrong, `out` still has the first operand's handle plus a constant, from which the block's unions are computed
// afterwards. So `out` may be `a`, but not `b`.
template <class Op>
WHENCE_TARGET void both_adjacent(const Cell* a, const Cell* b, Cell* out, npy_intp n) {
  const Repetition around(n);
  Latest latest;
  if (n > 0) latest.unite(a[0].handle, b[0].handle);  // probably what the whole first block needs
  npy_intp i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    const __m256i distance = _mm256_set1_epi64x(static_cast<long long>(latest.distance));
    const __m256i shape = _mm256_set1_epi64x(static_cast<long long>(latest.shape));
    const __m256i result = _mm256_set1_epi64x(static_cast<long long>(latest.result));
    __m256i off = _mm256_setzero_si256();
    for (npy_intp k = i; k < i + kBlock; k += 4) {
      const __m256d a0 = _mm256_loadu_pd(&a[k].value), a1 = _mm256_loadu_pd(&a[k + 2].value);
      const __m256d b0 = _mm256_loadu_pd(&b[k].value), b1 = _mm256_loadu_pd(&b[k + 2].value);
      const __m256i p = _mm256_castpd_si256(_mm256_unpackhi_pd(a0, a1));
      const __m256i q = _mm256_castpd_si256(_mm256_unpackhi_pd(b0, b1));
      const __m256i far = _mm256_xor_si256(_mm256_sub_epi64(q, p), distance);
      const __m256i other = _mm256_xor_si256(_mm256_srli_epi64(p, kOriginBits), shape);
      off = _mm256_or_si256(off, _mm256_or_si256(far, other));
      const __m256d values = Op::lanes(_mm256_unpacklo_pd(a0, a1), _mm256_unpacklo_pd(b0, b1));
      const __m256d handles = _mm256_castsi256_pd(_mm256_add_epi64(p, result));
      _mm256_storeu_pd(&out[k].value, _mm256_unpacklo_pd(values, handles));
      _mm256_storeu_pd(&out[k + 2].value, _mm256_unpackhi_pd(values, handles));
    }
    if (_mm256_testz_si256(off, off)) continue;
    unite_block(out + i, latest.result, b + i, latest);
  }
  for (; i < n; ++i) out[i] = {Op::of(a[i].value, b[i].value), latest.unite(a[i].handle, b[i].handle)};
}

#endif

template <class Op>
void binary_cells(const Plain& plain, char* const* data, npy_intp n, const npy_intp* s) {
  const char *a = data[0], *b = data[1];
  char* out = data[2];
  if (plain.tracked[0] && plain.tracked[1]) {
#ifdef WHENCE_AVX2
    if (has_avx2() && s[0] == kCell && s[1] == kCell && s[2] == kCell && b != out) {
      return both_adjacent<Op>(reinterpret_cast<const Cell*>(a), reinterpret_cast<const Cell*>(b),
                               reinterpret_cast<Cell*>(out), n);
    }
#endif
    if (s[0] == kCell && s[1] == kCell && s[2] == kCell) return both<Op>(a, b, out, n, kCell, kCell, kCell);
    if (s[0] == kCell && s[1] == 0 && s[2] == kCell) return both<Op>(a, b, out, n, kCell, 0, kCell);
    if (s[0] == 0 && s[1] == kCell && s[2] == kCell) return both<Op>(a, b, out, n, 0, kCell, kCell);
    return both<Op>(a, b, out, n, s[0], s[1], s[2]);
  }
  constexpr npy_intp number = sizeof(double);
#ifdef WHENCE_AVX2
  const int cells = plain.tracked[0] ? 0 : 1;
  if (has_avx2() && s[cells] == kCell && s[2] == kCell && (s[1 - cells] == 0 || s[1 - cells] == number)) {
    const auto pass = cells == 0 ? mixed_adjacent<Op, true> : mixed_adjacent<Op, false>;
    return pass(reinterpret_cast<const Cell*>(data[cells]), reinterpret_cast<const double*>(data[1 - cells]),
                s[1 - cells] == 0, reinterpret_cast<Cell*>(out), n);
  }
#endif
  if (plain.tracked[0]) {
    if (s[0] == kCell && s[1] == 0 && s[2] == kCell) return mixed<Op, true>(a, b, out, n, kCell, 0, kCell);
    if (s[0] == kCell && s[1] == number && s[2] == kCell) return mixed<Op, true>(a, b, out, n, kCell, number, kCell);
    return mixed<Op, true>(a, b, out, n, s[0], s[1], s[2]);
  }
  if (s[0] == 0 && s[1] == kCell && s[2] == kCell) return mixed<Op, false>(a, b, out, n, 0, kCell, kCell);
  if (s[0] == number && s[1] == kCell && s[2] == kCell) return mixed<Op, false>(a, b, out, n, number, kCell, kCell);
  return mixed<Op, false>(a, b, out, n, s[0], s[1], s[2]);
}

template <class Op>
int binary(PyArrayMethod_Context*, char* const* data, const npy_intp* dimensions, const npy_intp* strides,
           NpyAuxData* aux) {
  const Plain& plain = *reinterpret_cast<const Plain*>(aux);
  const npy_intp n = dimensions[0];
  return guarded([&] {
    if (plain.tracked[0] && plain.tracked[1]) {
      if (is_reduction(data, strides)) {
        constexpr auto fold = std::is_same_v<Op, Add> ? reduce_sum : reduce;
        return fold(plain, reinterpret_cast<Cell*>(data[2]), data[1], strides[1], n);
      }
      if (is_accumulation(data, strides)) return accumulate(plain, data, strides, n);
    }
    in_pieces(n, [&](npy_intp from, npy_intp to) {
      char* at[3];
      for (int k = 0; k < 3; ++k) at[k] = data[k] + from * strides[k];
      binary_cells<Op>(plain, at, to - from, strides);
    });
  });
}

}  // namespace

Loop* fused_loop(const char* name, bool* silent) {
  const std::string_view ufunc = name;
  *silent = ufunc == "negative" || ufunc == "absolute" || ufunc == "maximum" || ufunc == "minimum";
  if (ufunc == "add") return binary<Add>;
  if (ufunc == "subtract") return binary<Subtract>;
  if (ufunc == "multiply") return binary<Multiply>;
  if (ufunc == "divide") return binary<Divide>;
  if (ufunc == "maximum") return binary<Maximum>;
  if (ufunc == "minimum") return binary<Minimum>;
  if (ufunc == "negative") return unary<Negative>;
  if (ufunc == "absolute") return unary<Absolute>;
  if (ufunc == "sqrt") return unary<SquareRoot>;
  if (ufunc == "square") return unary<Square>;
  return nullptr;
}

}  // namespace whence::tracked
