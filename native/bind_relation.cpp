#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "kernels/fold.hpp"
#include "kernels/gaps.hpp"
#include "kernels/gather.hpp"
#include "kernels/keys.hpp"
#include "kernels/table.hpp"
#include "kernels/validate.hpp"
#include "kernels/values.hpp"

namespace nb = nanobind;
using namespace whence;

namespace {

using Ints = nb::ndarray<const int64_t, nb::c_contig, nb::device::cpu>;
using Writable = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Shape = std::vector<int64_t>;

// Passes a vector to NumPy without copying it; Seen is the element type for NumPy.
template <class Seen = int64_t, class T>
nb::object to_numpy(std::vector<T>&& values, std::vector<size_t> shape) {
  auto* held = new std::vector<T>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Seen>(held->data(), shape.size(), shape.data(), owner));
}

nb::object column_out(const Column& c) {
  if (!c.dense()) return nb::make_tuple(c.first(), c.step());
  std::vector<int64_t> copy(c.values().begin(), c.values().end());
  const size_t n = copy.size();
  return to_numpy(std::move(copy), {n});
}

// An array is copied, or kept as it is if it is `shared`.
Column column_in(nb::handle h, bool shared) {
  if (nb::isinstance<nb::tuple>(h)) {
    const auto t = nb::cast<std::tuple<int64_t, int64_t>>(h);
    return {std::get<0>(t), std::get<1>(t)};
  }
  const auto a = nb::cast<Ints>(h);
  if (!shared) return Column(std::vector<int64_t>(a.data(), a.data() + a.size()));
  const auto free = [](const Ints* held) {
    nb::gil_scoped_acquire lock;
    delete held;
  };
  return {std::span<const int64_t>(a.data(), a.size()), std::shared_ptr<const Ints>(new Ints(a), free)};
}

// (rows, [(parent, p, q)...], [lo...], [width...]); a column is (first, step) or an int64 array.
nb::tuple part_out(const Part& part) {
  nb::list axes, lo, width;
  for (const Axis& a : part.pattern) axes.append(nb::make_tuple(a.parent, a.p, a.q));
  for (const Column& c : part.lo) lo.append(column_out(c));
  for (const Column& c : part.width) width.append(column_out(c));
  return nb::make_tuple(part.rows, axes, lo, width);
}

Part part_in(size_t rows, const std::vector<std::tuple<int, int64_t, int64_t>>& axes, nb::list lo, nb::list width,
             bool shared) {
  Part part;
  part.rows = rows;
  for (const auto& [parent, p, q] : axes) part.pattern.push_back({parent, p, q});
  for (nb::handle h : lo) part.lo.push_back(column_in(h, shared));
  for (nb::handle h : width) part.width.push_back(column_in(h, shared));
  for (const auto* columns : {&part.lo, &part.width}) {
    for (const Column& c : *columns) {
      if (c.dense() && c.values().size() != rows) throw std::invalid_argument("a column of another length");
    }
  }
  return part;
}

// Calls f(from, to) for each block of a column, whose first row is in `starts`.
template <class F>
void each_block(const Writable& column, const Ints& starts, F f) {
  const size_t n = column.size(), blocks = starts.size();
  const auto start = [&](size_t b) { return b < blocks ? static_cast<size_t>(starts.data()[b]) : n; };
  for (size_t b = 0; b < blocks; ++b) {
    if (start(b) > start(b + 1) || start(b + 1) > n) throw std::invalid_argument("blocks in order, inside the column");
  }
  nb::gil_scoped_release free;
  for (size_t b = 0; b < blocks; ++b) f(start(b), start(b + 1));
}

const char* word(Fed fed) {
  switch (fed) {
    case Fed::ok: return "ok";
    case Fed::unsorted: return "unsorted";
    case Fed::out_of_range: return "out_of_range";
  }
  return "";
}

}  // namespace

