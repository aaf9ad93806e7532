#include "core/stream/mixture.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/limits.hpp"

namespace kernsift {

namespace {
constexpr double kMemory = 0.99;
constexpr double kMostSurprise = 9;  // squares of standard deviations: one outlier must not decide
constexpr double kFarthest = 14;     // no memory falls further behind, so that it is back soon when the world jumps
}  // namespace

Mixture::Mixture(Index members, Index n_outputs)
    : log_weights_(Vector::Zero(members)),
      weights_(Vector::Constant(members, 1.0 / static_cast<double>(members))),
      squares_(Matrix::Zero(n_outputs, members)) {}

Index Mixture::heaviest() const {
  Index first = 0;
  log_weights_.maxCoeff(&first);
  return first;
}

Matrix Mixture::errors() const { return (squares_ / std::max(counted_, 1.0)).cwiseSqrt(); }

void Mixture::learn(const ConstMatrixRef& errors, double v) {
  if (size() == 1) return;
  for (Index e = 0; e < size(); ++e) {
    double surprise = 0;
    for (Index o = 0; o < squares_.rows(); ++o) {
      const double square = v * errors(o, e) * errors(o, e);
      if (square == 0 && squares_(o, e) == 0) continue;  // a class without rows says nothing of any memory
      if (counted_ > 0) {
        const double s2 = std::max(squares_(o, e) / counted_, kSmallest);
        surprise += std::log(s2) + std::min(square / s2, kMostSurprise);
      }
      squares_(o, e) = kMemory * squares_(o, e) + square;
    }
    log_weights_[e] = kMemory * log_weights_[e] - 0.5 * surprise;  // [BEYOND B9]
  }
  counted_ = kMemory * counted_ + 1.0;
  weigh();
}

void Mixture::weigh() {
  log_weights_.array() = (log_weights_.array() - log_weights_.maxCoeff()).max(-kFarthest);
  weights_ = log_weights_.array().exp();
  weights_ /= weights_.sum();
}

void Mixture::save(Arrays& arrays) const {
  arrays.put("log_weights", log_weights_);
  arrays.put("error_squares", squares_);
  arrays.put("errors_counted", counted_);
}

void Mixture::load(const Arrays& arrays) {
  if (arrays.items().count("log_weights") == 0) return;  // the state of an earlier version, of one memory
  log_weights_ = arrays.get("log_weights", size(), 1);
  squares_ = arrays.get("error_squares", squares_.rows(), size());
  counted_ = arrays.number("errors_counted");
  weigh();
}

}  // namespace kernsift
