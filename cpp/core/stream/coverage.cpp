#include "core/stream/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kernsift {

namespace {
constexpr double kMostScore = 25;        // of z^2 over the mean so far: one outlier must not decide
constexpr double kNothingKnown = 1e-24;  // of a variance beside the squared error: nothing was known yet
// What a normal error exceeds in size with probability 1 - level.
constexpr double kNormalQuantiles[] = {0.6744897501960817, 1.2815515655446004, 1.6448536269514722, 1.959963984540054,
                                       2.5758293035489004};
constexpr Index kLevelCount = kCoverageLevelCount;
static_assert(std::size(kCoverageLevels) == kLevelCount && std::size(kNormalQuantiles) == kLevelCount);

void begin_output(Eigen::Ref<Eigen::RowVectorXd, 0, Eigen::InnerStride<>> state) {
  state.head(2).setOnes();  // as if one error had been as large as predicted
  for (Index c = 0; c < kLevelCount; ++c) state[2 + c] = kNormalQuantiles[c];
}
}  // namespace

Coverage::Coverage(Index n_outputs) : state_(n_outputs, 2 + kLevelCount) {
  for (Index o = 0; o < n_outputs; ++o) begin_output(state_.row(o));
}

void Coverage::learn(const ConstVectorRef& error, const ConstVectorRef& variance) {
  if (paused_) return;
  static const auto factors = [] {
    Eigen::Array<double, kLevelCount, 2> out;
    for (Index c = 0; c < kLevelCount; ++c) {
      out(c, 0) = std::exp(kCoverageStep * kCoverageLevels[c]);          // a miss
      out(c, 1) = std::exp(kCoverageStep * (kCoverageLevels[c] - 1.0));  // a hit
    }
    return out;
  }();
  for (Index o = 0; o < state_.rows(); ++o) {
    if (!(variance[o] > kNothingKnown * error[o] * error[o])) continue;
    const double mean = state_(o, 0) / state_(o, 1), z2 = error[o] * error[o] / variance[o] / mean;
    if (!std::isfinite(z2)) continue;
    for (Index c = 0; c < kLevelCount; ++c) {
      double& bound = state_(o, 2 + c);
      bound *= factors(c, z2 <= bound * bound ? 1 : 0);  // [BEYOND B13]
    }
    state_(o, 0) = kCoverageKept * state_(o, 0) + std::min(z2, kMostScore) * mean;
    state_(o, 1) = kCoverageKept * state_(o, 1) + 1.0;
  }
}

Vector Coverage::width(double quantile) const {
  Vector out(state_.rows());
  const Index above = std::lower_bound(std::begin(kNormalQuantiles), std::end(kNormalQuantiles), quantile) -
                      std::begin(kNormalQuantiles);
  for (Index o = 0; o < state_.rows(); ++o) {
    const auto bound = [&](Index c) { return state_(o, 2 + c); };
    double in_scale;
    if (above == 0 || above == kLevelCount) {
      const Index c = std::min(above, kLevelCount - 1);
      in_scale = bound(c) * quantile / kNormalQuantiles[c];
    } else {
      const double along =
          (quantile - kNormalQuantiles[above - 1]) / (kNormalQuantiles[above] - kNormalQuantiles[above - 1]);
      in_scale = (1.0 - along) * bound(above - 1) + along * std::max(bound(above), bound(above - 1));
    }
    out[o] = std::sqrt(state_(o, 0) / state_(o, 1)) * in_scale;
  }
  return out;
}

void Coverage::save(Arrays& arrays) const { arrays.put("coverage", state_); }

void Coverage::load(const Arrays& arrays) {
  if (arrays.items().count("coverage") == 0) return;  // the state of an earlier version
  state_ = arrays.get("coverage", state_.rows(), state_.cols());
  for (Index o = 0; o < state_.rows(); ++o)
    if (!(state_(o, 1) > 0)) begin_output(state_.row(o));  // an output that came later
}

}  // namespace kernsift
