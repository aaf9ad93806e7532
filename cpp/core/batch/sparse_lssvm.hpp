// Improved sparse LS-SVM (Cawley & Talbot 2002; MATH 6.3): few kernels, the residuals of all rows.
//
//   min over (beta, b):  sum_i v_i (y_i - k_S(x_i)'beta - b)^2 + mu beta'K_SS beta
//
// in coordinates that never divide by a small number. With K_SS = L L', coordinates z = L^-1 k_S(x) centred by their
// weighted mean (which eliminates the bias), and Zc'V Zc + mu I = G G':
//   P = Kc'V Kc + mu K_SS = F F',  F = L G      the state of MATH 1.2 with C^-1 = G G' multiplied into L
//   T = Kc F^-T = Zc G^-T          rows x n: orthonormal directions of the fit, one a column
//   t = T'V yc,  beta = F^-T t,    fitted = ybar + T t,   leverage of row i: v_i (1/sum v + |T_i|^2)
// Removing kernel i rotates it last in F; its direction leaves T, and the cost rises by the square of the last t.
// An explicit H^-1 downdated instead is wrong by tens of per cent (MATH 6.3).
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"
#include "core/select/pruning_path.hpp"

namespace kernsift {

// A first basis S_0 among candidate rows, and the coordinates of all rows in its span.
class SparseBasis {
 public:
  // Candidates (row numbers of X) whose distance to the span of the others taken is below 1e-12 of the largest
  // k(x,x) are left out: exact and near duplicates. Unpivoted, all of them are taken in the order given, which must
  // be one in which they are independent.
  SparseBasis(const Kernel& kernel, const Rows& X, std::vector<Index> candidates, bool pivot);

  Index size() const { return L_.rows(); }
  const std::vector<Index>& rows() const { return rows_; }  // row numbers, as pivoted
  const Matrix& factor() const { return L_; }
  const Matrix& coordinates() const { return Z_; }  // rows of X x size

 private:
  std::vector<Index> rows_;
  Matrix L_, Z_;
};

// The solution on one basis for one V and mu.
struct SparseSolution {
  Matrix F;         // lower, P = F F'
  Matrix t;         // n x outputs
  Matrix residual;  // rows x outputs
  Vector slack;     // 1 - v_i h_i: the leave-one-out residual is residual / slack
  Vector cost;      // per output
  Vector mean;      // weighted mean of k_S over the rows (0 without a bias)
  Vector y_mean;    // per output
  // T in panels of kRowPanel rows, n columns each: what one rotation touches stays in the first cache
  Matrix directions;

  Matrix beta() const;
  Vector intercept() const;
};

constexpr Index kRowPanel = 32;

// False where alpha is too small against the rest for the arithmetic.
bool solve_sparse(const SparseBasis& basis, const Rows& Y, const ConstVectorRef& v, double mu, bool bias,
                  SparseSolution& out);

// Weighted mean square of the leave-one-out residuals on this basis, for every mu, from one eigen-decomposition;
// `part` as in `dense_loo_grid`.
Vector sparse_loo_grid(const SparseBasis& basis, const Rows& Y, const ConstVectorRef& v, const ConstVectorRef& part,
                       const ConstVectorRef& mus, bool bias);

// The reduction path from the solution (which is used up): every recorded size is the exact minimum on its kernels.
PruningPath isls_path(const SparseBasis& basis, SparseSolution start, const ConstVectorRef& v,
                      const ConstVectorRef& part, const PruningOptions& options);

// In units of the prior at new rows: spread = the variance inside the span (the bias's share too), and the squared
// distance delta from the span. `mean` is that of the solution and `total` the sum of the weights, 0 without a bias.
void sparse_variance(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& L, const ConstMatrixRef& F,
                     const ConstVectorRef& mean, double total, const Rows& X, VectorRef spread, VectorRef delta);

// Covariance of new observations at the rows, without their noise, in its units.
Matrix sparse_covariance(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& L, const ConstMatrixRef& F,
                         const ConstVectorRef& mean, double total, double mu, const Rows& X);

}  // namespace kernsift
