// The inner loops of ufuncs. Values come from NumPy's own float64 loop or from the same IEEE operation; lineage is
// moved beside them.
#pragma once

#include "npdtype/api.hpp"
#include "npdtype/simd.hpp"

namespace whence::tracked {

inline constexpr int kMostOperands = 8;
inline constexpr npy_intp kChunk = 256;  // cells whose values are gathered at a time: they stay in the L1 cache

// What a loop knows of its ufunc; lives in NumPy's auxiliary data.
struct Plain {
  NpyAuxData base;
  PyUFuncGenericFunction function;  // NumPy's float64 loop
  void* data;
  Extreme extreme;  // of the ufunc that gives the largest or the smallest; nullptr for others
  int nin, nout;
  bool tracked[kMostOperands];

  void run(char** operands, npy_intp n, const npy_intp* strides) const {
    function(operands, &n, const_cast<npy_intp*>(strides), data);
  }
};

inline double value_at(const char* cell) { return *reinterpret_cast<const double*>(cell); }
inline Handle handle_at(const char* cell) { return *reinterpret_cast<const Handle*>(cell + offsetof(Cell, handle)); }

using Loop = PyArrayMethod_StridedLoop;

// Any ufunc.
Loop generic_loop;
// No output is tracked: NumPy's loop alone.
Loop values_loop;
// matmul, vecdot, matvec, vecmat; nullptr for other generalized ufuncs.
Loop* product_loop(const char* name);
// A loop of our own that is faster than the generic one, or nullptr. Sets `silent` if it must not raise warnings.
Loop* fused_loop(const char* name, bool* silent);

// A reduction of n cells, `stride` bytes apart, into one.
void reduce(const Plain& plain, Cell* into, const char* cells, npy_intp stride, npy_intp n);
// The same for np.add, in one pass over adjacent cells.
void reduce_sum(const Plain& plain, Cell* into, const char* cells, npy_intp stride, npy_intp n);
// Each of n rows of m > 1 adjacent cells into one, for np.add and the ufuncs that have an extreme. False (and nothing is
// written) if this NumPy adds in another order.
bool reduce_rows(const Plain& plain, const Cell* cells, npy_intp n, npy_intp m, Cell* out);
// The pass for a ufunc that gives the largest or the smallest of its operands; nullptr for others.
Extreme extreme_of(const char* ufunc);
// The operands of an accumulation: each output cell is the next one's first input.
void accumulate(const Plain& plain, char* const* data, const npy_intp* strides, npy_intp n);

inline bool is_reduction(char* const* data, const npy_intp* strides) {
  return data[0] == data[2] && strides[0] == 0 && strides[2] == 0;
}
inline bool is_accumulation(char* const* data, const npy_intp* strides) {
  return data[0] + strides[0] == data[2] && strides[0] == strides[2] && strides[0] != 0;
}

}  // namespace whence::tracked
