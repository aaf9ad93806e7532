#include "core/stream/set_coverage.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kernsift {

namespace {
constexpr double kMostOdds = 20;  // in logarithms: beyond, one row must not decide

double log_odds(double p) { return std::log(p) - std::log1p(-p); }
}  // namespace

Vector SetCoverage::fresh() {
  Vector state = Vector::Ones(kNumbers);
  for (Index c = 0; c < kCoverageLevelCount; ++c) state[2 + c] = log_odds(kCoverageLevels[c]);
  return state;
}

SetCoverage::SetCoverage(const ConstVectorRef& state) : state_(state) {}

void SetCoverage::learn(double probability) {
  const double z = std::clamp(-log_odds(probability), -kMostOdds, kMostOdds);
  const double step = kCoverageStep * std::max(1.0, std::sqrt(state_[0] / state_[1]));
  for (Index c = 0; c < kCoverageLevelCount; ++c)
    state_[2 + c] += step * (kCoverageLevels[c] - (z <= state_[2 + c] ? 1.0 : 0.0));  // [BEYOND B14]
  state_[0] = kCoverageKept * state_[0] + z * z;
  state_[1] = kCoverageKept * state_[1] + 1.0;
}

double SetCoverage::least_probability(double coverage) const {
  const Index above = std::clamp<Index>(
      std::lower_bound(std::begin(kCoverageLevels), std::end(kCoverageLevels), coverage) - std::begin(kCoverageLevels),
      1, kCoverageLevelCount - 1);
  const double from = log_odds(kCoverageLevels[above - 1]), to = log_odds(kCoverageLevels[above]);
  const double along = (log_odds(coverage) - from) / (to - from);
  const double low = state_[2 + above - 1], high = std::max(state_[2 + above], low);
  const double bound = low + along * (high - low);
  return bound >= kMostOdds ? 0.0 : 1.0 / (1.0 + std::exp(bound));
}

void learn_odds(const Rows& scores, const Rows& targets, const ConstVectorRef& weights, RowsOut states) {
  Temperature temperature;
  temperature.log_t = states(0, 0);
  temperature.information = states(0, 1);
  SetCoverage sets(states.row(0).tail(SetCoverage::kNumbers).transpose());
  for (Index r = 0; r < scores.rows(); ++r) {
    if (weights[r] > 0) sets.learn(temperature.learn(scores.row(r), targets.row(r), weights[r]));
    states.row(r + 1) << temperature.log_t, temperature.information, sets.state().transpose();
  }
}

}  // namespace kernsift
