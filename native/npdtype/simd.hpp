// Passes over adjacent cells that read values and look at handles at once. AVX2 where the processor has it, chosen when
// the module is loaded; the plain versions compute the same.
#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// Whether the handles of n cells are first, first + step, ...; their values go to `values`.
using Split = bool (*)(const Cell* cells, npy_intp n, Handle first, uint64_t step, double* values);
extern Split split;

// Cells as values and handles apart, and back.
using Separate = void (*)(const Cell* cells, npy_intp n, double* values, Handle* handles);
using Join = void (*)(const double* values, const Handle* handles, npy_intp n, Cell* cells);
extern Separate separate;
extern Join join;

// The same check with the pairwise sum of the values, in the order in which NumPy adds.
using Sum = double (*)(const Cell* cells, npy_intp n, Handle first, uint64_t step, uint64_t* off);
extern Sum sum;

// The same check with the largest (smallest) of `start` and the values; NaN where any of them is one. Which zero is
// taken of 0.0 and -0.0 is not defined.
using Extreme = double (*)(double start, const Cell* cells, npy_intp n, Handle first, uint64_t step, uint64_t* off);
extern Extreme largest, smallest;

bool has_avx2();

}  // namespace whence::tracked

#if defined(__x86_64__) && defined(__GNUC__)
#define WHENCE_AVX2 1
#include <immintrin.h>
#endif
