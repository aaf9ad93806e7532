#include "core/ridge/temperature.hpp"

#include <algorithm>
#include <cmath>

namespace kernsift {

namespace {
constexpr double kMemory = 0.999;    // early scores come from a model that knew less
constexpr double kLargestStep = 0.5; // in log T
constexpr double kLogRange = 7.0;
}  // namespace

void Temperature::learn(const Rows& scores, const Rows& targets, const ConstVectorRef& weights) {
  const Index k = scores.cols();
  const Index classes = k == 1 ? 2 : k;
  Vector f(classes), p(classes);
  for (Index r = 0; r < scores.rows(); ++r) {
    if (!(weights[r] > 0)) continue;
    Index truth = 0;
    if (k == 1) {
      f << -scores(r, 0), scores(r, 0);
      truth = targets(r, 0) > 0 ? 1 : 0;
    } else {
      f = scores.row(r).transpose();
      targets.row(r).maxCoeff(&truth);
    }
    const double t = std::exp(log_t);
    p = (t * (f.array() - f.maxCoeff())).exp();
    p /= p.sum();
    const double mean = p.dot(f);
    const double spread = p.dot((f.array() - mean).square().matrix());
    information = kMemory * information + weights[r] * t * t * spread;
    const double step = weights[r] * t * (mean - f[truth]) / std::max(information, 1e-12);
    log_t = std::clamp(log_t - std::clamp(step, -kLargestStep, kLargestStep), -kLogRange, kLogRange);
  }
}

}  // namespace kernsift
