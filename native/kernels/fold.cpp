#include "kernels/fold.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace whence {

namespace {

constexpr size_t kBlock = 64;    // tuples that are compared before the result is checked
constexpr size_t kWindow = 8;    // how far ahead of its position the run of a row is searched
constexpr size_t kShort = 256;   // runs up to this length are checked for runs of runs
constexpr size_t kMostRuns = 4096;  // runs that a level has at one value before it passes rows on

// Tuples that were not checked yet may be out of range, so that their difference may overflow.
int64_t minus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }

// Returns how many tuples, from `lag` on, differ from the one `lag` before by the same step. The loop has no branch
// inside a block, so that it runs at memory speed.
size_t repeats(const int64_t* x, size_t n, size_t k, size_t lag, const int64_t* step, std::vector<int64_t>& steps) {
  if (n <= lag) return 0;
  const size_t most = n - lag;
  const int64_t* later = x + lag * k;
  size_t i = 0;
  const auto same = [&](size_t j) {
    for (size_t c = 0; c < k; ++c) {
      if (minus(later[j * k + c], x[j * k + c]) != step[c]) return false;
    }
    return true;
  };
  for (; i < most && i < 8; ++i) {
    if (!same(i)) return i;
  }
  steps.resize(kBlock * k);
  for (size_t j = 0; j < kBlock; ++j) std::copy(step, step + k, steps.begin() + j * k);
  const int64_t* s = steps.data();
  while (i + kBlock <= most) {
    const int64_t* here = x + i * k;
    const int64_t* next = later + i * k;
    int64_t off = 0;
    for (size_t j = 0; j < kBlock * k; ++j) off |= minus(next[j], here[j]) ^ s[j];
    if (off != 0) break;
    i += kBlock;
  }
  while (i < most && same(i)) ++i;
  return i;
}

// The first column in which a step moves, or k.
size_t first_move(const int64_t* step, size_t k) {
  size_t c = 0;
  while (c < k && step[c] == 0) ++c;
  return c;
}

uint64_t mix(uint64_t h, uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdULL;
}

}  // namespace

Folder::Folder(std::vector<int64_t> dims, std::vector<int> axis)
    : k_(static_cast<int>(dims.size())), dims_(std::move(dims)), axis_(std::move(axis)), levels_(k_), last_(k_),
      step_(k_), move_(k_), scratch_(std::make_unique<Run>(k_)) {}

Folder::Held Folder::fresh() {
  if (pool_.empty()) return std::make_unique<Run>(k_);
  Held run = std::move(pool_.back());
  pool_.pop_back();
  return run;
}

void Folder::recycle(Held run) {
  if (pool_.size() < kMostRuns) pool_.push_back(std::move(run));
}

bool Folder::in_range(const int64_t* t) const {
  bool ok = true;
  for (int c = 0; c < k_; ++c) ok &= t[c] >= 0 && t[c] < dims_[c];
  return ok;
}

void Folder::set(Run& run, const int64_t* t) const {
  run.count = 1;
  std::copy(t, t + k_, run.lo.begin());
  std::copy(t, t + k_, run.hi.begin());
  std::fill(run.axes.begin(), run.axes.end(), Axis{});
}

// Whether a step along v could exceed the range of integers that questions compute with.
bool Folder::steep(int v, int64_t step) const {
  const int64_t most = kMax / 2 / dims_[v];
  return step > most || step < -most;  // the least int64 has no absolute value
}

bool Folder::near(int v, const Run& run) const {
  for (int w = v + 1; w < k_; ++w) {
    if (std::abs(run.dlo[w]) > 1 || std::abs(run.dhi[w]) > 1) return false;
  }
  return true;
}

