// Bindings for sets of integer boxes: arrays in, read-only arrays out. Python checks the arguments of users before.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

#include "kernels/boxes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using whence::Values;

namespace {

using BoxesIn = nb::ndarray<const int64_t, nb::shape<-1, -1, 2>, nb::c_contig, nb::device::cpu>;
using BoxesOut = nb::ndarray<nb::numpy, const int64_t, nb::ndim<3>>;
using CellsIn = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using CellsOut = nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>;
using RowsIn = nb::ndarray<const int64_t, nb::c_contig, nb::device::cpu>;
using ShapeIn = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MaskIn = nb::ndarray<const uint8_t, nb::c_contig, nb::device::cpu>;
using MaskOut = nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu>;
using Answers = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;

// Short calls keep the GIL, because releasing it takes longer than they do.
constexpr std::size_t kLong = 256;

template <class F>
auto unlocked(std::size_t work, F&& f) {
  std::optional<nb::gil_scoped_release> release;
  if (work > kLong) release.emplace();
  return f();
}

template <class T>
nb::capsule owner_of(T* data) {
  return nb::capsule(data, [](void* p) noexcept { std::free(p); });
}

BoxesOut array_of(Values&& values, std::size_t n, std::size_t d) {
  int64_t* data = values.release();
  // A set without boxes has no memory, but an array needs a pointer.
  if (!data) data = static_cast<int64_t*>(std::malloc(sizeof(int64_t)));
  return BoxesOut(data, {n, d, 2}, owner_of(data));
}

BoxesOut array_of(Values&& values, std::size_t d) {
  const std::size_t n = values.size() / (2 * d);
  return array_of(std::move(values), n, d);
}

std::size_t axes_of(const BoxesIn& a, const BoxesIn& b) {
  if (a.shape(1) != b.shape(1)) throw nb::value_error("sets of boxes with different numbers of axes");
  return a.shape(1);
}

template <whence::Keep keep>
BoxesOut combine(BoxesIn a, BoxesIn b) {
  const std::size_t na = a.shape(0), nb = b.shape(0), d = axes_of(a, b);
  if (d == 0) return array_of({}, whence::any_kept(nullptr, na, nullptr, nb, 0, keep), 0);
  return array_of(unlocked(na + nb, [&] { return whence::combined(a.data(), na, b.data(), nb, d, keep); }), d);
}

template <whence::Keep keep>
bool none(BoxesIn a, BoxesIn b) {
  const std::size_t na = a.shape(0), nb = b.shape(0), d = axes_of(a, b);
  return unlocked(na + nb, [&] { return !whence::any_kept(a.data(), na, b.data(), nb, d, keep); });
}

// Kernels throw if an answer would not fit into memory, or a box is outside its array; Python gets an error of
// whence.errors.
void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const whence::TooLarge& e) {
    PyErr_SetString(nb::module_::import_("whence.errors").attr("TooLarge").ptr(), e.what());
  } catch (const whence::OutsideShape& e) {
    PyErr_SetString(nb::module_::import_("whence.errors").attr("OutOfRange").ptr(), e.what());
  }
}

}  // namespace

