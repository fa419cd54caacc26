#include "npdtype/runs.hpp"

#include <algorithm>
#include <utility>

#include "npdtype/arena.hpp"

namespace whence::tracked {

namespace {

uint64_t hash(const std::vector<Block>& blocks) {
  uint64_t h = blocks.size();
  for (const Block& b : blocks) {
    for (uint64_t w : {b.start, b.length, b.stride, b.count}) h = (h ^ w) * 0x9e3779b97f4a7c15ULL + (h >> 29);
  }
  return h;
}

int64_t signed_of(uint64_t x) { return static_cast<int64_t>(x); }

// Whether first, first + step, ..., n of them, have one tag and do not wrap around.
bool stays_shaped(Handle first, uint64_t step, size_t n) {
  const auto last = static_cast<__int128>(first) + static_cast<__int128>(signed_of(step)) * static_cast<int64_t>(n - 1);
  return tag(first) == Tag::shaped && last >= 0 && last < (static_cast<__int128>(1) << 62);
}

}  // namespace

RunReader::RunReader(uint64_t first, uint64_t size, std::vector<int64_t> dims, size_t inner)
    : first_(first), end_(first + size), dims_(std::move(dims)), strides_(dims_.size()), inner_(inner) {
  int64_t cells = 1;
  for (size_t k = dims_.size(); k-- > 0; cells *= dims_[k]) strides_[k] = cells;
}

// Keeps the part in the source. Each interval of a block is completely in one source.
void RunReader::clip(std::vector<Block>& blocks) const {
  size_t kept = 0;
  for (Block b : blocks) {
    uint64_t low = 0, high = b.count;
    if (b.count == 1) {
      if (b.start < first_ || b.start >= end_) continue;
    } else {
      if (b.start < first_) low = (first_ - b.start + b.stride - 1) / b.stride;
      if (b.start >= end_) continue;
      high = std::min(high, (end_ - 1 - b.start) / b.stride + 1);
      if (low >= high) continue;
    }
    blocks[kept++] = {b.start + low * b.stride, b.length, high - low == 1 ? 0 : b.stride, high - low};
  }
  blocks.resize(kept);
}

// Returns absolute blocks, clipped and made disjoint.
RunReader::Placed RunReader::place_blocks(std::vector<Block>& blocks) {
  clip(blocks);
  if (blocks.size() > 1) {
    to_intervals(blocks, intervals_);
    to_blocks(intervals_, blocks);
  }
  if (blocks.empty()) return {};
  const uint64_t at = blocks.front().start;
  if (blocks.size() == 1 && blocks.front().count == 1) return {kInterval, at - first_, blocks.front().length};
  for (Block& b : blocks) b.start -= at;
  std::vector<int64_t>& known = by_hash_[hash(blocks)];
  for (int64_t id : known) {
    if (patterns_[id] == blocks) return {id, at - first_, 0};
  }
  known.push_back(static_cast<int64_t>(patterns_.size()));
  patterns_.push_back(blocks);
  return {known.back(), at - first_, 0};
}

void RunReader::blocks_at(const Placed& p, std::vector<Block>& out) const {
  if (p.pattern == kEmpty) return;
  if (p.pattern == kInterval) {
    out.push_back({p.at + first_, p.length, 0, 1});
    return;
  }
  for (Block b : patterns_[p.pattern]) {
    b.start += p.at + first_;
    out.push_back(b);
  }
}

RunReader::Placed RunReader::unite(const Placed& a, const Placed& b) {
  if (a.pattern == kEmpty || a == b) return b;
  if (b.pattern == kEmpty) return a;
  scratch_.clear();
  blocks_at(a, scratch_);
  blocks_at(b, scratch_);
  return place_blocks(scratch_);
}

RunReader::Placed RunReader::place(Handle h) {
  const Arena& arena = Arena::get();
  if (h == 0) return {};
  switch (tag(h)) {
    case Tag::shaped: {
      arena.check_origin(origin(h));
      const uint64_t at = origin(h);
      if (is_interval(h)) {
        if (at < first_ || at >= end_) return {};
        return {kInterval, at - first_, shape(h)};
      }
      const uint64_t where = arena.shape_place(shape(h) - kConsed);
      const Block* blocks = arena.blocks(where);
      const size_t n = arena.size(where);
      uint64_t span = 0;
      for (size_t i = 0; i < n; ++i) span = std::max(span, blocks[i].end());
      const bool inside = at >= first_ && at + span <= end_;
      if (inside) {
        if (const auto known = by_shape_.find(shape(h)); known != by_shape_.end()) {
          Placed p = known->second;
          p.at += at - first_;
          return p;
        }
      }
      scratch_.assign(blocks, blocks + n);
      for (Block& b : scratch_) b.start += at;
      const Placed p = place_blocks(scratch_);
      if (inside) {
        Placed relative = p;
        relative.at -= at - first_;
        by_shape_.emplace(shape(h), relative);
      }
      return p;
    }
    case Tag::pair:
      scratch_.clear();
      tracked::read(h, scratch_);
      return place_blocks(scratch_);
    case Tag::node: {
      if (const auto known = by_node_.find(h); known != by_node_.end()) return known->second;
      std::vector<Block> blocks;
      tracked::read(h, blocks);
      return by_node_[h] = place_blocks(blocks);
    }
    case Tag::nodes: {
      const Placed a = place(node(first_of(h)));
      return unite(a, place(node(second_of(h))));
    }
  }
  return {};
}

// Whether a set that has no cell in the source at both ends of its movement has none in between: each of its intervals
// is on the same side at both ends.
bool RunReader::passes_by(Handle a, Handle b) const {
  const Arena& arena = Arena::get();
  if (a == 0 || b == 0) return a == b;
  if (is_interval(a)) return (origin(a) < first_) == (origin(b) < first_);
  const uint64_t where = arena.shape_place(shape(a) - kConsed);
  for (size_t i = 0; i < arena.size(where); ++i) {
    const Block block = arena.blocks(where)[i];
    const auto before = [&](uint64_t at) -> uint64_t {  // how many of its intervals are before the source
      const uint64_t start = block.start + at;
      if (start >= first_) return 0;
      return block.count == 1 ? 1 : std::min(block.count, (first_ - start + block.stride - 1) / block.stride);
    };
    if (before(origin(a)) != before(origin(b))) return false;
  }
  return true;
}

// Handles are compared as integers while they move by one step; only the ends of such a run are decoded. The handles in
// between cannot differ: shape and origin are affine in between, and being inside a source is convex.
size_t RunReader::run(const Cell* cells, size_t i, size_t end, Placed& first, Placed& second) {
  const Handle h = cells[i].handle;
  first = place(h);
  second = first;
  if (i + 1 == end) return 1;
  const uint64_t step = cells[i + 1].handle - h;
  size_t j = i + 2;
  if (step == 0 || tag(h) == Tag::shaped) {
    for (; j + 16 <= end; j += 16) {
      const Handle expected = h + step * (j - i);
      uint64_t off = 0;
      for (size_t k = 0; k < 16; ++k) off |= cells[j + k].handle ^ (expected + step * k);
      if (off != 0) break;
    }
    while (j < end && cells[j].handle == h + step * (j - i)) ++j;
    if (step == 0) return j - i;
  }
  const auto like_first = [&](const Placed& p) { return p.pattern == first.pattern; };
  const Handle last = cells[j - 1].handle;
  if (stays_shaped(h, step, j - i) && (is_interval(h) ? is_interval(last) : shape(h) == shape(last))) {
    second = place(cells[i + 1].handle);
    const auto agrees = [&](size_t n) {  // the last of n cells is where the first two predict it
      const Handle there = cells[i + n - 1].handle;
      const Placed p = place(there);
      if (!like_first(p) || (p.pattern == kEmpty && !passes_by(h, there))) return false;
      const uint64_t steps = n - 1;
      return p.at == first.at + (second.at - first.at) * steps &&
             p.length == first.length + (second.length - first.length) * steps;
    };
    if (!agrees(2)) {
      second = first;
      return 1;
    }
    if (agrees(j - i)) return j - i;
    size_t good = 2;
    for (size_t bad = j - i; good + 1 < bad;) {
      const size_t middle = good + (bad - good) / 2;
      (agrees(middle) ? good : bad) = middle;
    }
    return good;
  }
  // Nodes: each is looked up.
  second = place(cells[i + 1].handle);
  if (!like_first(second)) {
    second = first;
    return 1;
  }
  const uint64_t moved = second.at - first.at, grown = second.length - first.length;
  Placed expected = second;
  for (j = i + 2; j < end; ++j) {
    expected.at += moved;
    expected.length += grown;
    if (place(cells[j].handle) != expected) break;
  }
  return j - i;
}

const std::vector<Box>& RunReader::boxes_at(const Placed& p, std::vector<Box>& out) const {
  if (p.pattern >= 0) {
    boxes_of(patterns_[p.pattern], p.at, dims_, out);
  } else {
    out.clear();
    boxes_of_interval(p.at, p.at + p.length, dims_, out);
    // The boxes of an interval are disjoint, and as few as possible.
  }
  return out;
}

// Whether boxes a, moving evenly for n - 1 steps, become boxes b, and contain the right cells at every step. A box that
// keeps its extent and stays inside the array contains, at every step, the first box's cells moved by the flat distance
// of its step. A box that grows does so along one axis, with all axes before it fixed and all after it complete.
bool RunReader::moves(const std::vector<Box>& a, const std::vector<Box>& b, int64_t step, int64_t growth, size_t n) const {
  if (a.size() != b.size()) return false;
  const int64_t steps = static_cast<int64_t>(n) - 1;
  const size_t axes = dims_.size();
  if (growth == 0) {
    for (size_t i = 0; i < a.size(); ++i) {
      int64_t flat = 0;
      for (size_t k = 0; k < axes; ++k) {
        const int64_t moved = b[i].lo[k] - a[i].lo[k];
        if (b[i].hi[k] - a[i].hi[k] != moved || moved % steps != 0) return false;
        flat += moved / steps * strides_[k];
      }
      if (flat != step) return false;
    }
    return true;
  }
  if (a.size() != 1) return false;
  size_t axis = 0;
  while (axis < axes && a[0].lo[axis] == b[0].lo[axis] && a[0].hi[axis] == b[0].hi[axis] && a[0].lo[axis] == a[0].hi[axis]) {
    ++axis;
  }
  if (axis == axes) return false;
  for (size_t k = axis + 1; k < axes; ++k) {
    for (const Box& box : {a[0], b[0]}) {
      if (box.lo[k] != 0 || box.hi[k] != dims_[k] - 1) return false;
    }
  }
  const int64_t lo = b[0].lo[axis] - a[0].lo[axis], hi = b[0].hi[axis] - a[0].hi[axis];
  return lo % steps == 0 && hi % steps == 0 && lo / steps * strides_[axis] == step &&
         hi / steps * strides_[axis] == step + growth;
}

size_t RunReader::emit(size_t out, const Placed& first, int64_t step, int64_t growth, size_t n, std::vector<int64_t>& rows) {
  boxes_at(first, head_);
  const auto works = [&](size_t length) {
    Placed last = first;
    last.at += static_cast<uint64_t>(step) * (length - 1);
    last.length += static_cast<uint64_t>(growth) * (length - 1);
    return moves(head_, boxes_at(last, tail_), step, growth, length);
  };
  size_t good = n;
  if (n > 1 && (step != 0 || growth != 0) && !works(n)) {
    good = 1;
    for (size_t bad = n; good + 1 < bad;) {
      const size_t middle = good + (bad - good) / 2;
      (works(middle) ? good : bad) = middle;
    }
    if (good > 1) works(good);  // tail_ belongs to the last length that was tried
  }
  const int64_t steps = static_cast<int64_t>(good) - 1;
  const bool moving = good > 1 && (step != 0 || growth != 0);
  for (size_t i = 0; i < head_.size(); ++i) {
    rows.push_back(static_cast<int64_t>(out));
    rows.push_back(static_cast<int64_t>(good));
    for (size_t k = 0; k < dims_.size(); ++k) {
      rows.push_back(head_[i].lo[k]);
      rows.push_back(head_[i].hi[k]);
      rows.push_back(moving ? (tail_[i].lo[k] - head_[i].lo[k]) / steps : 0);
      rows.push_back(moving ? (tail_[i].hi[k] - head_[i].hi[k]) / steps : 0);
    }
  }
  return good;
}

size_t RunReader::read(const Cell* cells, size_t n, size_t from, size_t limit, std::vector<int64_t>& rows) {
  const size_t width = 2 + 4 * dims_.size();
  size_t i = from;
  while (i < n && rows.size() / width < limit) {
    const size_t end = std::min(n, (i / inner_ + 1) * inner_);
    Placed first, second;
    size_t left = run(cells, i, end, first, second);
    const int64_t step = signed_of(second.at - first.at), growth = signed_of(second.length - first.length);
    while (left > 0 && rows.size() / width < limit) {
      const size_t done = first.pattern == kEmpty ? left : emit(i, first, step, growth, left, rows);
      i += done;
      left -= done;
      first.at += static_cast<uint64_t>(step) * done;
      first.length += static_cast<uint64_t>(growth) * done;
    }
  }
  return i;
}

}  // namespace whence::tracked
