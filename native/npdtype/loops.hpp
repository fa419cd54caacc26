// The inner loops of ufuncs. Values come from NumPy's own float64 loop or from the same IEEE operation; handles are
// processed in parallel.
#pragma once

#include "npdtype/api.hpp"
#include "npdtype/simd.hpp"

namespace whence::tracked {

inline constexpr int kMostOperands = 8;
inline constexpr npy_intp kChunk = 256;  // cells whose values are gathered at a time: they fit into the L1 cache

// What a loop needs to know of its ufunc; stored in NumPy's auxiliary data.
struct Plain {
  NpyAuxData base;
  PyUFuncGenericFunction function;  // NumPy's float64 loop
  void* data;
  Extreme extreme;  // for the ufuncs of the largest or the smallest value; nullptr for others
  int nin, nout;
  bool tracked[kMostOperands];

  void run(char** operands, npy_intp n, const npy_intp* strides) const {
    function(operands, &n, const_cast<npy_intp*>(strides), data);
  }
};

inline double value_at(const char* cell) { return *reinterpret_cast<const double*>(cell); }
inline Handle handle_at(const char* cell) { return *reinterpret_cast<const Handle*>(cell + offsetof(Cell, handle)); }

using Loop = PyArrayMethod_StridedLoop;

// For any ufunc.
Loop generic_loop;
// No output is tracked: only NumPy's loop runs.
Loop values_loop;
// matmul, vecdot, matvec, vecmat; nullptr for other generalized ufuncs.
Loop* product_loop(const char* name);
// Returns our own loop that is faster than the generic one, or nullptr. Sets `silent` if it must not raise warnings.
Loop* fused_loop(const char* name, bool* silent);

// Reduces n cells, `stride` bytes apart, into one.
void reduce(const Plain& plain, Cell* into, const char* cells, npy_intp stride, npy_intp n);
// The same for np.add, in one pass over contiguous cells.
void reduce_sum(const Plain& plain, Cell* into, const char* cells, npy_intp stride, npy_intp n);
// Reduces each of n rows of m > 1 contiguous cells, for np.add and the ufuncs that have an `extreme`. Returns false
// (and writes nothing) if this version of NumPy adds in another order.
bool reduce_rows(const Plain& plain, const Cell* cells, npy_intp n, npy_intp m, Cell* out);
// Returns the pass for a ufunc of the largest or smallest operand; nullptr for others.
Extreme extreme_of(const char* ufunc);
// Accumulates: each output cell is the first input of the next one.
void accumulate(const Plain& plain, char* const* data, const npy_intp* strides, npy_intp n);

inline bool is_reduction(char* const* data, const npy_intp* strides) {
  return data[0] == data[2] && strides[0] == 0 && strides[2] == 0;
}
inline bool is_accumulation(char* const* data, const npy_intp* strides) {
  return data[0] + strides[0] == data[2] && strides[0] == strides[2] && strides[0] != 0;
}

}  // namespace whence::tracked
