#include "kernels/validate.hpp"

#include <algorithm>
#include <limits>

namespace whence {
namespace {

__extension__ using Signed = __int128;

constexpr size_t kChunk = 512;                      // rows whose hulls are computed together
constexpr Signed kFar = Signed{3} << 61;            // greater than any constant that folding or composing makes
constexpr Signed kFits = std::numeric_limits<int64_t>::max();

constexpr const char* kOutside = "a row lies outside the arrays";
constexpr const char* kEmpty = "a row has an empty interval";
constexpr const char* kSteep = "a row's numbers are too large";

// The rows of a chunk on one axis: the least and the greatest value of each.
struct Hulls {
  int64_t lo[kChunk], hi[kChunk];
};

// Returns rows [from, from + n) of a column: in place, or written to `room`.
const int64_t* some(const Column& column, size_t from, size_t n, int64_t* room) {
  if (column.dense()) return column.values().data() + from;
  for (size_t i = 0; i < n; ++i) room[i] = column[from + i];
  return room;
}

// Arithmetic that wraps around instead of being undefined; values that are too large are rejected in any case.
int64_t plus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t times(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }

// Rows on an axis without a parent.
const char* check_root(const int64_t* lo, const int64_t* width, int64_t dim, size_t n, Hulls& here) {
  int64_t below = 0, beyond = 0;
  for (size_t i = 0; i < n; ++i) {
    // Each of these is negative if it is wrong; `room` wraps only if lo is negative.
    const int64_t room = plus(dim - 1, times(-1, lo[i]));
    below |= width[i];
    beyond |= lo[i] | room | plus(room, times(-1, width[i]));
    here.lo[i] = lo[i];
    here.hi[i] = plus(lo[i], width[i]);
  }
  return below < 0 ? kEmpty : beyond < 0 ? kOutside : nullptr;
}

// The same on an axis with a parent, whose hulls are known and inside its own axis.
const char* check_child(const Axis& a, const int64_t* los, const int64_t* widths, int64_t dim, size_t n,
                        const Hulls& parent, Hulls& here) {
  bool empty = false, outside = false, steep = false;
  for (size_t i = 0; i < n; ++i) {
    const Signed lo = los[i], width = widths[i], hi = lo + width;
    const Signed first = parent.lo[i], last = parent.hi[i];
    const Signed low = lo + a.p * (a.p >= 0 ? first : last), high = hi + a.q * (a.q >= 0 ? last : first);
    const Signed widen = Signed{a.q} - a.p;
    empty |= width + widen * first < 0 || width + widen * last < 0;
    outside |= low < 0 || high >= dim;
    steep |= lo > kFar || lo < -kFar || hi > kFar || hi < -kFar;
    const Signed p = a.p < 0 ? -Signed{a.p} : a.p, q = a.q < 0 ? -Signed{a.q} : a.q;
    steep |= p * last > kFits || q * last > kFits;
    here.lo[i] = static_cast<int64_t>(low);
    here.hi[i] = static_cast<int64_t>(high);
  }
  return empty ? kEmpty : outside ? kOutside : steep ? kSteep : nullptr;
}

// The same if the parent's values times p or q stay below 2^60, which is nearly always: in 64 bits.
const char* check_gentle(const Axis& a, const int64_t* los, const int64_t* widths, int64_t dim, size_t n,
                         const Hulls& parent, Hulls& here) {
  const int64_t* least = a.p >= 0 ? parent.lo : parent.hi;
  const int64_t* most = a.q >= 0 ? parent.hi : parent.lo;
  const int64_t widen = a.q - a.p;
  int64_t empty = 0, beyond = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t lo = los[i], width = widths[i], hi = plus(lo, width);
    const int64_t low = plus(lo, a.p * least[i]), high = plus(hi, a.q * most[i]);
    empty |= plus(width, widen * parent.lo[i]) | plus(width, widen * parent.hi[i]);
    // Within +-2^61, so that no computation above has wrapped around.
    beyond |= plus(kMax / 2, lo) | plus(kMax / 2, times(-1, lo)) | plus(kMax / 2, width) | plus(kMax / 2, times(-1, width));
    beyond |= low | plus(dim - 1, times(-1, high));
    here.lo[i] = low;
    here.hi[i] = high;
  }
  return beyond < 0 ? kOutside : empty < 0 ? kEmpty : nullptr;
}

// The least and the greatest of n numbers. Several at once, because each comparison waits for the one before.
struct Range {
  int64_t least, most;
};

Range range(const int64_t* values, size_t n) {
  constexpr size_t kLanes = 4;
  int64_t least[kLanes], most[kLanes];
  std::fill(least, least + kLanes, values[0]);
  std::fill(most, most + kLanes, values[0]);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) {
      least[j] = values[i + j] < least[j] ? values[i + j] : least[j];
      most[j] = values[i + j] > most[j] ? values[i + j] : most[j];
    }
  }
  for (; i < n; ++i) {
    least[0] = std::min(least[0], values[i]);
    most[0] = std::max(most[0], values[i]);
  }
  return {*std::min_element(least, least + kLanes), *std::max_element(most, most + kLanes)};
}

// The same for rows [from, stop) of a column; a stepped one must not overflow.
Range range(const Column& column, size_t from, size_t stop) {
  if (column.dense()) return range(column.values().data() + from, stop - from);
  const int64_t a = column[from], b = column[stop - 1];
  return {std::min(a, b), std::max(a, b)};
}

