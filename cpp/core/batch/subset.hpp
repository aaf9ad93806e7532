// Subset of regressors: least squares on a fixed basis from sums over the rows, in blocks of bounded memory.
//
//   minimise  sum_i v_i |y_i - b - w(x_i)'theta|^2 + alpha |theta|^2,     w(x) = L^-1 k_m(x)        [MATH 1.2]
//
// The rows enter only through  M = sum v w w',  z = sum v w y',  s = sum v w,  sum v y,  sum v |y|^2,  sum v:  sums
// over disjoint sets of rows add, in any order, and the model follows from the sum [MATH 1.11].
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"
#include "core/ridge/ridge_problem.hpp"

namespace kernsift {

// y enters as y - offset, so that a large common offset cancels nothing in sum v |y|^2. M lies where the caller wants
// it: of a large one the lower triangle of a square is enough, and the factor of the basis can have the rest.
struct NormalSums {
  NormalSums(MatrixRef M, Index outputs);  // all zero
  void add(const NormalSums& other);       // of other rows

  MatrixRef M;   // (m, m), lower triangle
  Matrix z;      // (m, outputs)
  Vector s;      // (m)
  Vector y, yy;  // (outputs): sum v y, sum v y^2
  double weight = 0;
};

// Factors L are taken as numpy has them, row after row: a copy of a large one would be missed elsewhere.

// Adds the rows to sums in kernel coordinates (k in the place of w), or in w if a factor L is given (m x m; an empty
// one means kernel coordinates). offset: (outputs).
void accumulate(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, const Rows& Y,
                const ConstVectorRef& weight, const ConstVectorRef& offset, int threads, NormalSums& sums);

// Doubles it takes for n rows on m kernels, M not counted.
double accumulate_memory(Index m, Index n, Index d, Index outputs, int threads);

// M <- L^-1 M L^-T, z <- L^-1 z, s <- L^-1 s: from kernel coordinates to orthonormal ones.
void whiten(const Rows& L, int threads, NormalSums& sums);

// How much the rounding of sums in kernel coordinates grows on the way to orthonormal ones, relative to M: the
// condition of K = L L', by a few power iterations.
double whitening_growth(const Rows& L);

// --- the model: a problem from sums of these rows' coordinates, and rows themselves ---

// For each alpha the sum over rows and outputs of v e^2, e the residual of a row when left out, the basis fixed
// [MATH LOO].
Vector left_out_errors(RidgeProblem& problem, const Kernel& kernel, const Panels& elements, const Rows& L,
                       const Rows& X, const Rows& Y, const ConstVectorRef& weight, const ConstVectorRef& alphas);
// Errors of (few) rows when `leaves` of their weight is left out, for one alpha, and the variance of the model there in
// units of the noise's. With a row goes the kernel `own` on it, if that is not negative.
void leave_out(RidgeProblem& problem, const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X,
               const Rows& Y, const ConstVectorRef& leaves, const std::vector<Index>& own, double alpha, RowsOut errors,
               VectorRef variance);
// The variance of a new observation at each row, in units of the noise variance: of the model, of what the basis does
// not span there, and of the noise.
void relative_variance(RidgeProblem& problem, const Kernel& kernel, const Panels& elements, const Rows& L,
                       const Rows& X, double alpha, int threads, VectorRef out);

// The covariance of new observations at the rows, without their noise, in its units.
Matrix relative_covariance(RidgeProblem& problem, const Kernel& kernel, const Panels& elements, const Rows& L,
                           const Rows& X, double alpha);

// w(x) of rows, (rows, m).
void basis_coordinates(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, RowsOut out);
double basis_coordinates_memory(Index m);  // doubles, the result not counted

}  // namespace kernsift
