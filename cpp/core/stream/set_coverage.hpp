// How improbable the own class of a row may be: by probabilities given before the rows were learned. z is the log odds
// against the own class, ln((1 - p) / p), within +-20.
//
//   s2 <- r s2 + z^2, n <- r n + 1, r = 0.99            size of a step: g = 0.03 max(1, sqrt(s2 / n))
//   u_c <- u_c + g (c - [z <= u_c])                     bound of level c                              [BEYOND B14]
//
// A set that takes every class with z <= u_c contains, in the long run, the own class of a part c of the rows, whatever
// the stream does: as of Coverage's bounds, but for odds, of which small and large values are alike.
#pragma once

#include "core/base/types.hpp"
#include "core/ridge/temperature.hpp"
#include "core/stream/coverage.hpp"

namespace kernsift {

class SetCoverage {
 public:
  static constexpr Index kNumbers = 2 + kCoverageLevelCount;  // s2, n, a bound for each level
  // As if one row had had odds of e, and every class of a probability of 1 - c were in a set.
  static Vector fresh();

  explicit SetCoverage(const ConstVectorRef& state);
  const Vector& state() const { return state_; }

  // A row was learned of whose class this probability was said before.
  void learn(double probability);
  // Classes of this probability or more are in a set of this coverage: between two levels on the line of their odds,
  // and beyond the last two on the same line.
  double least_probability(double coverage) const;

 private:
  Vector state_;
};

// What a stream learns from scores given before each row was learned (n x classes, targets +-1): the temperature, then
// how improbable the own class may be. `states` is all of it, log T, its information and SetCoverage's numbers: before
// each row and, in row n, after the last; its first row is what was there.
void learn_odds(const Rows& scores, const Rows& targets, const ConstVectorRef& weights, RowsOut states);

}  // namespace kernsift
