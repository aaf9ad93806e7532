// Dense LS-SVM with bias and weights (MATH 6.1): a kernel on every row.
//
//   min  sum_i v_i (y_i - w.phi(x_i) - b)^2 + mu |w|^2        [K + mu V^-1, 1; 1', 0] [alpha; b] = [y; 0]
//
// solved as A = V^1/2 K V^1/2 + mu I, positive definite whatever repeats in the rows, with the border eliminated:
//   u = A^-1 s, z = A^-1 V^1/2 y,  s = V^1/2 1;   b = s'z / s'u;   alpha = V^1/2 (z - u b).
// With N = A^-1 - u u' / s'u the residuals are e = mu V^-1 alpha and those of leaving a row out e_i / (mu N_ii).
// `slack` is mu N_ii = 1 - v_i h_i, the part of a row's error that the row itself does not explain away.
#pragma once

#include "core/kernel/kernels.hpp"

namespace kernsift {

struct DenseSolution {
  Matrix alpha;      // rows x outputs
  Vector intercept;  // outputs
  Vector cost;       // minimum of the objective, per output
  Matrix factor;     // lower Cholesky factor of A in its top left corner, padding below
};

// False where A is not positive definite to working precision. Weights must be positive.
bool solve_dense(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& v, double mu, bool bias,
                 DenseSolution& out);

// mu N_ii from the factor of A.
Vector dense_slack(const ConstMatrixRef& factor, const ConstVectorRef& v, double mu, bool bias);

// Variance of the model at new rows, in units of the prior: k(x,x) - k'(K + mu V^-1)^-1 k, and the bias's share.
void dense_variance(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& factor, const ConstVectorRef& v,
                    bool bias, const Rows& X, VectorRef out);

// Covariance of new observations at the rows, without their noise, in its units: dense_variance over mu on the
// diagonal.
Matrix dense_covariance(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& factor,
                        const ConstVectorRef& v, double mu, bool bias, const Rows& X);

// log(|A| / mu^n), with the share of a bias: for the evidence.
double dense_log_det(const ConstMatrixRef& factor, const ConstVectorRef& v, double mu, bool bias);

// Weighted mean square of the leave-one-out residuals (summed over outputs) for every mu, from one
// eigen-decomposition of V^1/2 K V^1/2. NaN where the numbers do not allow an answer. Of a row that `part` of its
// weight leaves, 1 / v of a row that stands for v of them.
Vector dense_loo_grid(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& v,
                      const ConstVectorRef& part, const ConstVectorRef& mus, bool bias);

}  // namespace kernsift
