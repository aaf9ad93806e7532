// What the variance of one new observation is made of, for several together: their covariance, in units of the noise,
// is
//   I + w'C w' + (k(x, x') - w'w') / alpha                                                                  [MATH 1.9]
// with the diagonal that a model gives each alone.
#pragma once

#include "core/kernel/kernels.hpp"

namespace kernsift {

// Adds (k(x, x') - w'w') / alpha for rows X of coordinates W, a column each, in an orthonormal basis of the kernels'
// span. Of what is in `out` the lower triangle counts; the result is symmetric to the bit.
void add_beyond_span(const Kernel& kernel, const Rows& X, const ConstMatrixRef& W, double alpha, MatrixRef out);

// Makes a matrix symmetric to the bit, by its lower triangle: rounding of products is not.
void mirror_lower(MatrixRef out);

}  // namespace kernsift