void bind_relation(nb::module_& m) {
  nb::class_<Table>(m, "Table", "A relation in memory: parts of rows, one part a pattern.")
      .def(nb::init<Shape, Shape, Shape, Shape>(), nb::arg("out_shape"), nb::arg("in_shape"), nb::arg("out_view"),
           nb::arg("in_view"))
      .def(
          "add",
          [](Table& t, size_t rows, const std::vector<std::tuple<int, int64_t, int64_t>>& axes, nb::list lo,
             nb::list width) { t.add(part_in(rows, axes, lo, width, false)); },
          nb::arg("rows"), nb::arg("axes"), nb::arg("lo"), nb::arg("width"))
      .def_prop_ro("rows", &Table::rows)
      .def_prop_ro("out_view", &Table::out_view)
      .def_prop_ro("in_view", &Table::in_view)
      .def("parts",
           [](const Table& t) {
             nb::list out;
             for (const Part& part : t.parts()) out.append(part_out(part));
             return out;
           })
      .def(
          "ask",
          [](const Table& t, Ints boxes, bool backward, size_t limit) {
            const Shape& given = backward ? t.out_shape() : t.in_shape();
            const Shape& wanted = backward ? t.in_shape() : t.out_shape();
            if (boxes.ndim() != 3 || boxes.shape(1) != given.size() || boxes.shape(2) != 2) {
              throw std::invalid_argument("boxes of the wrong shape");
            }
            std::vector<int64_t> found;
            {
              nb::gil_scoped_release free;
              found = t.ask(boxes.data(), boxes.shape(0), backward, limit);
            }
            const size_t d = wanted.size();
            const size_t n = d == 0 ? found.size() : found.size() / (2 * d);
            return to_numpy<const int64_t>(std::move(found), {n, d, 2});
          },
          nb::arg("boxes"), nb::arg("backward"), nb::arg("limit"))
      .def(
          "contains",
          [](const Table& t, Keys keys) {
            std::vector<unsigned char> found;
            {
              nb::gil_scoped_release free;
              found = t.contains(keys.data(), keys.size());
            }
            const size_t n = found.size();
            return to_numpy<bool>(std::move(found), {n});
          },
          nb::arg("keys"))
      .def("count",
           [](const Table& t) {
             unsigned __int128 n;
             {
               nb::gil_scoped_release free;
               n = t.count();
             }
             return nb::make_tuple(static_cast<uint64_t>(n >> 64), static_cast<uint64_t>(n));
           })
      .def(
          "add_validated",
          [](Table& t, size_t rows, const std::vector<std::tuple<int, int64_t, int64_t>>& axes, nb::list lo,
             nb::list width, size_t block) {
            Part part = part_in(rows, axes, lo, width, true);
            t.check_pattern(part);
            Shape dims = t.out_view();
            dims.insert(dims.end(), t.in_view().begin(), t.in_view().end());
            std::vector<int64_t> bounds;
            {
              nb::gil_scoped_release free;
              if (const char* wrong = invalid(part, dims, block, bounds)) throw std::invalid_argument(wrong);
            }
            t.add(std::move(part));
            const size_t blocks = dims.empty() ? 0 : bounds.size() / (2 * dims.size());
            return to_numpy(std::move(bounds), {dims.size(), 2, blocks});
          },
          nb::arg("rows"), nb::arg("axes"), nb::arg("lo"), nb::arg("width"), nb::arg("block"))
      .def("disjoint",
           [](const Table& t) -> nb::object {
             Disjoint found;
             {
               nb::gil_scoped_release free;
               found = disjoint(t.parts(), static_cast<int>(t.out_view().size()));
             }
             return found == Disjoint::unknown ? nb::none() : nb::object(nb::bool_(found == Disjoint::yes));
           })
      .def(
          "expand",
          [](const Table& t, size_t limit) {
            std::vector<int64_t> found;
            {
              nb::gil_scoped_release free;
              found = t.expand(limit);
            }
            const size_t k = t.out_view().size() + t.in_view().size();
            const size_t n = k == 0 ? t.rows() : found.size() / k;
            return to_numpy(std::move(found), {n, k});
          },
          nb::arg("limit") = kMaxValues);

  nb::class_<Folder>(m, "Folder", "Sorted tuples in, rows out.")
      .def(nb::init<Shape, std::vector<int>>(), nb::arg("dims"), nb::arg("axis"))
      .def(
          "feed",
          [](Folder& f, Ints tuples) {
            if (tuples.ndim() != 2) throw std::invalid_argument("tuples must have two axes");
            nb::gil_scoped_release free;
            return word(f.feed(tuples.data(), tuples.shape(0)));
          },
          nb::arg("tuples"))
      .def(
          "feed_keys",
          [](Folder& f, Keys keys, const Shape& dims) {
            nb::gil_scoped_release free;
            return word(feed_keys(f, keys.data(), keys.size(), dims));
          },
          nb::arg("keys"), nb::arg("dims"))
      .def(
          "feed_runs",
          [](Folder& f, Ints rows, int outs) {
            const int ins = static_cast<int>(f.axis().size()) - outs;
            if (outs < 0 || ins < 0 || rows.ndim() != 2 || rows.shape(1) != 2 + 4 * static_cast<size_t>(ins)) {
              throw std::invalid_argument("rows of the wrong width");
            }
            nb::gil_scoped_release free;
            return word(f.feed_runs(rows.data(), rows.shape(0), outs));
          },
          nb::arg("rows"), nb::arg("outs"))
      .def_prop_ro("at", &Folder::at)
      .def_prop_ro("rows", &Folder::rows)
      .def_prop_ro("held", &Folder::held)
      .def("close", &Folder::close)
      .def(
          "spill",
          [](Folder& f, Table& table) {
            nb::gil_scoped_release free;
            for (Part& part : gather(f.take(), f.axis())) table.add(std::move(part));
          },
          nb::arg("table"))
      .def(
          "into",
          [](Folder& f, Table& table) {
            nb::gil_scoped_release free;
            f.close();
            for (Part& part : gather(f.take(), f.axis())) table.add(std::move(part));
          },
          nb::arg("table"));

  m.def(
      "encode",
      [](Ints tuples, const Shape& dims, Keys keys) {
        nb::gil_scoped_release free;
        return encode(tuples.data(), tuples.shape(0), dims, keys.data());
      },
      nb::arg("tuples"), nb::arg("dims"), nb::arg("keys"));
  m.def(
      "sort_unique",
      [](Keys keys) {
        nb::gil_scoped_release free;
        return sort_unique(keys.data(), keys.size());
      },
      nb::arg("keys"));
  m.def(
      "rekey",
      [](Keys keys, const Shape& view, const std::vector<int>& order) {
        nb::gil_scoped_release free;
        rekey(keys.data(), keys.size(), view, order);
      },
      nb::arg("keys"), nb::arg("view"), nb::arg("order"));
  m.def(
      "fill_gaps",
      [](Writable gaps, int64_t width, Ints starts) {
        each_block(gaps, starts, [&](size_t from, size_t to) {
          fill_gaps(gaps.data(), from, to, [&](size_t) { return width; });
        });
      },
      nb::arg("gaps").noconvert(), nb::arg("width"), nb::arg("starts"));
  m.def(
      "fill_gaps",
      [](Writable gaps, Ints width, Ints starts) {
        if (width.ndim() != 1 || width.size() != gaps.size()) throw std::invalid_argument("as many widths as gaps");
        each_block(gaps, starts, [&, widths = width.data()](size_t from, size_t to) {
          fill_gaps(gaps.data(), from, to, [&](size_t i) { return widths[i]; });
        });
      },
      nb::arg("gaps").noconvert(), nb::arg("width"), nb::arg("starts"));
  m.def(
      "decode",
      [](Keys keys, const Shape& dims) {
        std::vector<int64_t> tuples(keys.size() * dims.size());
        {
          nb::gil_scoped_release free;
          decode(keys.data(), keys.size(), dims, tuples.data());
        }
        return to_numpy(std::move(tuples), {keys.size(), dims.size()});
      },
      nb::arg("keys"), nb::arg("dims"));
}
