// Whether linear inequalities have an integer solution, by Pugh's Omega test.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace whence {

enum class Solvable { yes, no, unknown };

class Inequalities {
 public:
  __extension__ using Number = __int128;
  using Term = std::pair<size_t, Number>;  // a variable and its coefficient

  explicit Inequalities(size_t variables) : variables_(variables) {}

  // Adds: the sum of the terms and the constant is at least 0. A variable may occur twice.
  void at_least_zero(const std::vector<Term>& terms, Number constant);

  // Returns `unknown` if that needs more inequalities than `effort`, or integers of more than 127 bits. Subtracts what
  // it used from `effort`.
  Solvable solve(size_t& effort) const;

 private:
  size_t variables_;
  std::vector<std::vector<Number>> rows_;  // the coefficients, then the constant
};

}  // namespace whence
