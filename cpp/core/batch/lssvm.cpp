#include "core/batch/lssvm.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <limits>

#include "core/base/interrupt.hpp"
#include "core/base/multiply.hpp"
#include "core/kernel/gram.hpp"
#include "core/linalg/symmetric_eigen.hpp"
#include "core/ridge/joint_variance.hpp"
#include "core/ridge/leave_one_out.hpp"

namespace kernsift {

namespace {

// V^1/2 K V^1/2 of all rows, lower triangle, in the top n rows of `storage`.
void scaled_gram(const Kernel& kernel, const Rows& X, const Vector& s, Matrix& storage) {
  const Index n = X.rows();
  PreparedRows rows;
  kernel.prepare(X, rows);
  gram_lower(kernel, rows, storage);
  for (Index j = 0; j < n; ++j) storage.col(j).segment(j, n - j).array() *= s[j] * s.segment(j, n - j).array();
}

}  // namespace

bool solve_dense(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& v, double mu, bool bias,
                 DenseSolution& out) {
  const Index n = X.rows(), outputs = Y.cols();
  const Vector s = v.cwiseSqrt();
  scaled_gram(kernel, X, s, out.factor);
  MatrixRef A = out.factor.topRows(n);
  A.diagonal().array() += mu;  // [ISLS 2]: mu = 1/(2 gamma) belongs to (1), not the printed 1/gamma
  const Eigen::LLT<MatrixRef, Eigen::Lower> factorisation(A);
  if (factorisation.info() != Eigen::Success) return false;
  Matrix right(n, outputs + 1);  // V^1/2 [y, 1]
  right.leftCols(outputs) = Y.array().colwise() * s.array();
  right.col(outputs) = s;
  Matrix solved = right;
  factorisation.solveInPlace(solved);
  const auto u = solved.col(outputs);
  out.intercept = Vector::Zero(outputs);
  if (bias) {
    out.intercept = (solved.leftCols(outputs).transpose() * s) / s.dot(u);
    for (Index o = 0; o < outputs; ++o) solved.col(o) -= out.intercept[o] * u;
  }
  // min J = mu alpha'(y - b), since e = mu V^-1 alpha and w.phi = K alpha
  out.cost.resize(outputs);
  for (Index o = 0; o < outputs; ++o) out.cost[o] = mu * solved.col(o).dot(right.col(o) - out.intercept[o] * s);
  out.alpha = solved.leftCols(outputs).array().colwise() * s.array();
  return solved.allFinite();
}

Vector dense_slack(const ConstMatrixRef& factor, const ConstVectorRef& v, double mu, bool bias) {
  const Index n = v.size();
  const auto L = factor.topRows(n);
  Vector diagonal(n);  // of A^-1: squared norms of the columns of L^-1, a block of columns at a time
  constexpr Index kBlock = 64;
  Matrix columns;
  for (Index first = 0; first < n; first += kBlock) {
    check_interrupt();
    const Index count = std::min(kBlock, n - first), rest = n - first;
    columns.setZero(rest, count);
    columns.topRows(count).setIdentity();
    L.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>().solveInPlace(columns);
    diagonal.segment(first, count) = columns.colwise().squaredNorm();
  }
  if (bias) {
    const Vector s = v.cwiseSqrt();
    Vector u = s;
    L.triangularView<Eigen::Lower>().solveInPlace(u);
    L.transpose().triangularView<Eigen::Upper>().solveInPlace(u);
    diagonal.array() -= u.array().square() / s.dot(u);
  }
  return mu * diagonal;  // [MATH 6.1]: alpha_i / [M^-1]_ii = e_i / (mu N_ii)
}

void dense_variance(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& factor, const ConstVectorRef& v,
                    bool bias, const Rows& X, VectorRef out) {
  const Index n = vectors.rows();
  const auto L = factor.topRows(n).triangularView<Eigen::Lower>();
  const Vector s = v.cwiseSqrt();
  PreparedRows elements, rows;
  kernel.prepare(vectors, elements);
  kernel.prepare(X, rows);
  const Panels panels = panels_of(elements, 0, n, kernel.n_features());
  Vector half = s;  // L^-1 s
  L.solveInPlace(half);
  constexpr Index kTile = 64;
  Matrix padded, K(n, kTile);
  for (Index first = 0; first < X.rows(); first += kTile) {
    check_interrupt();
    const Index count = std::min(kTile, X.rows() - first);
    auto k = K.leftCols(count);
    kernel_columns(kernel, panels, rows, first, count, padded, k);
    k.array().colwise() *= s.array();
    L.solveInPlace(k);
    for (Index r = 0; r < count; ++r) {
      double variance = kernel.self(rows, first + r) - k.col(r).squaredNorm();
      if (bias) {
        const double gap = 1.0 - half.dot(k.col(r));
        variance += gap * gap / half.squaredNorm();
      }
      out[first + r] = std::max(variance, 0.0);
    }
  }
}

Matrix dense_covariance(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& factor,
                        const ConstVectorRef& v, double mu, bool bias, const Rows& X) {
  const auto L = factor.topRows(vectors.rows()).triangularView<Eigen::Lower>();
  const Vector s = v.cwiseSqrt();
  PreparedRows elements, rows;
  kernel.prepare(vectors, elements);
  kernel.prepare(X, rows);
  Matrix padded, W(vectors.rows(), X.rows());
  kernel_columns(kernel, panels_of(elements, 0, vectors.rows(), kernel.n_features()), rows, 0, X.rows(), padded, W);
  W.array().colwise() *= s.array();
  L.solveInPlace(W);
  Matrix out = Matrix::Zero(X.rows(), X.rows());
  if (bias) {
    Vector half = s;  // L^-1 s
    L.solveInPlace(half);
    const Vector gap = Vector::Ones(X.rows()) - W.transpose() * half;
    out = gap * gap.transpose() / (half.squaredNorm() * mu);
  }
  add_beyond_span(kernel, X, W, mu, out);
  return out;
}

double dense_log_det(const ConstMatrixRef& factor, const ConstVectorRef& v, double mu, bool bias) {
  const Index n = v.size();
  const auto L = factor.topLeftCorner(n, n);
  double out = 2.0 * L.diagonal().array().log().sum() - static_cast<double>(n) * std::log(mu);
  if (bias) {
    Vector half = v.cwiseSqrt();  // L^-1 s
    L.triangularView<Eigen::Lower>().solveInPlace(half);
    out += std::log(mu * half.squaredNorm());
  }
  return out;
}

Vector dense_loo_grid(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& v,
                      const ConstVectorRef& part, const ConstVectorRef& mus, bool bias) {
  const Index n = X.rows();
  const Vector s = v.cwiseSqrt();
  Matrix Q;
  scaled_gram(kernel, X, s, Q);
  Q.conservativeResize(n, n);
  const SymmetricEigen eigen(std::move(Q));
  Vector errors = Vector::Constant(mus.size(), std::numeric_limits<double>::quiet_NaN());
  if (!eigen.sound()) return errors;
  const Matrix& vectors = eigen.eigenvectors();
  const Vector values = eigen.eigenvalues().cwiseMax(0.0);
  const Matrix scaled = Y.array().colwise() * s.array();
  const Vector q_s = vectors.transpose() * s;
  const Matrix q_y = product(vectors.transpose(), scaled);
  const Matrix G = (values.replicate(1, mus.size()).rowwise() + mus.transpose()).cwiseInverse();  // 1 / (lambda + mu)
  const Matrix diagonals = product(Matrix(vectors.cwiseAbs2()), G);  // of A^-1, a column a mu
  for (Index k = 0; k < mus.size(); ++k) {
    const auto g = G.col(k);
    Matrix z = product(vectors, Matrix(q_y.array().colwise() * g.array()));
    Vector N = diagonals.col(k);
    if (bias) {
      const Vector u = vectors * g.cwiseProduct(q_s);
      const double su = s.dot(u);
      z -= u * (s.transpose() * z / su);
      N.array() -= u.array().square() / su;
    }
    if (!(N.minCoeff() > 0)) continue;
    // v_i loo_i^2 with loo_i = e_i / (1 - part_i h_i), e_i = mu z_i / sqrt(v_i), h_i = 1 - mu N_ii [MATH LOO]
    const Vector slack = slack_of_part(mus[k] * N.array(), part.array());
    errors[k] = mus[k] * mus[k] * (z.array().colwise() / slack.array()).square().sum() / sum_of(v);
  }
  return errors;
}

}  // namespace kernsift