void bind_boxes(nb::module_& m) {
  nb::register_exception_translator(translate);

  m.def(
      "normalize",
      [](BoxesIn boxes) {
        const std::size_t n = boxes.shape(0), d = boxes.shape(1);
        if (d == 0) return array_of({}, n ? 1 : 0, 0);
        return array_of(unlocked(n, [&] { return whence::normalized(boxes.data(), n, d); }), d);
      },
      "boxes"_a, "The canonical form of boxes (n, axes, 2) with inclusive bounds, in any order, overlapping or empty.");

  m.def(
      "is_canonical",
      [](BoxesIn boxes) { return whence::is_canonical(boxes.data(), boxes.shape(0), boxes.shape(1)); }, "boxes"_a,
      "Whether boxes are in canonical form.");

  m.def(
      "boxes_of_cells",
      [](CellsIn cells) {
        const std::size_t n = cells.shape(0), d = cells.shape(1);
        if (d == 0) return array_of({}, n ? 1 : 0, 0);
        return array_of(unlocked(n, [&] { return whence::boxes_of_cells(cells.data(), n, d); }), d);
      },
      "cells"_a, "The canonical boxes of cells (n, axes), in any order, repeated or not.");

  m.def(
      "boxes_of_mask",
      [](MaskIn mask) {
        const std::size_t d = mask.ndim();
        if (d == 0) return array_of({}, *mask.data() ? 1 : 0, 0);
        std::size_t shape[whence::kMaxAxes] = {};
        for (std::size_t a = 0; a < std::min<std::size_t>(d, whence::kMaxAxes); ++a) shape[a] = mask.shape(a);
        return array_of(unlocked(mask.size(), [&] { return whence::boxes_of_mask(mask.data(), shape, d); }), d);
      },
      "mask"_a, "The canonical boxes of the non-zero cells of an array of bytes.");

  m.def("union_", combine<whence::kUnion>, "a"_a, "b"_a, "The cells of either canonical set.");
  m.def("intersection", combine<whence::kIntersection>, "a"_a, "b"_a, "The cells of both canonical sets.");
  m.def("difference", combine<whence::kDifference>, "a"_a, "b"_a, "The cells of the first set and not the second.");
  m.def("symmetric_difference", combine<whence::kEither>, "a"_a, "b"_a, "The cells of one of two canonical sets.");
  m.def("is_subset", none<whence::kDifference>, "a"_a, "b"_a, "Whether the second set has all cells of the first.");
  m.def("is_disjoint", none<whence::kIntersection>, "a"_a, "b"_a, "Whether two canonical sets have no common cell.");

  m.def(
      "contains",
      [](BoxesIn boxes, CellsIn cells) {
        const std::size_t n = boxes.shape(0), m = cells.shape(0), d = boxes.shape(1);
        if (d != cells.shape(1)) throw nb::value_error("boxes and cells with different numbers of axes");
        auto* found = static_cast<bool*>(std::malloc(m + 1));
        if (!found) throw std::bad_alloc();
        auto owner = owner_of(found);
        unlocked(m, [&] { whence::contains(boxes.data(), n, d, cells.data(), m, found); return 0; });
        return Answers(found, {m}, owner);
      },
      "boxes"_a, "cells"_a, "For each cell (m, axes), whether a canonical set has it.");

  m.def(
      "count",
      [](BoxesIn boxes) -> nb::object {
        const whence::Count c = whence::count(boxes.data(), boxes.shape(0), boxes.shape(1));
        if (!c.fits) return nb::none();
        if (c.high == 0) return nb::int_(c.low);
        return (nb::int_(c.high) << nb::int_(64)) | nb::int_(c.low);
      },
      "boxes"_a, "How many cells disjoint boxes have; None beyond 128 bits.");

  m.def(
      "expand",
      [](BoxesIn boxes, std::size_t cells) {
        const std::size_t n = boxes.shape(0), d = boxes.shape(1);
        auto* data = static_cast<int64_t*>(std::malloc(std::max<std::size_t>(cells * d, 1) * sizeof(int64_t)));
        if (!data) throw std::bad_alloc();
        auto owner = owner_of(data);
        unlocked(cells, [&] { whence::expand(boxes.data(), n, d, data); return 0; });
        return CellsOut(data, {cells, d}, owner);
      },
      "boxes"_a, "cells"_a, "The cells (cells, axes) of a canonical set in order; `cells` is its count.");

  m.def(
      "fill",
      [](BoxesIn boxes, MaskOut mask) {
        const std::size_t n = boxes.shape(0), d = boxes.shape(1);
        if (d != mask.ndim() || d > whence::kMaxAxes) throw nb::value_error("a mask with another number of axes");
        std::size_t shape[whence::kMaxAxes];
        for (std::size_t a = 0; a < d; ++a) shape[a] = mask.shape(a);
        unlocked(mask.size(), [&] { whence::fill(boxes.data(), n, d, shape, mask.data()); return 0; });
      },
      "boxes"_a, "mask"_a, "Sets the cells of boxes to 1 in an array of bytes that they lie within.");

  m.def(
      "first_outside",
      [](RowsIn rows, ShapeIn shape) -> nb::object {
        const std::size_t n = rows.shape(0), d = shape.shape(0);
        if (rows.ndim() < 2 || rows.shape(1) != d) throw nb::value_error("rows with another number of axes");
        const int each = rows.ndim() == 3 ? static_cast<int>(rows.shape(2)) : 1;
        const std::size_t i =
            unlocked(n, [&] { return whence::first_outside(rows.data(), n, d, each, shape.data()); });
        return i == n ? nb::none() : nb::object(nb::int_(i));
      },
      "rows"_a, "shape"_a, "The first of cells (n, axes) or boxes (n, axes, 2) with an index outside a shape, or None.");
}
