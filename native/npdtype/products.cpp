// matmul and related ufuncs. The values come from NumPy's float64 loop, which uses BLAS, over plain copies with the
// memory layout of the operands, because BLAS rounds differently for other layouts. An output cell comes from its row
// and column.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "npdtype/arena.hpp"
#include "npdtype/loops.hpp"
#include "npdtype/sets.hpp"
#include "npdtype/unions.hpp"

namespace whence::tracked {

namespace {

constexpr npy_intp kNumber = sizeof(double);
constexpr npy_intp kRoom = npy_intp{1} << 20;  // up to so many numbers, the strides of an operand are preserved

// Two axes of an operand in memory; a vector has one of length 1.
struct Matrix {
  char* data;
  npy_intp rows, columns, row_stride, column_stride;
  char* at(npy_intp i, npy_intp j) const { return data + i * row_stride + j * column_stride; }
};

// The values of a tracked operand, with the same strides in cells.
struct Copy {
  std::vector<double> values;
  char* data = nullptr;
  npy_intp row_stride = 0, column_stride = 0;

  void shape(const Matrix& m) {
    row_stride = m.row_stride / 2;
    column_stride = m.column_stride / 2;
    const bool odd = row_stride % kNumber != 0 || column_stride % kNumber != 0;
    if (odd || span(m) > std::max(kRoom, 4 * m.rows * m.columns)) compact(m);
    npy_intp low = 0;
    for (npy_intp reach : {row_stride * (m.rows - 1), column_stride * (m.columns - 1)}) low += std::min<npy_intp>(reach, 0);
    values.resize(span(m));
    data = reinterpret_cast<char*>(values.data()) - low;
  }
  npy_intp span(const Matrix& m) const {
    return (std::abs(row_stride) * (m.rows - 1) + std::abs(column_stride) * (m.columns - 1)) / kNumber + 1;
  }
  // Small strides with the same properties: contiguous or not, forward or backward, the same axis inside.
  void compact(const Matrix& m) {
    const bool columns_inside = std::abs(column_stride) <= std::abs(row_stride);
    npy_intp& inner = columns_inside ? column_stride : row_stride;
    npy_intp& outer = columns_inside ? row_stride : column_stride;
    const npy_intp n = columns_inside ? m.columns : m.rows;
    const auto like = [](npy_intp old, npy_intp size) { return old == 0 ? 0 : old < 0 ? -size : size; };
    inner = like(inner, std::abs(inner) == kNumber ? kNumber : 2 * kNumber);
    outer = like(outer, (n + 1) * std::max(std::abs(inner), kNumber));
  }
  double& at(npy_intp i, npy_intp j) { return *reinterpret_cast<double*>(data + i * row_stride + j * column_stride); }
  void take(const Matrix& m) {
    shape(m);
    for (npy_intp i = 0; i < m.rows; ++i) {
      for (npy_intp j = 0; j < m.columns; ++j) at(i, j) = value_at(m.at(i, j));
    }
  }
};

bool same(const Matrix& a, const Matrix& b) {  // b is a transposed: then NumPy computes only one triangle
  return a.data == b.data && a.rows == b.columns && a.columns == b.rows && a.row_stride == b.column_stride &&
         a.column_stride == b.row_stride;
}

Handle line(char* first, npy_intp stride, npy_intp n) {
  Gatherer& cells = Gatherer::fresh();
  cells.add_all(first + offsetof(Cell, handle), stride, static_cast<size_t>(n));
  return cells.finish();
}

// Returns a handle as a node, so that any two of them fit into one handle.
Handle as_node(Handle h) {
  if (h == 0 || tag(h) == Tag::node) return h;
  return Arena::get().unite(&h, 1);
}

struct Sizes {
  npy_intp rows, inner, columns;
};

// Maps the dimensions and strides that NumPy passes to two matrices and their product.
struct Form {
  const char* name;
  int rows, inner, columns;           // indices among the core dimensions, -1 if there is none
  int left[2], right[2], product[2];  // indices among the core strides, -1 if there is none
  int dimensions() const { return 1 + (rows >= 0) + 1 + (columns >= 0); }
  int strides() const { return 3 + 2 * (dimensions() - 1); }
};
constexpr Form kForms[] = {{"matmul", 0, 1, 2, {0, 1}, {2, 3}, {4, 5}},
                           {"vecdot", -1, 0, -1, {-1, 0}, {1, -1}, {-1, -1}},
                           {"matvec", 0, 1, -1, {0, 1}, {2, -1}, {3, -1}},
                           {"vecmat", -1, 0, 1, {-1, 0}, {1, 2}, {-1, 3}}};

template <int which>
void multiply(const Plain& plain, char* const* data, const npy_intp* dimensions, const npy_intp* strides) {
  constexpr Form form = kForms[which];
  const npy_intp* core = dimensions + 1;
  const npy_intp* steps = strides + 3;
  const auto length = [&](int k) { return k < 0 ? npy_intp{1} : core[k]; };
  const auto step = [&](int k) { return k < 0 ? npy_intp{0} : steps[k]; };
  const Sizes n = {length(form.rows), length(form.inner), length(form.columns)};
  Copy copies[3];
  std::vector<Handle> rows(n.rows), columns(n.columns);
  for (npy_intp each = 0; each < dimensions[0]; ++each) {
    const Matrix a = {data[0] + each * strides[0], n.rows, n.inner, step(form.left[0]), step(form.left[1])};
    const Matrix b = {data[1] + each * strides[1], n.inner, n.columns, step(form.right[0]), step(form.right[1])};
    const Matrix c = {data[2] + each * strides[2], n.rows, n.columns, step(form.product[0]), step(form.product[1])};
    char* operands[3] = {a.data, b.data, c.data};
    std::vector<npy_intp> plain_strides(strides, strides + form.strides());
    const auto use = [&](Copy& copy, int k, const int (&places)[2]) {
      operands[k] = copy.data;
      if (places[0] >= 0) plain_strides[3 + places[0]] = copy.row_stride;
      if (places[1] >= 0) plain_strides[3 + places[1]] = copy.column_stride;
    };
    if (plain.tracked[0]) {
      copies[0].take(a);
      use(copies[0], 0, form.left);
    }
    if (plain.tracked[1] && plain.tracked[0] && same(a, b)) {
      copies[1].data = copies[0].data;
      copies[1].row_stride = copies[0].column_stride;
      copies[1].column_stride = copies[0].row_stride;
      use(copies[1], 1, form.right);
    } else if (plain.tracked[1]) {
      copies[1].take(b);
      use(copies[1], 1, form.right);
    }
    copies[2].shape(c);
    use(copies[2], 2, form.product);
    std::vector<npy_intp> plain_dimensions(dimensions, dimensions + form.dimensions());
    plain_dimensions[0] = 1;
    plain.function(operands, plain_dimensions.data(), plain_strides.data(), plain.data);

    for (npy_intp i = 0; i < n.rows; ++i) rows[i] = plain.tracked[0] ? line(a.at(i, 0), a.column_stride, n.inner) : 0;
    for (npy_intp j = 0; j < n.columns; ++j) columns[j] = plain.tracked[1] ? line(b.at(0, j), b.row_stride, n.inner) : 0;
    const bool many = n.rows > 1 && n.columns > 1 && plain.tracked[0] && plain.tracked[1];
    if (many) {
      for (Handle& h : rows) h = as_node(h);
      for (Handle& h : columns) h = as_node(h);
    }
    for (npy_intp i = 0; i < n.rows; ++i) {
      for (npy_intp j = 0; j < n.columns; ++j) {
        const Handle r = rows[i], s = columns[j];
        const bool pair = many && r != 0 && s != 0 && r != s && place(r) <= kHalf && place(s) <= kHalf;
        const Cell cell = {copies[2].at(i, j), pair ? two_nodes(place(r), place(s)) : unite(r, s)};
        std::memcpy(c.at(i, j), &cell, sizeof cell);
      }
    }
  }
}

template <int which>
int loop(PyArrayMethod_Context*, char* const* data, const npy_intp* dimensions, const npy_intp* strides,
         NpyAuxData* aux) {
  const Plain& plain = *reinterpret_cast<const Plain*>(aux);
  return guarded([&] { multiply<which>(plain, data, dimensions, strides); });
}

}  // namespace

Loop* product_loop(const char* name) {
  const std::string_view ufunc = name;
  if (ufunc == kForms[0].name) return loop<0>;
  if (ufunc == kForms[1].name) return loop<1>;
  if (ufunc == kForms[2].name) return loop<2>;
  if (ufunc == kForms[3].name) return loop<3>;
  return nullptr;
}

}  // namespace whence::tracked
