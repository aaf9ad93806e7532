// How wide the intervals of a stream must be: by errors made before their rows were learned, in units of the standard
// deviation predicted for them. Per output:
//
//   s2 <- r s2 + z^2, n <- r n + 1, r = 0.99            scale = sqrt(s2 / n): by how much deviations were too small
//   b_c <- b_c exp(0.03 (c - [|z| <= scale b_c]))       bound of level c                              [BEYOND B13]
//
// b_c rises with a miss and falls with a hit, in the ratio at which neither wins when a part c of the rows are hits. It
// stays within a bounded range as long as errors do, so that in the long run a part c of them are hits, whatever the
// stream does (adaptive conformal inference: Gibbs and Candes 2021, in logarithms).
#pragma once

#include "core/base/arrays.hpp"
#include "core/base/types.hpp"

namespace kernsift {

// Levels whose bounds a stream follows, and how fast; SetCoverage does the same.
inline constexpr double kCoverageLevels[] = {0.5, 0.8, 0.9, 0.95, 0.99};
inline constexpr Index kCoverageLevelCount = 5;
inline constexpr double kCoverageStep = 0.03, kCoverageKept = 0.99;

class Coverage {
 public:
  explicit Coverage(Index n_outputs);

  // A row was learned of which `error` and `variance` were said before, one an output. Outputs of which nothing was
  // known (no variance but rounding) learn nothing.
  void learn(const ConstVectorRef& error, const ConstVectorRef& variance);
  // Standard deviations of an interval to either side, an output each, of the coverage whose normal quantile is given:
  // between two levels on the line of their quantiles, beyond the last in proportion.
  Vector width(double quantile) const;

  // Where the next errors are not those of predictions (a second pass), nothing is learned.
  void pause(bool paused) { paused_ = paused; }

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

 private:
  Matrix state_;  // outputs x (s2, n, bounds)
  bool paused_ = false;
};

}  // namespace kernsift
