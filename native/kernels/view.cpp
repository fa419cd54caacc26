#include "kernels/view.hpp"

#include <algorithm>
#include <cstdio>

#include "kernels/values.hpp"

namespace whence {
namespace {

// Splits the interval [a, b] of flat indices into boxes over the axes dims[0..k).
void split(int64_t a, int64_t b, const int64_t* dims, int k, std::vector<int64_t>& prefix,
           std::vector<int64_t>& out) {
  if (k == 0) {
    out.insert(out.end(), prefix.begin(), prefix.end());
    return;
  }
  if (k == 1) {
    out.insert(out.end(), prefix.begin(), prefix.end());
    out.push_back(a);
    out.push_back(b);
    return;
  }
  int64_t inner = 1;
  for (int v = 1; v < k; ++v) inner *= dims[v];
  const auto part = [&](int64_t first, int64_t last, int64_t lo, int64_t hi) {
    prefix.push_back(first);
    prefix.push_back(last);
    split(lo, hi, dims + 1, k - 1, prefix, out);
    prefix.resize(prefix.size() - 2);
  };
  int64_t x = a / inner, y = b / inner;
  const int64_t r = a % inner, s = b % inner;
  if (x == y) {
    part(x, x, r, s);
    return;
  }
  if (r != 0) {
    part(x, x, r, inner - 1);
    ++x;
  }
  if (s != inner - 1) {
    if (x <= y - 1) part(x, y - 1, 0, inner - 1);
    part(y, y, 0, s);
  } else if (x <= y) {
    part(x, y, 0, inner - 1);
  }
}

// Emits the flat intervals of a box: one for each value of the axes before the last axis that is not full.
template <class Emit>
void flatten(const int64_t* box, const int64_t* dims, int k, Emit emit) {
  int cut = k;          // axes [cut, k) are full
  int64_t inner = 1;    // their size
  while (cut > 0 && box[2 * (cut - 1)] == 0 && box[2 * (cut - 1) + 1] == dims[cut - 1] - 1) inner *= dims[--cut];
  if (cut == 0) {
    emit(0, inner - 1);
    return;
  }
  const int run = cut - 1;
  std::vector<int64_t> at(run > 0 ? run : 0);
  for (int v = 0; v < run; ++v) at[v] = box[2 * v];
  while (true) {
    int64_t base = 0;
    for (int v = 0; v < run; ++v) base = base * dims[v] + at[v];
    base *= dims[run];
    emit((base + box[2 * run]) * inner, (base + box[2 * run + 1] + 1) * inner - 1);
    int v = run - 1;
    while (v >= 0 && at[v] == box[2 * v + 1]) {
      at[v] = box[2 * v];
      --v;
    }
    if (v < 0) return;
    ++at[v];
  }
}

// Returns the number of flat intervals of a box.
double runs(const int64_t* box, const int64_t* dims, int k) {
  int cut = k;
  while (cut > 0 && box[2 * (cut - 1)] == 0 && box[2 * (cut - 1) + 1] == dims[cut - 1] - 1) --cut;
  double n = 1;
  for (int v = 0; v + 1 < cut; ++v) n *= static_cast<double>(box[2 * v + 1] - box[2 * v]) + 1;
  return n;
}

// Appends the product of the groups' pieces. A group without target axes has no values, and one piece.
void product(const std::vector<Group>& gs, const std::vector<std::vector<int64_t>>& parts, std::vector<int64_t>& out) {
  std::vector<size_t> at(gs.size(), 0);
  while (true) {
    for (size_t g = 0; g < gs.size(); ++g) {
      const size_t w = 2 * (gs[g].to1 - gs[g].to0);
      out.insert(out.end(), parts[g].begin() + at[g] * w, parts[g].begin() + (at[g] + 1) * w);
    }
    int g = static_cast<int>(gs.size()) - 1;
    for (; g >= 0; --g) {
      const size_t w = 2 * (gs[g].to1 - gs[g].to0);
      const size_t have = w == 0 ? 1 : parts[g].size() / w;
      if (++at[g] < have) break;
      at[g] = 0;
    }
    if (g < 0) return;
  }
}

[[noreturn]] void refuse(double count) {
  char text[200];
  std::snprintf(text, sizeof text,
                count < 1e15 ? "the cells are %.0f separate boxes %s" : "the cells are %.3g separate boxes %s", count,
                "under the layout in which the relation is stored; "
                "ask for fewer cells at a time, or for whole rows");
  throw TooLarge(text);
}

}  // namespace

std::vector<Group> groups(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  std::vector<Group> out;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const size_t i0 = i, j0 = j;
    int64_t a = 1, b = 1;
    if (i < from.size()) a = from[i++];
    if (j < to.size()) b = to[j++];
    while (a != b) {
      if (a < b && i < from.size()) {
        a *= from[i++];
      } else if (j < to.size()) {
        b *= to[j++];
      } else {
        break;
      }
    }
    // Trailing axes of length one belong to the last group.
    if (a == b) {
      while (i < from.size() && from[i] == 1 && j == to.size()) ++i;
      while (j < to.size() && to[j] == 1 && i == from.size()) ++j;
    }
    const bool same = i - i0 == 1 && j - j0 == 1;
    out.push_back({static_cast<int>(i0), static_cast<int>(i), static_cast<int>(j0), static_cast<int>(j), same});
  }
  return out;
}

