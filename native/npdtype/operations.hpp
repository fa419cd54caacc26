// Operations of two numbers that are computed together with handles: one at a time, and four with AVX2.
#pragma once

#include <cmath>

#include "npdtype/simd.hpp"

namespace whence::tracked {

#ifdef WHENCE_AVX2
#define WHENCE_TARGET __attribute__((target("avx2")))
#define WHENCE_LANES(NAME)                                                        \
  static WHENCE_TARGET inline __m256d lanes(__m256d a, __m256d b) { return _mm256_##NAME##_pd(a, b); }
#else
#define WHENCE_LANES(NAME)
#endif

struct Add {
  static double of(double a, double b) { return a + b; }
  WHENCE_LANES(add)
};
struct Subtract {
  static double of(double a, double b) { return a - b; }
  WHENCE_LANES(sub)
};
struct Multiply {
  static double of(double a, double b) { return a * b; }
  WHENCE_LANES(mul)
};
struct Divide {
  static double of(double a, double b) { return a / b; }
  WHENCE_LANES(div)
};
// The larger (smaller), or a NaN if there is one; quiet comparisons, because np.maximum gives no warning.
struct Maximum {
  static double of(double a, double b) { return std::isgreater(a, b) || a != a ? a : b; }
#ifdef WHENCE_AVX2
  static WHENCE_TARGET inline __m256d lanes(__m256d a, __m256d b) {
    const __m256d first = _mm256_or_pd(_mm256_cmp_pd(a, b, _CMP_GT_OQ), _mm256_cmp_pd(a, a, _CMP_UNORD_Q));
    return _mm256_blendv_pd(b, a, first);
  }
#endif
};
struct Minimum {
  static double of(double a, double b) { return std::isless(a, b) || a != a ? a : b; }
#ifdef WHENCE_AVX2
  static WHENCE_TARGET inline __m256d lanes(__m256d a, __m256d b) {
    const __m256d first = _mm256_or_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ), _mm256_cmp_pd(a, a, _CMP_UNORD_Q));
    return _mm256_blendv_pd(b, a, first);
  }
#endif
};

}  // namespace whence::tracked
