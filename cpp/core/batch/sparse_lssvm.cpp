#include "core/batch/sparse_lssvm.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/base/interrupt.hpp"
#include "core/base/multiply.hpp"
#include "core/kernel/gram.hpp"
#include "core/linalg/pivoted_cholesky.hpp"
#include "core/linalg/symmetric_eigen.hpp"
#include "core/ridge/joint_variance.hpp"
#include "core/ridge/leave_one_out.hpp"

namespace kernsift {

namespace {

constexpr double kRankFloor = 1e-12;  // of the largest k(x,x)
constexpr Index kSparseTile = 256;    // rows at a time

// Weighted means, zero without a bias.
struct Centre {
  Vector z, y;
  double inverse_total;  // 1 / sum v, the bias's share of every leverage

  Centre(const Matrix& Z, const Rows& Y, const ConstVectorRef& v, bool bias)
      : z(Vector::Zero(Z.cols())), y(Vector::Zero(Y.cols())), inverse_total(0) {
    if (!bias) return;
    inverse_total = 1.0 / sum_of(v);
    z = Z.transpose() * v * inverse_total;
    y = Y.transpose() * v * inverse_total;
  }
};

// Zc'V Zc, lower triangle.
Matrix cross_product(const Matrix& Z, const Centre& centre, const ConstVectorRef& v) {
  Matrix M = Matrix::Zero(Z.cols(), Z.cols()), tile;
  Vector root;
  for (Index first = 0; first < Z.rows(); first += kSparseTile) {
    check_interrupt();
    const Index count = std::min(kSparseTile, Z.rows() - first);
    root = v.segment(first, count).cwiseSqrt();
    tile.resize(count, Z.cols());
    for (Index j = 0; j < Z.cols(); ++j)
      tile.col(j) = (Z.col(j).segment(first, count).array() - centre.z[j]) * root.array();
    M.selfadjointView<Eigen::Lower>().rankUpdate(tile.transpose());
  }
  return M;
}

// The product of two lower triangles, a block of columns at a time: a third of the work of a full one.
Matrix product_of_triangles(const Matrix& L, const Matrix& G) {
  constexpr Index kBlock = 64;
  const Index n = L.rows();
  Matrix F = Matrix::Zero(n, n);
  for (Index first = 0; first < n; first += kBlock) {
    const Index count = std::min(kBlock, n - first), rest = n - first;
    Matrix block = G.block(first, first, rest, count);
    block.topRows(count).triangularView<Eigen::StrictlyUpper>().setZero();
    F.block(first, first, rest, count).noalias() =
        L.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>() * block;
  }
  return F;
}

// Zc'V E
Matrix project(const Matrix& Z, const Centre& centre, const ConstVectorRef& v, const Matrix& E) {
  const Matrix weighted = E.array().colwise() * v.array();
  return product(Z.transpose(), weighted) - centre.z * weighted.colwise().sum();
}

// yc - Zc theta
Matrix residual_of(const Matrix& Z, const Rows& Y, const Centre& centre, const Matrix& theta) {
  Matrix E = Y;
  const Vector offset = centre.y - theta.transpose() * centre.z;
  add_product(-1.0, Z, theta, E);
  E.rowwise() -= offset.transpose();
  return E;
}

}  // namespace

SparseBasis::SparseBasis(const Kernel& kernel, const Rows& X, std::vector<Index> candidates, bool pivot)
    : rows_(std::move(candidates)) {
  RowMatrix chosen = gather(X, rows_);
  PreparedRows prepared;
  kernel.prepare(chosen, prepared);
  Matrix storage;
  gram_lower(kernel, prepared, storage);
  const Index n = static_cast<Index>(rows_.size());
  MatrixRef A = storage.topRows(n);
  Index rank = n;
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  if (pivot) {
    rank = pivoted_cholesky(A, kRankFloor * A.diagonal().maxCoeff(), order);
  } else {
    const Eigen::LLT<MatrixRef, Eigen::Lower> factorisation(A);
    if (factorisation.info() != Eigen::Success) rank = 0;
  }
  if (rank == 0)
    throw std::invalid_argument(
        pivot ? "every k(x, x) is 0: there is no kernel to begin with; rescale X or take another kernel"
              : "these kernels are dependent to working precision: raise alpha, or ask for fewer kernels");
  L_ = Matrix::Zero(rank, rank);
  L_.triangularView<Eigen::Lower>() = A.topLeftCorner(rank, rank);

  // z = L^-1 k_S(x): a candidate's is its row of the factor, also where it was left out
  Z_.resize(X.rows(), rank);
  std::vector<unsigned char> known(X.rows(), 0);
  std::vector<Index> taken(rank);
  for (Index i = 0; i < n; ++i) {
    const Index row = rows_[order[i]];
    if (i < rank) taken[i] = row;
    known[row] = 1;
  }
  for (Index c = 0; c < rank; ++c)
    for (Index i = 0; i < n; ++i) Z_(rows_[order[i]], c) = i < c ? 0.0 : A(i, c);
  rows_.swap(taken);
  storage.resize(0, 0);

  // the others', a tile of rows at a time
  std::vector<Index> others;
  for (Index i = 0; i < X.rows(); ++i)
    if (!known[i]) others.push_back(i);
  if (others.empty()) return;
  chosen = gather(X, rows_);
  kernel.prepare(chosen, prepared);
  const Panels elements = panels_of(prepared, 0, rank, kernel.n_features());
  PreparedRows tile;
  Matrix padded, K(rank, kSparseTile);
  for (Index first = 0; first < static_cast<Index>(others.size()); first += kSparseTile) {
    check_interrupt();
    const Index count = std::min(kSparseTile, static_cast<Index>(others.size()) - first);
    const std::vector<Index> here(others.begin() + first, others.begin() + first + count);
    kernel.prepare(gather(X, here), tile);
    auto k = K.leftCols(count);
    kernel_columns(kernel, elements, tile, 0, count, padded, k);
    L_.triangularView<Eigen::Lower>().solveInPlace(k);
    for (Index r = 0; r < count; ++r) Z_.row(here[r]) = k.col(r).transpose();
  }
}

Matrix SparseSolution::beta() const {
  Matrix beta = t;
  F.transpose().triangularView<Eigen::Upper>().solveInPlace(beta);
  return beta;
}

Vector SparseSolution::intercept() const { return y_mean - beta().transpose() * mean; }

bool solve_sparse(const SparseBasis& basis, const Rows& Y, const ConstVectorRef& v, double mu, bool bias,
                  SparseSolution& out) {
  const Matrix& Z = basis.coordinates();
  const Index rows = Z.rows(), n = Z.cols(), outputs = Y.cols();
  const Centre centre(Z, Y, v, bias);
  Matrix M = cross_product(Z, centre, v);
  M.diagonal().array() += mu;  // [ISLS 3]: mu = l/(2 gamma), constant along the path
  const Eigen::LLT<MatrixRef, Eigen::Lower> factorisation(M);
  if (factorisation.info() != Eigen::Success) return false;
  const auto G = M.triangularView<Eigen::Lower>();

  Matrix theta = project(Z, centre, v, residual_of(Z, Y, centre, Matrix::Zero(n, outputs)));
  factorisation.solveInPlace(theta);
  out.residual = residual_of(Z, Y, centre, theta);
  Matrix correction = project(Z, centre, v, out.residual) - mu * theta;  // one step of refinement
  factorisation.solveInPlace(correction);
  theta += correction;
  out.residual = residual_of(Z, Y, centre, theta);
  out.cost = (out.residual.array().square().colwise() * v.array()).colwise().sum().transpose() +
             mu * theta.array().square().colwise().sum().transpose();

  out.t = M.transpose().triangularView<Eigen::Upper>() * theta;
  out.F = product_of_triangles(basis.factor(), M);  // [MATH 6.3] P = L (Zc'V Zc + mu I) L'
  out.mean = basis.factor().triangularView<Eigen::Lower>() * centre.z;
  out.y_mean = centre.y;

  const Index panels = round_up(rows, kRowPanel) / kRowPanel;
  out.directions.setZero(kRowPanel, n * panels);
  out.slack.resize(rows);
  Matrix tile;
  for (Index first = 0; first < rows; first += kSparseTile) {  // a whole number of panels, the last tile excepted
    check_interrupt();
    const Index count = std::min(kSparseTile, rows - first);
    tile = (Z.middleRows(first, count).rowwise() - centre.z.transpose()).transpose();
    G.solveInPlace(tile);
    out.slack.segment(first, count) =
        1.0 -
        v.segment(first, count).array() * (tile.colwise().squaredNorm().transpose().array() + centre.inverse_total);
    for (Index r = 0; r < count; r += kRowPanel) {
      const Index some = std::min(kRowPanel, count - r);
      out.directions.block(0, (first + r) / kRowPanel * n, some, n) = tile.middleCols(r, some).transpose();
    }
  }
  return true;
}

Vector sparse_loo_grid(const SparseBasis& basis, const Rows& Y, const ConstVectorRef& v, const ConstVectorRef& part,
                       const ConstVectorRef& mus, bool bias) {
  const Matrix& Z = basis.coordinates();
  const Index n = Z.cols(), outputs = Y.cols();
  const Centre centre(Z, Y, v, bias);
  Vector errors = Vector::Constant(mus.size(), std::numeric_limits<double>::quiet_NaN());
  const SymmetricEigen eigen(cross_product(Z, centre, v));
  if (!eigen.sound()) return errors;
  const Matrix& Q = eigen.eigenvectors();
  const Vector values = eigen.eigenvalues().cwiseMax(0.0);
  const Matrix q_y = product(Q.transpose(), project(Z, centre, v, residual_of(Z, Y, centre, Matrix::Zero(n, outputs))));
  LeaveOneOutGrid grid(values, q_y, mus, centre.inverse_total);
  Matrix tile, y;
  for (Index first = 0; first < Z.rows(); first += kSparseTile) {
    check_interrupt();
    const Index count = std::min(kSparseTile, Z.rows() - first);
    const Matrix z = Z.middleRows(first, count).rowwise() - centre.z.transpose();
    tile = product(Q.transpose(), z.transpose());
    y = Y.middleRows(first, count).rowwise() - centre.y.transpose();
    const auto weights = v.segment(first, count);
    grid.add(tile, y, weights, part.segment(first, count).cwiseProduct(weights));
  }
  for (Index k = 0; k < mus.size(); ++k)  // else 1 - leverage is rounding error
    if (grid.least()[k] > kLeastSlack) errors[k] = grid.sums()[k] / sum_of(v);
  return errors;
}

void sparse_variance(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& L, const ConstMatrixRef& F,
                     const ConstVectorRef& mean, double total, const Rows& X, VectorRef spread, VectorRef delta) {
  const Index n = vectors.rows();
  PreparedRows elements, rows;
  kernel.prepare(vectors, elements);
  kernel.prepare(X, rows);
  const Panels panels = panels_of(elements, 0, n, kernel.n_features());
  Matrix padded, K(n, kSparseTile), W;
  for (Index first = 0; first < X.rows(); first += kSparseTile) {
    check_interrupt();
    const Index count = std::min(kSparseTile, X.rows() - first);
    auto k = K.leftCols(count);
    kernel_columns(kernel, panels, rows, first, count, padded, k);
    W = k;
    L.triangularView<Eigen::Lower>().solveInPlace(W);
    k.colwise() -= Vector(mean);
    F.triangularView<Eigen::Lower>().solveInPlace(k);
    for (Index r = 0; r < count; ++r) {
      spread[first + r] = k.col(r).squaredNorm() + (total > 0 ? 1.0 / total : 0.0);
      delta[first + r] = std::max(0.0, kernel.self(rows, first + r) - W.col(r).squaredNorm());
    }
  }
}

Matrix sparse_covariance(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& L, const ConstMatrixRef& F,
                         const ConstVectorRef& mean, double total, double mu, const Rows& X) {
  PreparedRows elements, rows;
  kernel.prepare(vectors, elements);
  kernel.prepare(X, rows);
  Matrix padded, K(vectors.rows(), X.rows());
  kernel_columns(kernel, panels_of(elements, 0, vectors.rows(), kernel.n_features()), rows, 0, X.rows(), padded, K);
  Matrix W = K;
  L.triangularView<Eigen::Lower>().solveInPlace(W);
  K.colwise() -= Vector(mean);
  F.triangularView<Eigen::Lower>().solveInPlace(K);
  Matrix out = product(K.transpose(), K).array() + (total > 0 ? 1.0 / total : 0.0);
  add_beyond_span(kernel, X, W, mu, out);
  return out;
}

}  // namespace kernsift