// Whether `row`, which comes next along v and agrees before v, continues `run`. A second row sets the step.
bool Folder::fits(int v, Run& run, const Run& row) const {
  const bool second = run.count == 1;
  for (int w = v + 1; w < k_; ++w) {
    if (run.axes[w].parent >= 0 || row.axes[w].parent >= 0) {
      if (run.axes[w] != row.axes[w] || run.lo[w] != row.lo[w] || run.hi[w] != row.hi[w]) return false;
      continue;
    }
    if (second) {
      if (steep(v, row.lo[w] - run.lo[w]) || steep(v, row.hi[w] - run.hi[w])) return false;
      continue;
    }
    if (row.lo[w] - run.lo[w] != run.count * run.dlo[w] || row.hi[w] - run.hi[w] != run.count * run.dhi[w]) return false;
  }
  if (second) {
    for (int w = v + 1; w < k_; ++w) {
      const bool root = run.axes[w].parent < 0;
      run.dlo[w] = root ? row.lo[w] - run.lo[w] : 0;
      run.dhi[w] = root ? row.hi[w] - run.hi[w] : 0;
    }
  }
  return true;
}

// Any two rows are on a line. Two that are not neighbours are separated: the first alone, the second starts a new run.
void Folder::let_go(int v, Run& run) {
  Held first = fresh();
  *first = run;
  first->count = 1;
  for (int w = v + 1; w < k_; ++w) {
    run.lo[w] += run.dlo[w];
    run.hi[w] += run.dhi[w];
  }
  ++run.lo[v];
  ++run.hi[v];
  run.count = 1;
  push(v - 1, std::move(first));
}

// Passes a run that cannot grow any more to the next level, folded.
void Folder::release(int v, Held run) {
  if (run->count == 2 && !near(v, *run)) let_go(v, *run);
  if (run->count > 1) {
    const int64_t x = run->lo[v];
    run->hi[v] = x + run->count - 1;
    for (int w = v + 1; w < k_; ++w) {
      if (run->dlo[w] == 0 && run->dhi[w] == 0) continue;
      run->axes[w] = {v, run->dlo[w], run->dhi[w]};
      run->lo[w] -= run->dlo[w] * x;
      run->hi[w] -= run->dhi[w] * x;
    }
    run->count = 1;
  }
  push(v - 1, std::move(run));
}

// Goes on to the next value of column v: runs that did not continue are released.
void Folder::turn(int v, int64_t at) {
  Level& level = levels_[v];
  std::vector<Held> ended;
  ended.swap(level.old);
  level.old.swap(level.now);
  level.next = 0;
  level.at = at;
  level.passing = false;
  for (Held& run : ended) {
    if (run) release(v, std::move(run));
  }
  ended.clear();
  if (level.now.capacity() == 0) level.now.swap(ended);
}

void Folder::flush(int v) {
  Level& level = levels_[v];
  std::vector<Held> old, now;
  old.swap(level.old);
  now.swap(level.now);
  level.next = 0;
  level.passing = false;
  for (auto* runs : {&old, &now}) {
    for (Held& run : *runs) {
      if (run) release(v, std::move(run));
    }
    runs->clear();
  }
  level.old.swap(old);  // reuses the memory of the vectors
  level.now.swap(now);
}

// Returns the run that the row was added to, or nullptr if it was passed on.
Folder::Run* Folder::push(int v, Held row) {
  if (v < 0) {
    emit(*row);
    recycle(std::move(row));
    return nullptr;
  }
  Level& level = levels_[v];
  const int64_t x = row->lo[v];
  if (!level.empty()) {
    const Run& any = level.now.empty() ? *level.old.front() : *level.now.front();
    if (!std::equal(row->lo.begin(), row->lo.begin() + v, any.lo.begin())) {
      flush(v);
    } else if (x == level.at + 1) {
      turn(v, x);
    } else if (x != level.at) {
      flush(v);
    }
  } else if (level.passing && x != level.at) {
    level.passing = false;
  }
  if (level.empty()) level.at = x;
  if (level.passing) {
    push(v - 1, std::move(row));
    return nullptr;
  }
  const size_t place = level.now.size();
  const auto join = [&](size_t i) {
    ++level.old[i]->count;
    level.now.push_back(std::move(level.old[i]));
    level.next = i + 1;
    recycle(std::move(row));
    return level.now.back().get();
  };
  // A run whose step is known is recognised by its next row; one without a step must be at the same position.
  const size_t end = std::min(level.old.size(), level.next + kWindow);
  for (size_t i = level.next; i < end; ++i) {
    if (level.old[i] && level.old[i]->count > 1 && fits(v, *level.old[i], *row)) return join(i);
  }
  if (place < level.old.size() && level.old[place]) {
    Run& run = *level.old[place];
    if (run.count == 2 && !near(v, run)) let_go(v, run);
    if (run.count == 1 && fits(v, run, *row)) return join(place);
  }
  if (level.now.size() >= kMostRuns) {
    flush(v);
    level.passing = true;
    level.at = x;
    push(v - 1, std::move(row));
    return nullptr;
  }
  level.now.push_back(std::move(row));
  return level.now.back().get();
}

