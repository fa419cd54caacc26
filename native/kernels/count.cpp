// Counts the tuples of rows, in a time that does not depend on their number.
//
// The number of tuples below an axis v, given its parent's value x, is a polynomial T(x): the sum of S(y) over the
// values y of v, where S(y) is the product of the T of v's children. A polynomial is determined by its values at 0, 1,
// ..., degree, and its sum over y < n is a sum of binomials, C(n, j + 1) times the j-th difference at 0. All of it is
// computed modulo 2^128: both arrays have fewer than 2^62 cells, so the result is below 2^124.
#include <numeric>

#include "kernels/table.hpp"

namespace whence {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using Signed = __int128;

// C(n, k) modulo 2^128, for any integer n.
Wide choose(Signed n, size_t k) {
  Wide product = 1;
  std::vector<Signed> factors(k);
  for (size_t j = 0; j < k; ++j) {
    factors[j] = n - static_cast<Signed>(j);
    if (factors[j] == 0) return 0;
  }
  for (size_t d = 2; d <= k; ++d) {
    auto left = static_cast<int64_t>(d);
    for (size_t j = 0; j < k && left > 1; ++j) {
      const auto g = std::gcd(static_cast<int64_t>(factors[j] % left), left);
      factors[j] /= g;
      left /= g;
    }
  }
  for (const Signed f : factors) product *= static_cast<Wide>(f);
  return product;
}

// Converts values at 0, 1, 2, ... to differences at 0.
void difference(std::vector<Wide>& values) {
  for (size_t k = 1; k < values.size(); ++k) {
    for (size_t j = values.size() - 1; j >= k; --j) values[j] -= values[j - 1];
  }
}

// Returns the sum over all y < n of the polynomial with these differences at 0.
Wide sum_below(const std::vector<Wide>& differences, Signed n) {
  if (differences.size() == 1) return differences[0] * static_cast<Wide>(n);
  Wide total = 0;
  for (size_t j = 0; j < differences.size(); ++j) total += choose(n, j + 1) * differences[j];
  return total;
}

class Counter {
 public:
  explicit Counter(const Part& part)
      : part_(part), topo_(topological(part.pattern)), kids_(part.pattern.size()), below_(part.pattern.size()) {
    std::vector<size_t> degree(part.pattern.size(), 0);  // of S
    for (size_t t = topo_.size(); t-- > 0;) {
      const int v = topo_[t];
      below_[v].resize(degree[v] + 1);
      flat_ &= degree[v] == 0;
      const Axis& a = part.pattern[v];
      if (a.parent < 0) continue;
      kids_[a.parent].push_back(v);
      degree[a.parent] += degree[v] + (a.p == a.q ? 0 : 1);
    }
  }

  Wide row(size_t i) {
    Wide n = 1;
    if (flat_) {  // the width of every axis is constant, whatever its parent's value
      for (size_t v = 0; v < part_.pattern.size(); ++v) n *= static_cast<Wide>(Signed{part_.width[v][i]} + 1);
      return n;
    }
    for (size_t t = topo_.size(); t-- > 0;) {
      const int v = topo_[t];
      std::vector<Wide>& s = below_[v];
      for (size_t y = 0; y < s.size(); ++y) {
        s[y] = 1;
        for (const int w : kids_[v]) s[y] *= values(w, i, static_cast<Signed>(y));
      }
      difference(s);
      if (part_.pattern[v].parent < 0) n *= values(v, i, 0);
    }
    return n;
  }

 private:
  // T of an axis at its parent's value x.
  Wide values(int v, size_t i, Signed x) const {
    const Axis& a = part_.pattern[v];
    const Signed lo = part_.lo[v][i] + a.p * x, hi = Signed{part_.lo[v][i]} + part_.width[v][i] + a.q * x;
    return sum_below(below_[v], hi + 1) - sum_below(below_[v], lo);
  }

  const Part& part_;
  const std::vector<int> topo_;
  std::vector<std::vector<int>> kids_;
  std::vector<std::vector<Wide>> below_;  // S of each axis, as differences at 0
  bool flat_ = true;
};

}  // namespace

Wide Table::count() const {
  Wide n = 0;
  for (const Part& part : parts_) {
    Counter counter(part);
    const size_t known = part.pattern.size() + 1;
    if (part.stepped() && part.rows > known) {  // a polynomial in the row's number, of a degree up to the number of axes
      std::vector<Wide> rows(known);
      for (size_t i = 0; i < known; ++i) rows[i] = counter.row(i);
      difference(rows);
      n += sum_below(rows, static_cast<Signed>(part.rows));
      continue;
    }
    for (size_t i = 0; i < part.rows; ++i) n += counter.row(i);
  }
  return n;
}

}  // namespace whence
