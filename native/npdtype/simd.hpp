// Passes over contiguous cells that read values and check handles at once. They use AVX2 if the processor has it,
// chosen when the module is loaded; the plain versions compute the same.
#pragma once

#include "npdtype/api.hpp"

namespace whence::tracked {

// Returns whether the handles of n cells are first, first + step, ...; writes their values to `values`.
using Split = bool (*)(const Cell* cells, npy_intp n, Handle first, uint64_t step, double* values);
extern Split split;

// Separates cells into values and handles, and joins them again.
using Separate = void (*)(const Cell* cells, npy_intp n, double* values, Handle* handles);
using Join = void (*)(const double* values, const Handle* handles, npy_intp n, Cell* cells);
extern Separate separate;
extern Join join;

// The same check with the pairwise sum of the values, in the order in which NumPy adds.
using Sum = double (*)(const Cell* cells, npy_intp n, Handle first, uint64_t step, uint64_t* off);
extern Sum sum;

// The same check with the largest (smallest) of `start` and the values; NaN if any of them is NaN. Which of 0.0 and
// -0.0 is returned is not defined.
using Extreme = double (*)(double start, const Cell* cells, npy_intp n, Handle first, uint64_t step, uint64_t* off);
extern Extreme largest, smallest;

bool has_avx2();

}  // namespace whence::tracked

#if defined(__x86_64__) && defined(__GNUC__)
#define WHENCE_AVX2 1
#include <immintrin.h>
#endif