// Adds a run that is completely known: `count` rows that move by (dlo, dhi) along v. The first rows are pushed one by
// one until they have found the run that the others can only continue.
void Folder::push_run(int v, const Run& first, const int64_t* dlo, const int64_t* dhi, int64_t count) {
  for (int w = k_ - 1; w > v; --w) flush(w);
  for (int64_t i = 0; i < count; ++i) {
    Held row = fresh();
    *row = first;
    row->lo[v] += i;
    row->hi[v] += i;
    for (int w = v + 1; w < k_; ++w) {
      row->lo[w] += i * dlo[w];
      row->hi[w] += i * dhi[w];
    }
    Run* run = push(v, std::move(row));
    if (run == nullptr || i + 1 == count) continue;
    if (run->count > 1 && !(std::equal(dlo + v + 1, dlo + k_, run->dlo.begin() + v + 1) &&
                            std::equal(dhi + v + 1, dhi + k_, run->dhi.begin() + v + 1))) {
      continue;
    }
    std::copy(dlo + v + 1, dlo + k_, run->dlo.begin() + v + 1);
    std::copy(dhi + v + 1, dhi + k_, run->dhi.begin() + v + 1);
    run->count += count - i - 1;
    leave_behind(v, run);
    return;
  }
}

// Releases all runs of the level except `run`, which alone has continued.
void Folder::leave_behind(int v, const Run* run) {
  Level& level = levels_[v];
  level.at = run->lo[v] + run->count - 1;
  level.next = 0;
  if (level.now.size() == 1 && level.old.empty()) return;
  Held mine;
  std::vector<Held> others;
  for (auto* runs : {&level.old, &level.now}) {
    for (Held& held : *runs) {
      if (held.get() == run) {
        mine = std::move(held);
      } else if (held) {
        others.push_back(std::move(held));
      }
    }
    runs->clear();
  }
  for (Held& held : others) release(v, std::move(held));
  level.now.push_back(std::move(mine));
}

void Folder::emit(const Run& row) {
  ++rows_;
  const auto matches = [&](const Rows& rows) { return rows.pattern == row.axes; };
  if (parts_.empty() || !matches(parts_[recent_])) {
    uint64_t h = 0;
    for (const Axis& a : row.axes) {
      h = mix(h, static_cast<uint64_t>(a.parent + 1));
      h = mix(h, static_cast<uint64_t>(a.p));
      h = mix(h, static_cast<uint64_t>(a.q));
    }
    std::vector<size_t>& bucket = find_[h];
    const auto it = std::find_if(bucket.begin(), bucket.end(), [&](size_t i) { return matches(parts_[i]); });
    if (it != bucket.end()) {
      recent_ = *it;
    } else {
      recent_ = parts_.size();
      bucket.push_back(recent_);
      parts_.emplace_back();
      parts_.back().pattern = row.axes;
      parts_.back().lo.resize(k_);
      parts_.back().width.resize(k_);
    }
  }
  Rows& rows = parts_[recent_];
  ++rows.rows;
  for (int c = 0; c < k_; ++c) {
    rows.lo[c].push_back(row.lo[c]);
    rows.width[c].push_back(row.hi[c] - row.lo[c]);
  }
}

