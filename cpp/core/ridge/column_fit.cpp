#include "core/ridge/column_fit.hpp"

#include <algorithm>

#include "core/base/multiply.hpp"

namespace kernsift {

ColumnFit::ColumnFit(Index rows, const ConstVectorRef& weights, Index unpenalised, int threads, double rank_tol)
    : basis_(Matrix(rows, 0), threads, rank_tol),
      root_(weights.cwiseSqrt()),
      counted_(std::max(sum_of(weights), static_cast<double>(rows))),
      unpenalised_(unpenalised) {}

bool ColumnFit::append(const ConstVectorRef& column) {
  VectorRef next = waiting_.next(basis_).head(rows());
  if (root_.size() > 0)
    next = root_.cwiseProduct(column);
  else
    next = column;
  return waiting_.append(basis_);
}

void ColumnFit::pop() {
  if (waiting_.size() > 0)
    waiting_.pop();
  else
    basis_.pop();
}

OrthogonalBasis& ColumnFit::basis() {
  waiting_.form(basis_);
  basis_.settle();
  return basis_;
}

const Matrix& ColumnFit::weighted(const ConstMatrixRef& K) {
  if (padded_.cols() != K.cols()) padded_ = Matrix::Zero(basis_.padded_rows(), K.cols());
  if (root_.size() > 0)
    padded_.topRows(rows()) = root_.asDiagonal() * K;
  else
    padded_.topRows(rows()) = K;
  return padded_;
}

const Matrix& ColumnFit::projected(const ConstMatrixRef& Y) {
  basis().project(weighted(Y), projection_);
  return projection_.s;
}

// a~ = (H + ridge)^-1 f
Matrix ColumnFit::shrunk(const ConstMatrixRef& f, double ridge) {
  Vector h = basis_.h();
  h.tail(std::max<Index>(size() - unpenalised_, 0)).array() += ridge;
  return h.cwiseInverse().asDiagonal() * f;
}

// Y - Q a~ of the weighted problem, padded, for the targets projected last.
Matrix ColumnFit::left(const ConstMatrixRef& shrunk) {
  Matrix rest = padded_;
  Vector q(basis_.padded_rows());
  for (Index j = 0; j < size(); ++j) {
    basis_.column(j, q);
    rest.noalias() -= q * shrunk.row(j);
  }
  return rest;
}

Matrix ColumnFit::solve(const ConstMatrixRef& Y, double ridge) {
  Matrix coef = shrunk(projected(Y), ridge);
  if (size() > 0) basis_.U().triangularView<Eigen::UnitUpper>().solveInPlace(coef);
  return coef;
}

Matrix ColumnFit::residual(const ConstMatrixRef& Y, double ridge) {
  Matrix rest = left(shrunk(projected(Y), ridge)).topRows(rows());
  if (root_.size() > 0) rest = root_.cwiseInverse().asDiagonal() * rest;
  return rest;
}

template <class Work>
double ColumnFit::of_spectrum(const ConstMatrixRef& Y, Work&& work) {
  const Matrix& f = projected(Y);
  const Index free = std::min(unpenalised_, size()), n = size() - free;
  const Vector h = basis_.h().tail(n), f2 = f.bottomRows(n).rowwise().squaredNorm();
  const double rest = left(shrunk(f, 0.0)).squaredNorm();
  return work(RidgeSpectrum{h, f2, rest, counted_, static_cast<double>(free)});
}

double ColumnFit::gcv(const ConstMatrixRef& Y, double ridge) {
  return of_spectrum(Y, [&](const RidgeSpectrum& spectrum) { return spectrum.gcv(ridge); });
}

double ColumnFit::best_ridge(const ConstMatrixRef& Y) {
  return of_spectrum(
      Y, [&](const RidgeSpectrum& spectrum) { return spectrum.h.size() > 0 ? ridge_minimum(spectrum, 0.0) : 0.0; });
}

double ColumnFit::reestimate(const ConstMatrixRef& Y, double ridge) {
  return of_spectrum(
      Y, [&](const RidgeSpectrum& spectrum) { return spectrum.h.size() > 0 ? spectrum.reestimate(ridge) : ridge; });
}

Vector ColumnFit::error_reductions(const ConstMatrixRef& candidates, const ConstMatrixRef& Y, double ridge) {
  const Matrix rest = left(shrunk(projected(Y), 0.0));
  projected(candidates);
  const OrthogonalBasis::Projection& k = projection_;
  // q'y = k'(y - Q Q^+ y): nothing cancels where the fit is close
  const Matrix& columns = padded_;
  const Vector gained = product(columns.transpose(), rest).rowwise().squaredNorm();
  Vector out(columns.cols());
  for (Index i = 0; i < out.size(); ++i)
    out[i] = k.distance2[i] > basis_.rank_tol() * k.norm2[i] ? gained[i] / (k.distance2[i] + ridge) : 0.0;
  return out;
}

Matrix ColumnFit::pseudoinverse() {
  Matrix inverse = basis().pseudoinverse();
  if (root_.size() > 0) inverse = inverse * root_.asDiagonal();
  return inverse;
}

}  // namespace kernsift
