#include "npdtype/sets.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "npdtype/arena.hpp"

namespace whence::tracked {

namespace {

constexpr size_t kLookBack = 4;        // a new block may join one of so many latest blocks
constexpr size_t kSmallList = 8;       // lists up to this length are taken apart
constexpr uint64_t kTidy = 2048;       // sets of up to so many intervals are made canonical
constexpr size_t kConsedBlocks = 256;  // longer lists are not hash-consed
constexpr size_t kIrregular = 64;      // runs are always searched in shorter lists

Handle load(const char* p) {
  Handle h;
  std::memcpy(&h, p, sizeof h);
  return h;
}

Block dense(Block b) {
  if (b.count > 1 && b.stride <= b.length) b = {b.start, b.stride * (b.count - 1) + b.length, 0, 1};
  if (b.count == 1) b.stride = 0;
  return b;
}

// Whether hash-consing pays: it does not for random data, where every shape is new. A thread that has seen many new
// shapes in a row tries only one in 64 until shapes repeat again.
struct Consing {
  uint32_t misses = 0, skipped = 0;
  uint64_t generation = 0;
  uint64_t known = 0;
  bool worthwhile() { return misses < 4096 || (++skipped & 63) == 0; }
};
thread_local Consing consing;

Handle to_handle(std::vector<Block>& blocks, bool often) {
  Arena& arena = Arena::get();
  if (blocks.empty()) return 0;
  Block& first = blocks.front();
  if (blocks.size() == 1 && first.count == 1 && first.length < kConsed) return interval(first.start, first.length);
  const bool pair = blocks.size() == 1 && first.count == 2 && first.length == 1 && first.start + first.stride <= kHalf;
  if (blocks.size() <= kConsedBlocks && (often || consing.worthwhile())) {
    uint64_t at = first.start;
    for (const Block& b : blocks) at = std::min(at, b.start);
    for (Block& b : blocks) b.start -= at;
    const int64_t id = arena.cons(blocks.data(), blocks.size());
    if (consing.generation != arena.generation()) consing = {0, 0, arena.generation(), 0};
    if (id >= 0 && static_cast<uint64_t>(id) >= consing.known) {
      consing.known = static_cast<uint64_t>(id) + 1;
      if (!often) ++consing.misses;
    } else {
      consing.misses -= std::min<uint32_t>(consing.misses, 8);
    }
    if (id >= 0) return consed(static_cast<uint64_t>(id), at);
    for (Block& b : blocks) b.start += at;
  }
  if (pair) return two_cells(first.start, first.start + first.stride);
  return arena.list(blocks.data(), blocks.size());
}

}  // namespace

bool absorb(Block& e, const Block& s) {
  if (e.count == 1 && s.count == 1) {
    if (s.start > e.start + e.length || e.start > s.start + s.length) return false;
    const uint64_t start = std::min(e.start, s.start), end = std::max(e.start + e.length, s.start + s.length);
    e.start = start;
    e.length = end - start;
    return true;
  }
  if (e.count == 1) {
    if (e.start <= s.start && s.end() <= e.end()) return true;
    Block other = s;  // a union has no order
    if (!absorb(other, e)) return false;
    e = other;
    return true;
  }
  if (s.length == e.length && (s.count == 1 || s.stride == e.stride)) {
    if (s.start == e.start + e.stride * e.count) {
      e.count += s.count;
      return true;
    }
    if (s.start + e.stride * s.count == e.start) {
      e.start = s.start;
      e.count += s.count;
      return true;
    }
    if (s.start >= e.start && (s.start - e.start) % e.stride == 0 &&
        (s.start - e.start) / e.stride + s.count <= e.count) {
      return true;
    }
  }
  if (s.count == 1 && s.start >= e.start) {
    const uint64_t which = (s.start - e.start) / e.stride, within = (s.start - e.start) % e.stride;
    return which < e.count && within + s.length <= e.length;
  }
  if (s.count == e.count && s.stride == e.stride && s.start == e.start + e.length && e.length + s.length <= e.stride) {
    e.length += s.length;
    e = dense(e);
    return true;
  }
  return false;
}

Gatherer& Gatherer::fresh() {
  static thread_local Gatherer mine;
  mine.blocks_.clear();
  mine.nodes_.clear();
  return mine;
}

void Gatherer::put(Block block) {
  block = dense(block);
  const size_t n = blocks_.size();
  for (size_t k = 0; k < kLookBack && k < n; ++k) {
    if (absorb(blocks_[n - 1 - k], block)) return;
  }
  blocks_.push_back(block);
}

// Adds the block `count` times, each time `shift` further.
void Gatherer::add_shifted(Block block, uint64_t shift, uint64_t count) {
  if (count == 1) {
    put(block);
  } else if (block.count == 1) {
    put({block.start, block.length, shift, count});
  } else if (shift == block.length && block.length * count <= block.stride) {
    block.length *= count;
    put(block);
  } else if (shift == block.stride) {
    block.count += count - 1;
    put(block);
  } else if (shift == block.stride * block.count) {
    block.count *= count;
    put(block);
  } else if (count <= block.count) {
    for (uint64_t k = 0; k < count; ++k, block.start += shift) put(block);
  } else {  // the same cells in the other direction
    for (uint64_t k = 0; k < block.count; ++k) put({block.start + k * block.stride, block.length, shift, count});
  }
}

void Gatherer::add(Handle h) {
  if (h == 0) return;
  const Arena& arena = Arena::get();
  switch (tag(h)) {
    case Tag::shaped: {
      if (is_interval(h)) return put({origin(h), shape(h), 0, 1});
      arena.check_origin(origin(h));
      const uint64_t at = arena.shape_place(shape(h) - kConsed);
      const Block* blocks = arena.blocks(at);
      for (size_t i = 0; i < arena.size(at); ++i) {
        Block b = blocks[i];
        b.start += origin(h);
        put(b);
      }
      return;
    }
    case Tag::pair:
      put({first_of(h), 1, 0, 1});
      put({second_of(h), 1, 0, 1});
      return;
    case Tag::node: {
      const uint64_t at = place(h);
      arena.check_place(at);
      if (arena.kind(at) == Kind::list && arena.size(at) <= kSmallList) {
        for (size_t i = 0; i < arena.size(at); ++i) put(arena.blocks(at)[i]);
      } else if (nodes_.empty() || nodes_.back() != h) {
        nodes_.push_back(h);
      }
      return;
    }
    case Tag::nodes:
      add(node(first_of(h)));
      add(node(second_of(h)));
  }
}

void Gatherer::add_run(Handle first, uint64_t step, uint64_t count) {
  if (count == 1 || step == 0) return add(first);
  const Handle last = first + step * (count - 1);
  if (first != 0 && tag(first) == Tag::shaped && tag(last) == Tag::shaped && shape(first) == shape(last)) {
    // One set, moved repeatedly; read from the end if it moves back.
    const bool back = step >> 63 != 0;
    const Handle from = back ? last : first;
    const uint64_t shift = back ? -step : step;
    if (shift <= kOrigin / (count - 1)) {
      if (is_interval(from)) return put({origin(from), shape(from), shift, count});
      const Arena& arena = Arena::get();
      arena.check_origin(origin(from));
      const uint64_t at = arena.shape_place(shape(from) - kConsed);
      for (size_t i = 0; i < arena.size(at); ++i) {
        Block b = arena.blocks(at)[i];
        b.start += origin(from);
        add_shifted(b, shift, count);
      }
      return;
    }
  }
  for (uint64_t i = 0; i < count; ++i) add(first + step * i);
}

void Gatherer::add_all(const char* handles, ptrdiff_t stride, size_t n) {
  const auto at = [=](size_t i) { return load(handles + static_cast<ptrdiff_t>(i) * stride); };
  if (n >= kIrregular) {
    // If two thirds of the steps change, there is no regularity to find: the handles are stored unchanged, and read when
    // needed.
    size_t changes = 0;
    for (size_t i = 2; i < n; ++i) changes += (at(i) - at(i - 1)) != (at(i - 1) - at(i - 2));
    if (changes * 3 > n * 2) {
      nodes_.push_back(Arena::get().unite(handles, stride, n));
      return;
    }
  }
  for (size_t i = 0; i < n;) {
    const Handle first = at(i);
    if (i + 1 == n) return add(first);
    const uint64_t step = at(i + 1) - first;
    size_t j = i + 2;
    for (; j + 16 <= n; j += 16) {
      const Handle expected = first + step * (j - i);
      uint64_t off = 0;
      for (size_t k = 0; k < 16; ++k) off |= at(j + k) ^ (expected + step * k);
      if (off != 0) break;
    }
    while (j < n && at(j) == first + step * (j - i)) ++j;
    add_run(first, step, j - i);
    i = j;
  }
}

// Equal small sets get equal blocks, however they were built, so that hash-consing finds them.
void Gatherer::tidy() {
  if (blocks_.size() < 2) return;
  uint64_t total = 0;
  bool plain = true;
  for (const Block& b : blocks_) {
    total += b.count;
    plain = plain && b.count == 1;
  }
  if (!plain && total > kTidy) return;
  static thread_local std::vector<Interval> intervals;
  to_intervals(blocks_, intervals);
  to_blocks(intervals, blocks_);
}

Handle Gatherer::finish(bool often) {
  tidy();
  const Handle own = to_handle(blocks_, often);
  if (nodes_.empty()) return own;
  if (own == 0 && nodes_.size() == 1) return nodes_.front();
  if (own != 0) nodes_.push_back(own);
  return Arena::get().unite(nodes_.data(), nodes_.size());
}

void read(Handle h, std::vector<Block>& out) {
  const Arena& arena = Arena::get();
  std::vector<Handle> left{h};
  std::unordered_set<uint64_t> seen;  // many paths may lead to the same node
  while (!left.empty()) {
    const Handle x = left.back();
    left.pop_back();
    if (x == 0) continue;
    switch (tag(x)) {
      case Tag::shaped: {
        arena.check_origin(origin(x));
        if (is_interval(x)) {
          out.push_back({origin(x), shape(x), 0, 1});
          break;
        }
        const uint64_t at = arena.shape_place(shape(x) - kConsed);
        for (size_t i = 0; i < arena.size(at); ++i) {
          out.push_back(arena.blocks(at)[i]);
          out.back().start += origin(x);
        }
        break;
      }
      case Tag::pair:
        arena.check_origin(std::min(first_of(x), second_of(x)));
        out.push_back({first_of(x), 1, 0, 1});
        out.push_back({second_of(x), 1, 0, 1});
        break;
      case Tag::nodes:
        left.push_back(node(second_of(x)));
        left.push_back(node(first_of(x)));
        break;
      case Tag::node: {
        const uint64_t at = place(x);
        arena.check_place(at);
        if (arena.kind(at) == Kind::list) {
          out.insert(out.end(), arena.blocks(at), arena.blocks(at) + arena.size(at));
        } else if (seen.insert(at).second) {
          left.insert(left.end(), arena.handles(at), arena.handles(at) + arena.size(at));
        }
      }
    }
  }
}

void to_intervals(const std::vector<Block>& blocks, std::vector<Interval>& out) {
  out.clear();
  for (const Block& b : blocks) {
    for (uint64_t k = 0, at = b.start; k < b.count; ++k, at += b.stride) out.push_back({at, at + b.length});
  }
  const auto before = [](const Interval& a, const Interval& b) { return a.start < b.start; };
  if (!std::is_sorted(out.begin(), out.end(), before)) std::sort(out.begin(), out.end(), before);
  size_t kept = 0;
  for (size_t i = 1; i < out.size(); ++i) {
    if (out[i].start <= out[kept].end) {
      out[kept].end = std::max(out[kept].end, out[i].end);
    } else {
      out[++kept] = out[i];
    }
  }
  if (!out.empty()) out.resize(kept + 1);
}

void to_blocks(const std::vector<Interval>& in, std::vector<Block>& out) {
  out.clear();
  for (size_t i = 0; i < in.size();) {
    const uint64_t length = in[i].end - in[i].start;
    size_t j = i + 1;
    uint64_t stride = 0;
    if (j < in.size() && in[j].end - in[j].start == length) {
      stride = in[j].start - in[i].start;
      while (j < in.size() && in[j].end - in[j].start == length && in[j].start - in[j - 1].start == stride) ++j;
    }
    out.push_back({in[i].start, length, stride, j - i});
    i = j;
  }
}

}  // namespace whence::tracked