// The same for `lo + width`, if neither is negative: read as unsigned numbers, the sums do not wrap around.
uint64_t greatest_sum(const Column& lo, const Column& width, size_t from, size_t stop) {
  uint64_t most = 0;
  for (size_t i = from; i < stop; ++i) most = std::max(most, static_cast<uint64_t>(lo[i]) + static_cast<uint64_t>(width[i]));
  return most;
}

// Rows [from, stop) on an axis without a parent, which is no parent either: only their bounds are needed.
const char* check_alone(const Column& lo, const Column& width, int64_t dim, size_t from, size_t stop, Range& here) {
  const Range los = range(lo, from, stop), widths = range(width, from, stop);
  if (widths.least < 0) return kEmpty;
  if (los.least < 0 || los.most >= dim) return kOutside;
  const bool one = widths.least == widths.most;
  const uint64_t most = one ? static_cast<uint64_t>(los.most) + static_cast<uint64_t>(widths.most)
                            : greatest_sum(lo, width, from, stop);
  if (most >= static_cast<uint64_t>(dim)) return kOutside;
  here = {los.least, static_cast<int64_t>(most)};
  return nullptr;
}

// Whether a stepped column overflows: the last row's number times the step, plus the first value.
bool overflows(const Column& column, size_t rows) {
  if (column.dense()) return false;
  const Signed last = Signed{column.first()} + Signed{column.step()} * static_cast<Signed>(rows - 1);
  return last > kFar || last < -kFar;
}

}  // namespace

const char* invalid(const Part& part, const std::vector<int64_t>& dims, size_t block, std::vector<int64_t>& bounds) {
  const size_t k = dims.size();
  if (part.rows == 0) return "a part has no rows";
  for (size_t v = 0; v < k; ++v) {
    const Axis& a = part.pattern[v];
    if (a.p > kMax || a.p < kMin || a.q > kMax || a.q < kMin) return kSteep;
    if (overflows(part.lo[v], part.rows) || overflows(part.width[v], part.rows)) return kSteep;
  }
  std::vector<char> alone(k, 1);
  for (size_t v = 0; v < k; ++v) {
    if (part.pattern[v].parent >= 0) alone[v] = alone[static_cast<size_t>(part.pattern[v].parent)] = 0;
  }
  std::vector<int> topo = topological(part.pattern);
  std::vector<Hulls> hulls(k);
  std::vector<int64_t> rooms(2 * kChunk);
  const auto check = [&](size_t from, size_t n) -> const char* {
    for (const int v : topo) {
      const int64_t* lo = some(part.lo[v], from, n, rooms.data());
      const int64_t* width = some(part.width[v], from, n, rooms.data() + kChunk);
      const Axis& a = part.pattern[v];
      const char* wrong = nullptr;
      if (a.parent < 0) {
        wrong = check_root(lo, width, dims[v], n, hulls[v]);
      } else {
        const int64_t gentle = kMax / 4 / std::max<int64_t>(dims[a.parent], 1);
        if (std::max({a.p, -a.p, a.q, -a.q}) <= gentle) {
          wrong = check_gentle(a, lo, width, dims[v], n, hulls[a.parent], hulls[v]);
          if (wrong == nullptr) continue;
        }
        wrong = check_child(a, lo, width, dims[v], n, hulls[a.parent], hulls[v]);
      }
      if (wrong) return wrong;
    }
    return nullptr;
  };
  const size_t blocks = (part.rows - 1) / block + 1;
  if (blocks == 1 && part.stepped()) {
    // Every bound that is compared is linear in the row's number, so it is enough to check both ends.
    bounds.resize(2 * k);
    for (const size_t row : {size_t{0}, part.rows - 1}) {
      if (const char* wrong = check(row, 1)) return wrong;
      for (size_t v = 0; v < k; ++v) {
        bounds[2 * v] = row == 0 ? hulls[v].lo[0] : std::min(bounds[2 * v], hulls[v].lo[0]);
        bounds[2 * v + 1] = row == 0 ? hulls[v].hi[0] : std::max(bounds[2 * v + 1], hulls[v].hi[0]);
      }
    }
    return nullptr;
  }
  bounds.resize(2 * k * blocks);
  topo.erase(std::remove_if(topo.begin(), topo.end(), [&](int v) { return alone[static_cast<size_t>(v)]; }), topo.end());
  for (size_t b = 0; b < blocks; ++b) {
    const size_t stop = std::min(part.rows, (b + 1) * block);
    for (size_t v = 0; v < k; ++v) {
      if (!alone[v]) continue;
      Range here{};
      if (const char* wrong = check_alone(part.lo[v], part.width[v], dims[v], b * block, stop, here)) return wrong;
      bounds[2 * v * blocks + b] = here.least;
      bounds[(2 * v + 1) * blocks + b] = here.most;
    }
    for (size_t from = b * block; !topo.empty() && from < stop; from += kChunk) {
      const size_t n = std::min(kChunk, stop - from);
      if (const char* wrong = check(from, n)) return wrong;
      for (size_t v = 0; v < k; ++v) {
        if (alone[v]) continue;
        int64_t& least = bounds[2 * v * blocks + b];
        int64_t& most = bounds[(2 * v + 1) * blocks + b];
        const int64_t lo = *std::min_element(hulls[v].lo, hulls[v].lo + n);
        const int64_t hi = *std::max_element(hulls[v].hi, hulls[v].hi + n);
        least = from == b * block ? lo : std::min(least, lo);
        most = from == b * block ? hi : std::max(most, hi);
      }
    }
  }
  return nullptr;
}

}  // namespace whence
