#include "core/linalg/definite_inverse.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/multiply.hpp"
#include "core/linalg/symmetric_eigen.hpp"

namespace kernsift {

namespace {
constexpr Index kRun = 64;  // rows of an update by matrix products
// Rows of more leverage x'B^-1 x are taken one by one: what is new to B would cost a run that many digits.
constexpr double kMostLeverage = 1e4;

// What is left of 1 + change, or 0 where that is rounding or no number.
double pivot_of(double change) {
  const double pivot = 1.0 + change;
  return std::isfinite(pivot) && pivot > DefiniteInverse::kLeastPivot * (1.0 + std::abs(change)) ? pivot : 0.0;
}
}  // namespace

bool DefiniteInverse::assign(const ConstMatrixRef& B) {
  const Index n = B.rows();
  const Eigen::LLT<Matrix> factor(B);
  if (factor.info() != Eigen::Success) return false;
  Matrix half = Matrix::Identity(n, n);
  factor.matrixL().solveInPlace(half);
  Matrix inverse = Matrix::Zero(n, n);
  inverse.selfadjointView<Eigen::Lower>().rankUpdate(half.transpose());
  const double log_det = 2.0 * factor.matrixLLT().diagonal().array().log().sum();
  if (!std::isfinite(log_det) || !inverse.allFinite()) return false;
  restore(inverse, log_det);
  return true;
}

void DefiniteInverse::assign_ridge(Index n, double ridge) {
  restore(Matrix(Vector::Constant(n, 1.0 / ridge).asDiagonal()), static_cast<double>(n) * std::log(ridge));
}

void DefiniteInverse::restore(const ConstMatrixRef& inverse, double log_det) {
  inverse_.assign(inverse);
  log_det_ = log_det;
}

bool DefiniteInverse::update(const ConstVectorRef& x, double weight) {
  const Index n = size();
  if (image_.size() < n) image_.resize(grown_capacity(image_.size(), n));
  auto h = image_.head(n);
  inverse_.apply_settled(x, h);  // h = B^-1 x
  const double change = weight * x.dot(h), pivot = pivot_of(change);
  const double scale = -weight / pivot;
  if (!(pivot > 0) || !std::isfinite(scale * h.squaredNorm())) return false;
  inverse_.owe_outer(h, scale);
  log_det_ += std::log1p(change);
  return true;
}

bool DefiniteInverse::update_block(const Rows& X, const ConstVectorRef& weights) {
  const Index m = size();
  const bool downdates = weights.size() > 0 && weights.minCoeff() < 0;
  // positive runs that follow one another can fail by overflow only, a run of negative weights at any time
  const bool kept = downdates || X.rows() > kRun;
  inverse_.settle();
  SymmetricInverse before;
  if (kept) before = inverse_;
  const double log_det = log_det_;
  Matrix W(m, std::min(kRun, X.rows()));
  for (const double sign : {1.0, -1.0}) {
    if (sign < 0 && !downdates) break;
    Index filled = 0;
    for (Index r = 0; r < X.rows(); ++r) {
      if (sign * weights[r] > 0) W.col(filled++) = std::sqrt(sign * weights[r]) * X.row(r).transpose();
      if (filled == 0 || (filled < W.cols() && r + 1 < X.rows())) continue;
      if (!add_run(W.leftCols(filled), sign)) {
        if (kept) inverse_ = before;
        log_det_ = log_det;
        return false;
      }
      filled = 0;
    }
  }
  return true;
}

// With G = B^-1 W and I + sign W'G = RR': B^-1 loses sign GR^-T (GR^-T)', and log|B| gains that of I + sign W'G.
bool DefiniteInverse::add_run(const ConstMatrixRef& W, double sign) {
  const Index m = size(), n = W.cols();
  if (gain_.rows() < m || gain_.cols() < n) gain_.resize(grown_capacity(gain_.rows(), m), std::max(n, gain_.cols()));
  if (innovation_.rows() < n) innovation_.resize(whole_packets(n), whole_packets(n));
  auto G = gain_.topLeftCorner(m, n);
  auto R = innovation_.topLeftCorner(n, n);
  inverse_.apply_block(W, G);
  R.setZero();
  add_product(sign, W.transpose(), G, R);
  const Vector change = R.diagonal();
  if (change.maxCoeff() > kMostLeverage) {
    for (Index j = 0; j < n; ++j)
      if (!update(W.col(j), sign)) return false;
    inverse_.settle();
    return true;
  }
  R.diagonal().array() += 1.0;
  Eigen::LLT<Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>> factor(R);
  if (factor.info() != Eigen::Success) return false;
  double gained = 0;
  for (Index j = 0; j < n; ++j) {
    const double pivot = R(j, j) * R(j, j);
    if (!(pivot > kLeastPivot * (1.0 + std::abs(change[j])))) return false;
    gained += std::log(pivot);
  }
  R.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(G);
  if (!std::isfinite(gained) || !std::isfinite(G.squaredNorm())) return false;
  inverse_.add_outer_block(G, -sign);
  log_det_ += gained;
  return true;
}

bool DefiniteInverse::grow(const ConstVectorRef& b, double c) {
  const Index n = size();
  if (image_.size() < n) image_.resize(grown_capacity(image_.size(), n));
  auto w = image_.head(n);
  inverse_.apply_settled(b, w);
  const double schur = c - b.dot(w);
  if (!(schur > kLeastPivot * (std::abs(c) + b.norm() * w.norm()))) return false;
  return append(w, schur);
}

bool DefiniteInverse::border(const ConstVectorRef& w, double schur) { return schur > 0 && append(w, schur); }

bool DefiniteInverse::append(const ConstVectorRef& w, double schur) {
  const double scale = 1.0 / schur;
  if (!std::isfinite(scale) || !std::isfinite(scale * w.squaredNorm())) return false;
  inverse_.border(w, schur);
  log_det_ += std::log(schur);
  return true;
}

bool DefiniteInverse::remove(Index i) {
  const double pivot = inverse_.settled_diagonal(i);
  if (!(pivot > 0)) return false;
  inverse_.remove(i);
  log_det_ += std::log(pivot);
  return true;
}

void DefiniteInverse::apply_rows(const Rows& X, RowsOut out) {
  inverse_.settle();
  const Eigen::Map<const Matrix> columns(X.data(), X.cols(), X.rows());
  inverse_.apply_block(columns, Eigen::Map<Matrix>(out.data(), out.cols(), out.rows()));
}

Vector DefiniteInverse::quadratic(const Rows& X) {
  RowMatrix image(X.rows(), X.cols());
  apply_rows(X, image);
  return image.cwiseProduct(X).rowwise().sum();
}

Matrix DefiniteInverse::dense() {
  inverse_.settle();
  return inverse_.dense();
}

double DefiniteInverse::condition() {
  if (size() == 0) return 1.0;
  const Vector values = SymmetricEigen(dense(), false).eigenvalues();
  return values[values.size() - 1] / values[0];
}

}  // namespace kernsift
