#include "core/batch/outlier_weights.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kernsift {

namespace {
// Residuals in units of the robust scale: full weight up to the first, none to speak of from the second.
constexpr double kFull = 2.5, kNone = 3.0;
constexpr double kFloor = 1e-4;
constexpr double kConsistency = 1.483;  // 1.483 MAD estimates the standard deviation of normal noise
constexpr int kUndamped = 10;           // rounds
}  // namespace

double weighted_median(const ConstVectorRef& values, const ConstVectorRef& weight) {
  std::vector<Index> order(values.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return values[a] < values[b]; });
  Vector below(values.size());
  double sum = 0;
  for (std::size_t k = 0; k < order.size(); ++k) below[static_cast<Index>(k)] = sum += weight[order[k]];
  const auto at = [&](double half) {
    const Index k = std::lower_bound(below.data(), below.data() + below.size(), half) - below.data();
    return values[order[std::min(k, values.size() - 1)]];
  };
  return 0.5 * (at(0.5 * sum * (1 - 1e-12)) + at(0.5 * sum * (1 + 1e-12)));
}

Vector outlier_weights(const ConstMatrixRef& residuals, const ConstVectorRef& weight) {
  Vector ratio = Vector::Zero(residuals.rows());
  for (Index o = 0; o < residuals.cols(); ++o) {
    const Vector size = residuals.col(o).cwiseAbs();
    const double centre = weighted_median(residuals.col(o), weight);
    const double scale = kConsistency * weighted_median((residuals.col(o).array() - centre).abs().matrix(), weight);
    if (scale > 1e-12 * size.maxCoeff())
      ratio = ratio.cwiseMax(size / scale);  // else over half the rows are fitted exactly
  }
  return ((kNone - ratio.array()) / (kNone - kFull)).cwiseMax(kFloor).cwiseMin(1.0);
}

RobustWeights robust_weights(const std::function<Matrix(const Vector&)>& fit, const ConstVectorRef& weight,
                             int rounds) {
  RobustWeights out{Vector::Ones(weight.size()), 0};
  for (int done = 0; done < rounds; ++done) {
    const Vector next = outlier_weights(fit(weight.cwiseProduct(out.factor)), weight);
    out.change = (next - out.factor).cwiseAbs().maxCoeff();
    // A row that helps to fit itself can swing in and out for ever: half steps let it come to rest.
    out.factor = done < kUndamped ? next : Vector(0.5 * (out.factor + next));
    if (out.change <= kSettled) break;
  }
  return out;
}

}  // namespace kernsift
