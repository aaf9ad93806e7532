// Pruning scores as they would be after a growing step, shared by both engines.
#pragma once

#include "core/stream/row_scalars.hpp"

namespace kernsift {

// eps_i = sum over outputs of beta_i^2 / d_i, the exact increase of the cost when kernel i goes [JP 19], for the
// model as it would be after growing by the row (MATH 1.7). In: beta and d before the row, g = P^-1 k (kernel part),
// a = K^-1 k, rho the a-priori residual. False where a d_i comes out non-positive: the state has broken down.
bool scores_after_growth(const RowScalars& row, const ConstMatrixRef& beta, const ConstVectorRef& d,
                         const ConstVectorRef& g, const ConstVectorRef& a, const ConstVectorRef& rho, double alpha,
                         VectorRef scores);

}  // namespace kernsift
