#include "npdtype/unions.hpp"

#include <memory>
#include <vector>

#include "npdtype/arena.hpp"
#include "npdtype/sets.hpp"

namespace whence::tracked {

namespace {

constexpr size_t kTooManyMisses = 4096;

struct Memo {
  struct Entry {
    uint64_t shape = ~uint64_t{0}, distance = 0, result = 0;
  };
  uint64_t generation = 0;
  size_t misses = 0;  // recently; hits reduce it
  std::vector<Entry> entries;

  void refresh() {
    if (generation == Arena::get().generation()) return;
    generation = Arena::get().generation();
    misses = 0;
    entries.assign(size_t{1} << 16, Entry{});
  }
  Entry& at(uint64_t shape, uint64_t distance) {
    return entries[((shape * 0x9e3779b97f4a7c15ULL) ^ (distance * 0xc2b2ae3d27d4eb4fULL)) >> 48];
  }
};

Memo& memo() {
  static thread_local Memo mine;
  return mine;
}

bool single(Handle h) { return h >> kOriginBits == 1; }

bool contains(Handle interval_, uint64_t cell) { return cell - origin(interval_) < shape(interval_); }

}  // namespace

Handle unite_slow(Handle a, Handle b) {
  if (tag(a) == Tag::shaped && tag(b) == Tag::shaped) {
    Memo& mine = memo();
    mine.refresh();
    const uint64_t distance = b - a;
    Memo::Entry& known = mine.at(shape(a), distance);
    if (known.shape == shape(a) && known.distance == distance) {
      mine.misses -= std::min<size_t>(mine.misses, 8);
      return a + known.result;
    }
    if (++mine.misses > kTooManyMisses) {
      if (single(a) && single(b) && origin(a) <= kHalf && origin(b) <= kHalf) {
        return two_cells(std::min(origin(a), origin(b)), std::max(origin(a), origin(b)));
      }
      return Arena::get().unite(a, b);
    }
    Gatherer& both = Gatherer::fresh();
    both.add(a);
    both.add(b);
    const Handle r = both.finish(true);  // else the misses would have become too many
    if (tag(r) == Tag::shaped) known = {shape(a), distance, r - a};
    return r;
  }
  if (tag(a) == Tag::pair && is_interval(b)) std::swap(a, b);
  if (is_interval(a) && tag(b) == Tag::pair) {
    const bool first = contains(a, first_of(b)), second = contains(a, second_of(b));
    if (first && second) return a;
    if (single(a) && (first || second)) return b;
  }
  return Arena::get().unite(a, b);
}

Repetition::Repetition(size_t n) : n_(n), before_(memo().misses) {}

Repetition::~Repetition() {
  Memo& mine = memo();
  if (mine.misses < before_ || (mine.misses - before_) * 8 < n_) mine.misses = 0;
}

}  // namespace whence::tracked
