// Noise that depends on the input: log s^2(x) = b + w(x)'theta + f(x)'c, a second posterior on a span and on the
// predictions f, from standardised errors of rows left out [MATH 6.4].
#pragma once

#include "core/base/types.hpp"

namespace kernsift {

struct NoiseField {
  Matrix coef;       // (m, outputs): of kernels, L^-T theta
  Matrix slopes;     // (predictions, outputs): c
  Vector intercept;  // (outputs)
  Matrix level;      // (rows, outputs): log s^2 at each row
  Matrix left_out;   // and without the row
  double alpha = 0;  // the ridge of the smallest GCV of the logarithms, common to the outputs
};

// Squared errors below this part of their mean count as that part, and those above kMostSquares s^2 as that many.
constexpr double kLeastSquare = 1.0 / 400.0, kMostSquares = 9.0;
// -E log of the square of a standard normal number: by how much a mean of logarithms is below the logarithm of a mean.
constexpr double kLogSquare = 1.2703628454614782;
// Variance of what a step of scoring fits over that of logarithms, and so of their ridges.
constexpr double kLessNoise = 2.0 / 4.934802200544679;  // pi^2 / 2
// Steps of scoring after the fit to logarithms.
constexpr int kNoiseRounds = 2;

// W (rows, m): coordinates of rows in the span of L; predictions f (rows, any number), which enter in units of their
// standard deviations; scores (rows, outputs): standardised errors; weights (rows) > 0. Every output needs an error
// that is not zero.
NoiseField noise_field(const Rows& W, const Rows& L, const Rows& predictions, const Rows& scores,
                       const ConstVectorRef& weights);
double noise_field_memory(Index m, Index rows, Index outputs);  // doubles, W not counted

}  // namespace kernsift
