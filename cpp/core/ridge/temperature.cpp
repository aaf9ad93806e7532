#include "core/ridge/temperature.hpp"

#include <algorithm>
#include <cmath>

namespace kernsift {

namespace {

constexpr double kMemory = 0.999;     // early scores come from a model that knew less
constexpr double kLargestStep = 0.5;  // in log T
constexpr double kLogRange = 7.0;     // log T is within plus or minus this
// Four digits of T: the optimum is flat, and left-out scores of nearly interpolated rows carry no more. A search by
// halves ends on fixed points, so rounding in the scores does not show in the probabilities.
constexpr double kLogStep = 1e-4;

Index classes(const Rows& scores) { return scores.cols() == 1 ? 2 : scores.cols(); }

// The scores of a row, one a class.
void scores_of(const Rows& scores, Index r, Vector& f) {
  if (scores.cols() == 1)
    f << -scores(r, 0), scores(r, 0);
  else
    f = scores.row(r).transpose();
}

void softmax_of(const Vector& f, double t, Vector& p) {
  p = (t * (f.array() - f.maxCoeff())).exp();
  p /= p.sum();
}

}  // namespace

void softmax(const Rows& scores, double temperature, RowsOut out) {
  Vector f(classes(scores)), p(classes(scores));
  for (Index r = 0; r < scores.rows(); ++r) {
    scores_of(scores, r, f);
    softmax_of(f, temperature, p);
    out.row(r) = p.transpose();
  }
}

double fit_temperature(const Rows& scores,
                       const Eigen::Ref<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>>& codes,
                       const ConstVectorRef& weight) {
  Vector f(classes(scores)), p(classes(scores));
  const auto slope = [&](double log_t) {  // of the loss, in log T
    const double t = std::exp(log_t);
    double sum = 0;
    for (Index r = 0; r < scores.rows(); ++r) {
      scores_of(scores, r, f);
      softmax_of(f, t, p);
      sum += weight[r] * (p.dot(f) - f[codes[r]]);
    }
    return t * sum + log_t;
  };
  if (slope(-kLogRange) >= 0) return std::exp(-kLogRange);
  if (slope(kLogRange) <= 0) return std::exp(kLogRange);
  double low = -kLogRange, high = kLogRange;
  while (high - low > kLogStep) {
    const double middle = 0.5 * (low + high);
    (slope(middle) < 0 ? low : high) = middle;
  }
  return std::exp(0.5 * (low + high));
}

double Temperature::learn(const Rows& scores, const Rows& targets, double weight) {
  f.resize(classes(scores));
  p.resize(classes(scores));
  Index truth = 0;
  if (scores.cols() == 1)
    truth = targets(0, 0) > 0 ? 1 : 0;
  else
    targets.row(0).maxCoeff(&truth);
  const double t = std::exp(log_t);
  scores_of(scores, 0, f);
  softmax_of(f, t, p);
  const double mean = p.dot(f);
  const double variance = p.dot((f.array() - mean).square().matrix());
  information = kMemory * information + weight * t * t * variance;
  const double step = weight * t * (mean - f[truth]) / std::max(information, 1e-12);
  log_t = std::clamp(log_t - std::clamp(step, -kLargestStep, kLargestStep), -kLogRange, kLogRange);
  return p[truth];
}

}  // namespace kernsift
