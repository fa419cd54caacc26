#include "kernels/fold.hpp"

#include <algorithm>
#include <cstring>

namespace whence {

namespace {

constexpr size_t kBlock = 64;  // tuples compared between two looks at the outcome

// How many tuples from `x` on go on by the same step: at least 2, the first two define it. The loop has no branch
// inside a block, so that it runs at the speed of memory.
size_t run_length(const int64_t* x, size_t n, size_t k, const int64_t* step, std::vector<int64_t>& steps) {
  size_t i = 1;
  const auto same = [&](size_t j) {
    for (size_t c = 0; c < k; ++c) {
      if (x[j * k + k + c] - x[j * k + c] != step[c]) return false;
    }
    return true;
  };
  for (; i + 1 < n && i < 8; ++i) {
    if (!same(i)) return i + 1;
  }
  if (i + 1 >= n) return n;
  steps.resize(kBlock * k);
  for (size_t j = 0; j < kBlock; ++j) std::copy(step, step + k, steps.begin() + j * k);
  const int64_t* s = steps.data();
  while (i + kBlock < n) {
    const int64_t* here = x + i * k;
    const int64_t* next = here + k;
    int64_t off = 0;
    for (size_t j = 0; j < kBlock * k; ++j) off |= (next[j] - here[j]) ^ s[j];
    if (off != 0) break;
    i += kBlock;
  }
  while (i + 1 < n && same(i)) ++i;
  return i + 1;
}

uint64_t mix(uint64_t h, uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdULL;
}

}  // namespace

Folder::Folder(std::vector<int64_t> dims, std::vector<int> axis, bool extended)
    : k_(static_cast<int>(dims.size())),
      dims_(std::move(dims)),
      axis_(std::move(axis)),
      extended_(extended),
      levels_(k_ + 1, Level(k_)),
      last_(k_) {
  // One scratch row for each level that flushes into the next, and one for what arrives.
  for (int v = 0; v <= k_ + 1; ++v) scratch_.push_back(std::make_unique<Level>(k_));
}

bool Folder::in_range(const int64_t* t) const {
  bool ok = true;
  for (int c = 0; c < k_; ++c) ok &= t[c] >= 0 && t[c] < dims_[c];
  return ok;
}

void Folder::single(Level& row, const int64_t* t) const {
  row.count = 1;
  std::copy(t, t + k_, row.lo.begin());
  std::copy(t, t + k_, row.hi.begin());
  std::fill(row.axes.begin(), row.axes.end(), Axis{});
}

// Level v folds column v. Whether `row` may follow `run`, and by which step if it is the second.
bool Folder::fits(Level& run, const Level& row) const {
  const int v = static_cast<int>(&run - levels_.data());
  if (run.lo[v] != run.hi[v] || row.lo[v] != row.hi[v] || row.lo[v] != run.lo[v] + run.count) return false;
  for (int u = 0; u < v; ++u) {
    if (row.lo[u] != run.lo[u]) return false;
  }
  const bool first = run.count == 1;
  for (int w = v + 1; w < k_; ++w) {
    if (run.axes[w].parent >= 0 || row.axes[w].parent >= 0) {
      if (run.axes[w] != row.axes[w] || run.lo[w] != row.lo[w] || run.hi[w] != row.hi[w]) return false;
      continue;
    }
    const int64_t dlo = row.lo[w] - run.lo[w], dhi = row.hi[w] - run.hi[w];
    if (first) {
      if (!extended_ && (dlo != dhi || dlo < 0 || dlo > 1)) return false;
      continue;
    }
    if (dlo != run.count * run.dlo[w] || dhi != run.count * run.dhi[w]) return false;
  }
  if (first) {
    for (int w = v + 1; w < k_; ++w) {
      const bool root = run.axes[w].parent < 0;
      run.dlo[w] = root ? row.lo[w] - run.lo[w] : 0;
      run.dhi[w] = root ? row.hi[w] - run.hi[w] : 0;
    }
  }
  return true;
}

void Folder::push(int v, Level& row) {
  if (v < 0) {
    emit(row);
    return;
  }
  Level& run = levels_[v];
  if (run.count > 0 && fits(run, row)) {
    ++run.count;
    return;
  }
  if (run.count == 2) {
    // Any two rows lie on a line. Two that are no neighbours are let go, so that the second can start a longer run.
    bool near = true;
    for (int w = v + 1; w < k_; ++w) near &= std::abs(run.dlo[w]) <= 1 && std::abs(run.dhi[w]) <= 1;
    if (!near) {
      Level& first = *scratch_[v];
      first = run;
      first.count = 1;
      for (int w = v + 1; w < k_; ++w) {
        run.lo[w] += run.dlo[w];
        run.hi[w] += run.dhi[w];
      }
      ++run.lo[v];
      ++run.hi[v];
      run.count = 1;
      push(v - 1, first);
      if (fits(run, row)) {
        ++run.count;
        return;
      }
    }
  }
  flush(v);
  std::swap(run, row);
  run.count = 1;
}

// A run that is known whole: `count` tuples that move by `step`, whose first column to move is v.
void Folder::push_run(int v, const int64_t* tuple, const int64_t* step, int64_t count) {
  flush_from(v + 1);
  Level& run = levels_[v];
  Level& row = *scratch_[k_ + 1];
  single(row, tuple);
  if (run.count > 0) {
    if (fits(run, row)) {  // sets a step only on a run of one, where it means nothing yet
      bool same = true;
      for (int w = v + 1; w < k_; ++w) same &= run.dlo[w] == step[w] && run.dhi[w] == step[w];
      if (same) {
        run.count += count;
        return;
      }
    }
  }
  flush(v);
  single(run, tuple);
  run.count = count;
  for (int w = v + 1; w < k_; ++w) run.dlo[w] = run.dhi[w] = step[w];
}

void Folder::flush(int v) {
  Level& run = levels_[v];
  if (run.count == 0) return;
  Level& row = *scratch_[v];
  if (run.count > 1) {
    const int64_t x = run.lo[v];
    run.hi[v] = x + run.count - 1;
    for (int w = v + 1; w < k_; ++w) {
      if (run.dlo[w] == 0 && run.dhi[w] == 0) continue;
      run.axes[w] = {v, run.dlo[w], run.dhi[w]};
      run.lo[w] -= run.dlo[w] * x;
      run.hi[w] -= run.dhi[w] * x;
    }
  }
  std::swap(row, run);
  run.count = 0;
  row.count = 1;
  push(v - 1, row);
}

void Folder::flush_from(int v) {
  for (int w = k_ - 1; w >= v; --w) flush(w);
}

void Folder::emit(const Level& row) {
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
    // No axes on either side: the only tuple there can be.
    if (n > 0 && !started_) emit(levels_[0]);
    started_ = started_ || n > 0;
    return Fed::ok;
  }
  std::vector<int64_t> step(k), steps;
  Level& row = *scratch_[k_ + 1];
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
    size_t took = 1;
    if (i + 2 < n) {
      size_t f = k;
      for (size_t c = k; c-- > 0;) {
        step[c] = t[k + c] - t[c];
        if (step[c] != 0) f = c;
      }
      if (f < k && step[f] == 1 && extended_) {
        size_t c = run_length(t, n - i, k, step.data(), steps);
        // The last tuple may go with what follows it along a later axis: then leave it to the ordinary way.
        const int64_t* next = t + c * k;
        if (i + c == n || std::equal(next, next + f + 1, next - k)) --c;
        if (c >= 3) {
          const int64_t* end = t + (c - 1) * k;
          if (!in_range(end)) {
            // Find the first that leaves the array: coordinates move in one direction only.
            while (in_range(x + at_ * k)) ++at_;
            return Fed::out_of_range;
          }
          push_run(static_cast<int>(f), t, step.data(), static_cast<int64_t>(c));
          std::copy(end, end + k, last_.begin());
          took = c;
        }
      }
    }
    if (took == 1) {
      single(row, t);
      std::copy(t, t + k, last_.begin());
      push(k_ - 1, row);
    }
    i += took;
  }
  at_ = n;
  return Fed::ok;
}

std::vector<Part> Folder::take(bool all) {
  if (all && k_ > 0) flush_from(0);
  std::vector<Part> out;
  for (Rows& rows : parts_) {
    if (rows.rows == 0) continue;
    Part part;
    part.rows = rows.rows;
    part.pattern.resize(k_);
    part.lo.resize(k_);
    part.width.resize(k_);
    for (int c = 0; c < k_; ++c) {
      Axis a = rows.pattern[c];
      if (a.parent >= 0) a.parent = axis_[a.parent];
      part.pattern[axis_[c]] = a;
      part.lo[axis_[c]] = Column(std::move(rows.lo[c]));
      part.width[axis_[c]] = Column(std::move(rows.width[c]));
      rows.lo[c] = {};
      rows.width[c] = {};
    }
    rows.rows = 0;
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace whence