double pieces(const int64_t* boxes, size_t n, const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  const std::vector<Group> gs = groups(from, to);
  double total = 0;
  for (size_t i = 0; i < n; ++i) {
    double each = 1;
    for (const Group& g : gs) {
      if (!g.same) each *= runs(boxes + 2 * (i * from.size() + g.from0), from.data() + g.from0, g.from1 - g.from0);
    }
    total += each;
  }
  return total;
}

std::vector<int64_t> review(const int64_t* boxes, size_t n, const std::vector<int64_t>& from,
                            const std::vector<int64_t>& to, size_t limit) {
  const size_t df = from.size(), dt = to.size();
  const double least = pieces(boxes, n, from, to);
  if (least > static_cast<double>(limit)) refuse(least);
  const std::vector<Group> gs = groups(from, to);
  std::vector<int64_t> out;
  out.reserve(n * dt * 2);
  std::vector<std::vector<int64_t>> parts(gs.size());
  std::vector<int64_t> prefix;
  for (size_t i = 0; i < n; ++i) {
    const int64_t* box = boxes + i * df * 2;
    for (size_t g = 0; g < gs.size(); ++g) {
      parts[g].clear();
      const Group& group = gs[g];
      if (group.same) {
        parts[g].push_back(box[2 * group.from0]);
        parts[g].push_back(box[2 * group.from0 + 1]);
      } else {
        flatten(box + 2 * group.from0, from.data() + group.from0, group.from1 - group.from0,
                [&](int64_t a, int64_t b) {
                  split(a, b, to.data() + group.to0, group.to1 - group.to0, prefix, parts[g]);
                });
      }
    }
    product(gs, parts, out);
    if (out.size() > limit * std::max<size_t>(2 * dt, 1)) refuse(static_cast<double>(out.size() / (2 * dt)));
  }
  return out;
}

Window::Window(const std::vector<int64_t>& from, const std::vector<int64_t>& to)
    : from_(from), to_(to), groups_(groups(from, to)), pieces_(groups_.size()) {}

void Window::around(const int64_t* box, int64_t* out) const {
  for (const Group& g : groups_) {
    if (g.same) {
      out[2 * g.to0] = box[2 * g.from0];
      out[2 * g.to0 + 1] = box[2 * g.from0 + 1];
      continue;
    }
    int64_t first = 0, last = 0, inner = 1;
    for (int v = g.from0; v < g.from1; ++v) {
      first = first * from_[v] + box[2 * v];
      last = last * from_[v] + box[2 * v + 1];
    }
    for (int v = g.to0 + 1; v < g.to1; ++v) {
      inner *= to_[v];
      out[2 * v] = 0;
      out[2 * v + 1] = to_[v] - 1;
    }
    if (g.to0 == g.to1) continue;
    out[2 * g.to0] = first / inner;
    out[2 * g.to0 + 1] = last / inner;
  }
}

bool Window::cut(const int64_t* box, const int64_t* lo, const int64_t* hi, size_t limit, std::vector<int64_t>& out) {
  std::vector<int64_t> prefix, windows, meeting;
  double total = 1;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& g = groups_[i];
    std::vector<int64_t>& found = pieces_[i];
    found.clear();
    if (g.same) {
      const int64_t first = std::max(box[2 * g.from0], lo[g.to0]), last = std::min(box[2 * g.from0 + 1], hi[g.to0]);
      if (first > last) return true;
      found = {first, last};
      continue;
    }
    const int kf = g.from1 - g.from0, kt = g.to1 - g.to0;
    int64_t first = 0, last = 0;
    for (int v = g.to0; v < g.to1; ++v) {
      first = first * to_[v] + lo[v];
      last = last * to_[v] + hi[v];
    }
    windows.clear();
    split(first, last, from_.data() + g.from0, kf, prefix, windows);
    meeting.assign(2 * kf, 0);
    double count = kf == 0 ? 1 : 0;
    for (size_t w = 0; kf > 0 && w < windows.size(); w += 2 * kf) {
      bool empty = false;
      for (int v = 0; v < kf; ++v) {
        meeting[2 * v] = std::max(windows[w + 2 * v], box[2 * (g.from0 + v)]);
        meeting[2 * v + 1] = std::min(windows[w + 2 * v + 1], box[2 * (g.from0 + v) + 1]);
        empty |= meeting[2 * v] > meeting[2 * v + 1];
      }
      if (empty) continue;
      count += runs(meeting.data(), from_.data() + g.from0, kf);
      if (count > static_cast<double>(limit)) return false;
      flatten(meeting.data(), from_.data() + g.from0, kf,
              [&](int64_t a, int64_t b) { split(a, b, to_.data() + g.to0, kt, prefix, found); });
    }
    if (kf == 0) split(0, 0, to_.data() + g.to0, kt, prefix, found);
    if (count == 0) return true;
    total *= kt > 0 ? static_cast<double>(found.size() / (2 * kt)) : 1;
    if (total > static_cast<double>(limit)) return false;
  }
  product(groups_, pieces_, out);
  return true;
}

}  // namespace whence
