// Sets of integer boxes for Python: arrays in, read-only arrays out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

#include "kernels/boxes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using BoxesIn = nb::ndarray<const int64_t, nb::shape<-1, -1, 2>, nb::c_contig, nb::device::cpu>;
using BoxesOut = nb::ndarray<nb::numpy, const int64_t, nb::ndim<3>>;

// Short calls keep the interpreter lock: giving it up costs more than they do.
constexpr std::size_t kLong = 256;

template <class F>
auto unlocked(std::size_t work, F&& f) {
  std::optional<nb::gil_scoped_release> release;
  if (work > kLong) release.emplace();
  return f();
}

BoxesOut array_of(std::vector<int64_t>&& values, std::size_t n, std::size_t d) {
  auto* owner = new std::vector<int64_t>(std::move(values));
  nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
  return BoxesOut(owner->data(), {n, d, 2}, capsule);
}

BoxesOut array_of(std::vector<int64_t>&& values, std::size_t d) {
  const std::size_t n = values.size() / (2 * d);
  return array_of(std::move(values), n, d);
}

}  // namespace

void bind_boxes(nb::module_& m) {
  m.def(
      "normalize",
      [](BoxesIn boxes) {
        const std::size_t n = boxes.shape(0), d = boxes.shape(1);
        if (d == 0) return array_of({}, n ? 1 : 0, 0);
        return array_of(unlocked(n, [&] { return whence::normalize(boxes.data(), n, static_cast<int>(d)); }), d);
      },
      "boxes"_a, "The canonical form of boxes (n, axes, 2) with inclusive bounds, in any order, overlapping or empty.");
}