Fed Folder::feed(const int64_t* x, size_t n) {
  const size_t k = static_cast<size_t>(k_);
  if (k == 0) {
    // Neither side has axes, so there is only one possible tuple.
    if (n > 0 && !started_) emit(Run(0));
    started_ = started_ || n > 0;
    return Fed::ok;
  }
  for (size_t i = 0; i < n;) {
    at_ = i;
    const int64_t* t = x + i * k;
    if (!in_range(t)) return Fed::out_of_range;
    if (started_) {
      const int64_t* a = last_.data();
      size_t c = 0;
      while (c < k && t[c] == a[c]) ++c;
      if (c == k) {
        ++i;
        continue;
      }
      if (t[c] < a[c]) return Fed::unsorted;
    }
    started_ = true;
    size_t took = i + 2 < n ? leap(t, n - i) : 0;
    if (took == 0) {
      Held row = fresh();
      set(*row, t);
      push(k_ - 1, std::move(row));
      took = 1 + scattered(t, n - i);
    } else if (const size_t bad = first_outside(t, took); bad < took) {
      at_ = i + bad;
      return Fed::out_of_range;
    }
    std::copy(t + (took - 1) * k, t + took * k, last_.begin());
    i += took;
  }
  at_ = n;
  return Fed::ok;
}

Fed Folder::feed_runs(const int64_t* x, size_t n, int outs) {
  const int ins = k_ - outs;
  const size_t width = 2 + 4 * static_cast<size_t>(ins);
  std::vector<int64_t> dlo(k_, 0), dhi(k_, 0);
  for (size_t i = 0; i < n; ++i) {
    at_ = i;
    const int64_t* r = x + i * width;
    Run& row = *scratch_;
    row.count = 1;
    std::fill(row.axes.begin(), row.axes.end(), Axis{});
    const int64_t count = r[1];
    int64_t flat = r[0];
    for (int c = outs - 1; c >= 0; --c) {
      if (flat < 0 || dims_[c] == 0) return Fed::out_of_range;
      row.lo[c] = row.hi[c] = flat % dims_[c];
      flat /= dims_[c];
    }
    if (flat != 0 || count < 1 || (outs == 0 ? count > 1 : row.lo[outs - 1] + count > dims_[outs - 1])) {
      return Fed::out_of_range;
    }
    for (int c = outs; c < k_; ++c) {
      const int64_t* a = r + 2 + 4 * (c - outs);
      row.lo[c] = a[0];
      row.hi[c] = a[1];
      dlo[c] = a[2];
      dhi[c] = a[3];
      for (int64_t step : {int64_t{0}, count - 1}) {
        const int64_t lo = a[0] + step * a[2], hi = a[1] + step * a[3];
        if (lo < 0 || lo > hi || hi >= dims_[c]) return Fed::out_of_range;
      }
    }
    bool even = count > 1;
    for (int c = outs; c < k_ && even; ++c) even = !steep(outs - 1, dlo[c]) && !steep(outs - 1, dhi[c]);
    if (even) {
      push_run(outs - 1, row, dlo.data(), dhi.data(), count);
      continue;
    }
    for (int64_t step = 0; step < count; ++step) {
      Held held = fresh();
      *held = row;
      if (step > 0) held->lo[outs - 1] = held->hi[outs - 1] = row.lo[outs - 1] + step;
      for (int c = outs; c < k_; ++c) {
        held->lo[c] += step * dlo[c];
        held->hi[c] += step * dhi[c];
      }
      push(outs - 1, std::move(held));
    }
  }
  at_ = n;
  return Fed::ok;
}

// Adds tuples that move by one step, and runs of such runs, at once. Returns how many.
size_t Folder::leap(const int64_t* t, size_t n) {
  const size_t k = static_cast<size_t>(k_);
  int64_t* step = step_.data();
  for (size_t c = 0; c < k; ++c) step[c] = minus(t[k + c], t[c]);
  const size_t f = first_move(step, k);
  if (f == k || step[f] != 1) return 0;
  for (size_t c = f + 1; c < k; ++c) {
    if (steep(static_cast<int>(f), step[c])) return 0;
  }
  size_t run = repeats(t, n, k, 1, step, steps_) + 1;
  if (run < 2) return 0;
  // The last tuple may belong to the tuples after it along a later axis: then it is pushed separately.
  const int64_t* next = t + run * k;
  if (run == n || std::equal(next, next + f + 1, next - k)) {
    --run;
  } else if (run <= kShort) {
    const size_t taken = leap_runs(t, n, run, static_cast<int>(f));
    if (taken > 0) return taken;
  }
  if (run < 3) return 0;
  leapt_inside_ = in_range(t + (run - 1) * k);
  if (leapt_inside_) {
    Run& row = *scratch_;
    set(row, t);
    push_run(static_cast<int>(f), row, step, step, static_cast<int64_t>(run));
  }
  return run;
}

