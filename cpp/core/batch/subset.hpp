// Subset of regressors: least squares on a fixed basis from sums over the rows, in blocks of bounded memory.
//
//   minimise  sum_i v_i |y_i - b - w(x_i)'theta|^2 + alpha |theta|^2,     w(x) = L^-1 k_m(x)        [MATH 1.2]
//
// The rows enter only through  M = sum v w w',  z = sum v w y',  s = sum v w,  sum v y,  sum v |y|^2,  sum v:  sums
// over disjoint sets of rows add, in any order, and the model follows from the sum [MATH 1.11].
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"

namespace kernsift {

// y enters as y - offset, so that a large common offset cancels nothing in sum v |y|^2. M lies where the caller wants
// it: of a large one the lower triangle of a square is enough, and the factor of the basis can have the rest.
struct NormalSums {
  NormalSums(MatrixRef M, Index outputs);  // all zero
  void add(const NormalSums& other);       // of other rows

  MatrixRef M;     // (m, m), lower triangle
  Matrix z;        // (m, outputs)
  Vector s;        // (m)
  Vector y, yy;    // (outputs): sum v y, sum v y^2
  double weight = 0;
};

// Factors L are taken as numpy has them, row after row: a copy of a large one would be missed elsewhere.

// Adds the rows to sums in kernel coordinates (k in the place of w), or in w if a factor L is given (m x m; an empty
// one means kernel coordinates). offset: (outputs).
void accumulate(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, const Rows& Y,
                const ConstVectorRef& weight, const ConstVectorRef& offset, int threads, NormalSums& sums);

// M <- L^-1 M L^-T, z <- L^-1 z, s <- L^-1 s: from kernel coordinates to orthonormal ones.
void whiten(const Rows& L, int threads, NormalSums& sums);

// How much the rounding of sums in kernel coordinates grows on the way to orthonormal ones, relative to M: the
// condition of K = L L', by a few power iterations.
double whitening_growth(const Rows& L);

// The eigenvalues of sum v (w - mean)(w - mean)' (of M without intercept), ascending, and Q'z in its eigenvectors:
// what GCV, the evidence and every alpha need.
struct Spectrum {
  Vector values;
  Matrix vectors, projected;
};
Spectrum spectrum(const ConstMatrixRef& M, const ConstMatrixRef& z);

// A <- R, RR' = M - ss'/weight + alpha I, of the sums M of rows of that weight in the lower triangle of A; weight 0
// means no intercept. False where it is not positive definite to working precision.
bool factor_ridge(MatrixRef A, const ConstVectorRef& s, double weight, double alpha, int threads);

// Leave-one-out of the model with the basis fixed. A row of weight v leaves one unit of it (all of it if v < 1), which
// is what refitting gives when the row stands v times in the table. [MATH LOO]
struct LeaveOneOut {
  // T = Q'L^-1 and shift = Q'mean: u = T k(x) - shift are centred coordinates in which the ridge is diagonal.
  ConstMatrixRef T;
  ConstVectorRef shift, values;
  ConstMatrixRef projected;
  ConstVectorRef mean_y;
  double bias_leverage;  // 1 / sum v, or 0 without intercept

  // For each alpha the sum over rows and outputs of v e^2, e the residual of the row when left out.
  Vector errors(const Kernel& kernel, const Panels& elements, const Rows& X, const Rows& Y,
                const ConstVectorRef& weight, const ConstVectorRef& alphas) const;
};

// w(x) of rows, (rows, m).
void basis_coordinates(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, RowsOut out);

// Over-select, then delete (BEYOND 2): from the elements of G = K'VK and K_mm those that cost least go,
// max(1, fraction of what is there) at a time, until `target` are left [BEYOND B4]. The cost of one deletion is
// beta_i^2 / [P^-1]_ii, P = G - ss'/v + alpha K_mm. Answers the elements from the first deleted to the last, then
// those that stay, in their order. G and K: lower triangles, overwritten.
std::vector<Index> deletion_order(MatrixRef G, MatrixRef K, Matrix z, double alpha, Index target, double fraction);

}  // namespace kernsift
