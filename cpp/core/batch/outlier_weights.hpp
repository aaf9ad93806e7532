// Weights that take outliers out of a least squares fit, iterated (Suykens et al. 2002).
#pragma once

#include <functional>

#include "core/base/types.hpp"

namespace kernsift {

// The median in which a row of weight w counts as w rows.
double weighted_median(const ConstVectorRef& values, const ConstVectorRef& weight);

// One weight in [1e-4, 1] a row, from residuals (rows, outputs); with several outputs the row's worst residual counts.
Vector outlier_weights(const ConstMatrixRef& residuals, const ConstVectorRef& weight);

struct RobustWeights {
  Vector factor;  // of each row's weight
  double change;  // of the last round: above kSettled where the rounds ran out
};
constexpr double kSettled = 1e-3;

// Factors in agreement with the residuals of the fit that they make; `fit` gives the residuals for weights.
RobustWeights robust_weights(const std::function<Matrix(const Vector&)>& fit, const ConstVectorRef& weight, int rounds);

}  // namespace kernsift