// Adds runs of `run` tuples along column f, one after the other along an earlier column: one row that moves by one
// step.
size_t Folder::leap_runs(const int64_t* t, size_t n, size_t run, int f) {
  const size_t k = static_cast<size_t>(k_);
  if (n < 4 * run) return 0;
  int64_t* move = move_.data();
  for (size_t c = 0; c < k; ++c) move[c] = minus(t[run * k + c], t[c]);
  const size_t g = first_move(move, k);
  if (g >= static_cast<size_t>(f) || move[g] != 1) return 0;
  for (size_t c = g + 1; c < k; ++c) {
    if (steep(static_cast<int>(g), move[c])) return 0;
  }
  for (size_t c = f + 1; c < k; ++c) {
    // A child of f must stay the same relative to f.
    if (step_[c] != 0 && (steep(f, move[f]) || move[c] != step_[c] * move[f])) return 0;
  }
  // The last run may be longer than the others, so it is pushed separately.
  const size_t blocks = repeats(t, n, k, run, move, steps_) / run;
  if (blocks < 3) return 0;
  const size_t taken = blocks * run;
  leapt_inside_ = in_range(t + (run - 1) * k) && in_range(t + (taken - run) * k) && in_range(t + (taken - 1) * k);
  if (!leapt_inside_) return taken;
  Run& row = *scratch_;
  set(row, t);
  row.hi[f] += static_cast<int64_t>(run) - 1;
  for (size_t c = f + 1; c < k; ++c) {
    if (step_[c] == 0) continue;
    row.axes[c] = {f, step_[c], step_[c]};
    row.lo[c] -= step_[c] * t[f];
    row.hi[c] -= step_[c] * t[f];
    move[c] = 0;
  }
  push_run(static_cast<int>(g), row, move, move, static_cast<int64_t>(blocks));
  return taken;
}

size_t Folder::first_outside(const int64_t* t, size_t n) const {
  // Leaps check their corners, so the search is needed only if one is outside.
  const size_t k = static_cast<size_t>(k_);
  if (leapt_inside_) return n;
  size_t i = 0;
  while (i < n && in_range(t + i * k)) ++i;
  return i;
}

void Folder::close() {
  for (int w = k_ - 1; w >= 0; --w) flush(w);
}

std::vector<Part> Folder::take() {
  std::vector<Part> out;
  for (Rows& rows : parts_) {
    if (rows.rows == 0) continue;
    const auto before = [&](size_t i, size_t j) {
      for (int c = 0; c < k_; ++c) {
        if (rows.lo[c][i] != rows.lo[c][j]) return rows.lo[c][i] < rows.lo[c][j];
      }
      return false;
    };
    bool sorted = true;
    for (size_t i = 1; i < rows.rows && sorted; ++i) sorted = !before(i, i - 1);
    if (!sorted) {  // runs end in another order than they begin; sorted columns are smaller and need no index
      std::vector<size_t> order(rows.rows);
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(), before);
      for (auto* columns : {&rows.width, &rows.lo}) {
        for (Column& column : *columns) {
          Column moved;
          for (size_t i : order) moved.push_back(column[i]);
          column = std::move(moved);
        }
      }
    }
    Part part;
    part.rows = rows.rows;
    part.pattern.resize(k_);
    part.lo.resize(k_);
    part.width.resize(k_);
    for (int c = 0; c < k_; ++c) {
      Axis a = rows.pattern[c];
      if (a.parent >= 0) a.parent = axis_[a.parent];
      part.pattern[axis_[c]] = a;
      part.lo[axis_[c]] = std::move(rows.lo[c]);
      part.width[axis_[c]] = std::move(rows.width[c]);
      rows.lo[c] = {};
      rows.width[c] = {};
    }
    rows.rows = 0;
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace whence
