// The Omega test (Pugh 1991) eliminates one variable after another. An equality is solved for a variable whose
// coefficient is 1 or -1; where there is none, replacing a variable makes the coefficients smaller, as Euclid's algorithm
// does. A variable x of inequalities is between lower bounds, a*x >= A, and upper bounds, b*x <= B. Each pair leaves
//
//   a*B - b*A >= 0                  if x may be a fraction (the real shadow), and
//   a*B - b*A >= (a - 1)*(b - 1)    if there is always room for an integer (the dark shadow).
//
// They are the same if a or b is 1. Otherwise, if only the real shadow has a solution, x is near one of its lower bounds:
// each of the few values is tried.
#include "kernels/integers.hpp"

#include <map>

namespace whence {
namespace {

using Number = Inequalities::Number;
using Row = std::vector<Number>;

constexpr size_t kMostRows = 4096;  // that eliminating one variable may make

struct Beyond {};  // thrown if an integer or the effort is too large

Number times(Number a, Number b) {
  Number out;
  if (__builtin_mul_overflow(a, b, &out)) throw Beyond{};
  return out;
}

Number plus(Number a, Number b) {
  Number out;
  if (__builtin_add_overflow(a, b, &out)) throw Beyond{};
  return out;
}

Number magnitude(Number a) { return a < 0 ? -a : a; }

Number floored(Number a, Number b) {
  const Number q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Number gcd(Number a, Number b) {
  a = magnitude(a), b = magnitude(b);
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

Number divisor(const Row& row) {
  Number g = 0;
  for (size_t i = 0; i + 1 < row.size() && g != 1; ++i) g = gcd(g, row[i]);
  return g;
}

// Substitutes `value`, a row of coefficients and a constant, for variable k.
void replace(std::vector<Row>& rows, size_t k, const Row& value) {
  for (Row& row : rows) {
    const Number c = std::exchange(row[k], 0);
    if (c == 0) continue;
    for (size_t i = 0; i < row.size(); ++i) {
      if (value[i] != 0) row[i] = plus(row[i], times(c, value[i]));
    }
  }
}

class Omega {
 public:
  explicit Omega(size_t& effort) : effort_(effort) {}

  Solvable solve(std::vector<Row> equal, std::vector<Row> least) {
    if (least.size() >= effort_) throw Beyond{};
    effort_ -= least.size() + 1;
    do {
      if (!without_equalities(equal, least) || !tidied(equal, least)) return Solvable::no;
    } while (!equal.empty());
    drop_unbounded(least);
    if (least.empty()) return Solvable::yes;
    return eliminate(least);
  }

 private:
  // Solves every equality; returns false if one has no solution.
  static bool without_equalities(std::vector<Row>& equal, std::vector<Row>& least) {
    while (!equal.empty()) {
      Row e = std::move(equal.back());
      equal.pop_back();
      const size_t n = e.size() - 1;
      const Number g = divisor(e);
      if (g == 0) {
        if (e[n] != 0) return false;
        continue;
      }
      if (e[n] % g != 0) return false;
      size_t k = n;
      for (size_t i = 0; i <= n; ++i) e[i] /= g;
      for (size_t i = 0; i < n; ++i) {
        if (e[i] != 0 && (k == n || magnitude(e[i]) < magnitude(e[k]))) k = i;
      }
      Row value(n + 1, 0);
      if (magnitude(e[k]) == 1) {
        for (size_t i = 0; i <= n; ++i) value[i] = i == k ? 0 : times(-e[k], e[i]);
      } else {
        for (size_t i = 0; i < n; ++i) value[i] = i == k ? 1 : -floored(e[i], e[k]);
        equal.push_back(std::move(e));
      }
      replace(equal, k, value);
      replace(least, k, value);
    }
    return true;
  }

  // Divides by common divisors, keeps the tightest of parallel inequalities, and moves those that leave one value to
  // the equalities; returns false if two of them contradict each other.
  static bool tidied(std::vector<Row>& equal, std::vector<Row>& least) {
    std::map<Row, Number> tightest;
    for (Row& row : least) {
      const Number constant = row.back(), g = divisor(row);
      if (g == 0) {
        if (constant < 0) return false;
        continue;
      }
      row.pop_back();
      if (g != 1) {
        for (Number& c : row) c /= g;
      }
      const Number bound = floored(constant, g);
      const auto [at, fresh] = tightest.try_emplace(std::move(row), bound);
      if (!fresh && bound < at->second) at->second = bound;
    }
    least.clear();
    for (const auto& [row, bound] : tightest) {
      Row opposite(row);
      for (Number& c : opposite) c = -c;
      const auto other = tightest.find(opposite);
      Row whole(row);
      whole.push_back(bound);
      if (other == tightest.end()) {
        least.push_back(std::move(whole));
        continue;
      }
      const Number room = plus(bound, other->second);
      if (room < 0) return false;
      if (room > 0) least.push_back(std::move(whole));
      else if (row < opposite) equal.push_back(std::move(whole));
    }
    return true;
  }

  // A variable without a lower or without an upper bound can always be satisfied, so its inequalities are dropped.
  static void drop_unbounded(std::vector<Row>& least) {
    for (bool again = true; again && !least.empty();) {
      again = false;
      for (size_t k = 0; k + 1 < least.front().size(); ++k) {
        size_t lower = 0, upper = 0;
        for (const Row& row : least) lower += row[k] > 0, upper += row[k] < 0;
        if ((lower == 0) == (upper == 0)) continue;
        std::erase_if(least, [&](const Row& row) { return row[k] != 0; });
        again = true;
        if (least.empty()) return;
      }
    }
  }

  // Returns the variable that is cheapest to eliminate, an exact one if there is any.
  static std::pair<size_t, bool> cheapest(const std::vector<Row>& least) {
    size_t best = 0, made = 0;
    bool best_exact = false, any = false;
    for (size_t k = 0; k + 1 < least.front().size(); ++k) {
      size_t lower = 0, upper = 0;
      bool ones_below = true, ones_above = true;
      for (const Row& row : least) {
        if (row[k] > 0) ++lower, ones_below &= row[k] == 1;
        if (row[k] < 0) ++upper, ones_above &= row[k] == -1;
      }
      if (lower == 0) continue;
      const bool exact = ones_below || ones_above;
      if (any && (best_exact > exact || (best_exact == exact && made <= lower * upper))) continue;
      best = k, made = lower * upper, best_exact = exact, any = true;
    }
    if (made > kMostRows) throw Beyond{};
    return {best, best_exact};
  }

  Solvable eliminate(const std::vector<Row>& least) {
    const auto [k, exact] = cheapest(least);
    std::vector<Row> rest, lower, upper;
    for (const Row& row : least) (row[k] == 0 ? rest : row[k] > 0 ? lower : upper).push_back(row);
    const Solvable real = solve({}, shadow(rest, lower, upper, k, false));
    if (exact || real == Solvable::no) return real;
    if (solve({}, shadow(rest, lower, upper, k, true)) == Solvable::yes) return Solvable::yes;
    Number most = 1;
    for (const Row& u : upper) most = std::max(most, -u[k]);
    for (const Row& l : lower) {
      const Number last = floored(plus(times(l[k], most), -plus(l[k], most)), most);
      for (Number i = 0; i <= last; ++i) {
        Row near(l);
        near.back() = plus(near.back(), -i);
        if (solve({near}, least) == Solvable::yes) return Solvable::yes;
      }
    }
    return Solvable::no;
  }

  static std::vector<Row> shadow(const std::vector<Row>& rest, const std::vector<Row>& lower,
                                 const std::vector<Row>& upper, size_t k, bool dark) {
    std::vector<Row> out(rest);
    for (const Row& l : lower) {
      for (const Row& u : upper) {
        const Number a = l[k], b = -u[k];
        Row row(l.size());
        for (size_t i = 0; i < row.size(); ++i) row[i] = plus(times(b, l[i]), times(a, u[i]));
        if (dark) row.back() = plus(row.back(), -times(a - 1, b - 1));
        out.push_back(std::move(row));
      }
    }
    return out;
  }

  size_t& effort_;
};

}  // namespace

void Inequalities::at_least_zero(const std::vector<Term>& terms, Number constant) {
  Row row(variables_ + 1, 0);
  for (const auto& [variable, coefficient] : terms) row[variable] += coefficient;
  row[variables_] = constant;
  rows_.push_back(std::move(row));
}

Solvable Inequalities::solve(size_t& effort) const {
  try {
    return Omega(effort).solve({}, rows_);
  } catch (const Beyond&) {
    return Solvable::unknown;
  }
}

}  // namespace whence
