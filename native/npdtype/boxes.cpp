// Converts cells in C order to boxes.
#include <algorithm>
#include <numeric>

#include "npdtype/runs.hpp"

namespace whence::tracked {

namespace {

// Merges boxes that differ on one axis only, and touch there, axis by axis from the last.
void merge(std::vector<Box>& boxes, size_t axes) {
  for (size_t axis = axes; axis-- > 0 && boxes.size() > 1;) {
    const auto others = [&](const Box& a, const Box& b) {
      for (size_t k = 0; k < axes; ++k) {
        if (k == axis) continue;
        if (a.lo[k] != b.lo[k]) return a.lo[k] < b.lo[k] ? -1 : 1;
        if (a.hi[k] != b.hi[k]) return a.hi[k] < b.hi[k] ? -1 : 1;
      }
      return 0;
    };
    std::sort(boxes.begin(), boxes.end(), [&](const Box& a, const Box& b) {
      const int order = others(a, b);
      return order != 0 ? order < 0 : a.lo[axis] < b.lo[axis];
    });
    size_t kept = 0;
    for (size_t i = 1; i < boxes.size(); ++i) {
      if (others(boxes[kept], boxes[i]) == 0 && boxes[i].lo[axis] == boxes[kept].hi[axis] + 1) {
        boxes[kept].hi[axis] = boxes[i].hi[axis];
      } else if (++kept != i) {
        boxes[kept] = std::move(boxes[i]);
      }
    }
    boxes.resize(kept + 1);
  }
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.lo < b.lo; });
}

// Returns the copies of a box along one axis, if the block's stride is a step along one: then they need not be split.
bool along_one_axis(const Block& block, uint64_t shift, const std::vector<int64_t>& dims, std::vector<Box>& out) {
  std::vector<Box> first;
  boxes_of_interval(block.start + shift, block.start + shift + block.length, dims, first);
  if (first.size() != 1) return false;
  Box& box = first.front();
  const int64_t copies = static_cast<int64_t>(block.count), stride = static_cast<int64_t>(block.stride);
  int64_t cells = 1;  // in one step along the axis
  for (size_t axis = dims.size(); axis-- > 0; cells *= dims[axis]) {
    if (stride % cells != 0) return false;  // and no axis before it fits either
    const int64_t step = stride / cells, wide = box.hi[axis] - box.lo[axis] + 1;
    if (box.hi[axis] + step * (copies - 1) >= dims[axis] || wide > step) continue;
    if (wide == step) {
      box.hi[axis] += step * (copies - 1);
      out.push_back(std::move(box));
    } else {
      for (int64_t k = 0; k < copies; ++k) {
        out.push_back(box);
        box.lo[axis] += step;
        box.hi[axis] += step;
      }
    }
    return true;
  }
  return false;
}

}  // namespace

void boxes_of_interval(uint64_t start, uint64_t end, const std::vector<int64_t>& dims, std::vector<Box>& out) {
  const size_t axes = dims.size();
  if (axes == 0) {
    if (end > start) out.push_back({});
    return;
  }
  // Cuts complete slices off the front, each the largest that fits, until nothing is left.
  while (start < end) {
    uint64_t cells = 1;  // of a slice at `axis`
    size_t axis = axes - 1;
    while (axis > 0) {
      const uint64_t larger = cells * static_cast<uint64_t>(dims[axis]);
      if (start % larger != 0 || end - start < larger) break;
      cells = larger;
      --axis;
    }
    const uint64_t at = start / cells, length = static_cast<uint64_t>(dims[axis]);
    const uint64_t slices = std::min((end - start) / cells, length - at % length);
    Box box{std::vector<int64_t>(axes, 0), std::vector<int64_t>(axes)};
    for (size_t k = axes - 1; k > axis; --k) box.hi[k] = dims[k] - 1;
    uint64_t rest = at;
    for (size_t k = axis + 1; k-- > 0;) {
      box.lo[k] = box.hi[k] = static_cast<int64_t>(rest % static_cast<uint64_t>(dims[k]));
      rest /= static_cast<uint64_t>(dims[k]);
    }
    box.hi[axis] += static_cast<int64_t>(slices) - 1;
    out.push_back(std::move(box));
    start += slices * cells;
  }
}

void boxes_of(const std::vector<Block>& blocks, uint64_t shift, const std::vector<int64_t>& dims, std::vector<Box>& out) {
  out.clear();
  for (const Block& b : blocks) {
    if (b.count > 1 && along_one_axis(b, shift, dims, out)) continue;
    for (uint64_t k = 0, at = b.start + shift; k < b.count; ++k, at += b.stride) {
      boxes_of_interval(at, at + b.length, dims, out);
    }
  }
  if (out.size() > 1) merge(out, dims.size());
}

}  // namespace whence::tracked
