#include "kernels/view.hpp"

namespace whence {
namespace {

// Axes of both shapes whose products agree are converted together, apart from all others.
struct Group {
  int from0, from1, to0, to1;  // half-open ranges of axes
  bool same;
};

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
    // Axes of length one at the end belong to the last group.
    if (a == b) {
      while (i < from.size() && from[i] == 1 && j == to.size()) ++i;
      while (j < to.size() && to[j] == 1 && i == from.size()) ++j;
    }
    const bool same = i - i0 == 1 && j - j0 == 1;
    out.push_back({static_cast<int>(i0), static_cast<int>(i), static_cast<int>(j0), static_cast<int>(j), same});
  }
  return out;
}

// The interval [a, b] of flat indices as boxes over the axes dims[0..k).
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

// The flat intervals of a box: one for each value of the axes outside the first one that is not full to its right.
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

}  // namespace

std::vector<int64_t> review(const int64_t* boxes, size_t n, const std::vector<int64_t>& from,
                            const std::vector<int64_t>& to) {
  const size_t df = from.size(), dt = to.size();
  const std::vector<Group> gs = groups(from, to);
  std::vector<int64_t> out;
  out.reserve(n * dt * 2);
  std::vector<std::vector<int64_t>> pieces(gs.size());
  std::vector<int64_t> prefix;
  std::vector<size_t> at(gs.size());
  for (size_t i = 0; i < n; ++i) {
    const int64_t* box = boxes + i * df * 2;
    for (size_t g = 0; g < gs.size(); ++g) {
      pieces[g].clear();
      const Group& group = gs[g];
      if (group.same) {
        pieces[g].push_back(box[2 * group.from0]);
        pieces[g].push_back(box[2 * group.from0 + 1]);
      } else {
        flatten(box + 2 * group.from0, from.data() + group.from0, group.from1 - group.from0,
                [&](int64_t a, int64_t b) {
                  split(a, b, to.data() + group.to0, group.to1 - group.to0, prefix, pieces[g]);
                });
      }
    }
    // The product of the groups' pieces. A group without target axes holds no numbers, and one piece.
    std::fill(at.begin(), at.end(), 0);
    while (true) {
      for (size_t g = 0; g < gs.size(); ++g) {
        const size_t w = 2 * (gs[g].to1 - gs[g].to0);
        out.insert(out.end(), pieces[g].begin() + at[g] * w, pieces[g].begin() + (at[g] + 1) * w);
      }
      int g = static_cast<int>(gs.size()) - 1;
      for (; g >= 0; --g) {
        const size_t w = 2 * (gs[g].to1 - gs[g].to0);
        const size_t have = w == 0 ? 1 : pieces[g].size() / w;
        if (++at[g] < have) break;
        at[g] = 0;
      }
      if (g < 0) break;
    }
  }
  return out;
}

}  // namespace whence
