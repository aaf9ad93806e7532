#include "core/ridge/column_fit.hpp"

#include <algorithm>

namespace kernsift {

ColumnFit::ColumnFit(Index rows, const ConstVectorRef& weights, Index unpenalised, int threads, double rank_tol)
    : basis_(Matrix(rows, 0), threads, rank_tol),
      root_(weights.cwiseSqrt()),
      counted_(std::max(weights.sum(), static_cast<double>(rows))),
      unpenalised_(unpenalised),
      rank_tol_(rank_tol) {}

Matrix ColumnFit::weighted(const ConstMatrixRef& K) const {
  Matrix padded = Matrix::Zero(basis_.padded_rows(), K.cols());
  if (root_.size() > 0)
    padded.topRows(rows()) = root_.asDiagonal() * K;
  else
    padded.topRows(rows()) = K;
  return padded;
}

// a~ = (H + ridge)^-1 f
Matrix ColumnFit::shrunk(const ConstMatrixRef& f, double ridge) {
  Vector h = basis_.h();
  h.tail(std::max<Index>(size() - unpenalised_, 0)).array() += ridge;
  return h.cwiseInverse().asDiagonal() * f;
}

// Y - Q a~ of the weighted problem, padded.
Matrix ColumnFit::left(const Matrix& weighted_targets, const ConstMatrixRef& shrunk) {
  Matrix rest = weighted_targets;
  Vector q(basis_.padded_rows());
  for (Index j = 0; j < size(); ++j) {
    basis_.column(j, q);
    rest.noalias() -= q * shrunk.row(j);
  }
  return rest;
}

Matrix ColumnFit::solve(const ConstMatrixRef& Y, double ridge) {
  basis_.settle();
  OrthogonalBasis::Projection p;
  basis_.project(weighted(Y), p);
  Matrix coef = shrunk(p.s, ridge);
  if (size() > 0) basis_.U().triangularView<Eigen::UnitUpper>().solveInPlace(coef);
  return coef;
}

Matrix ColumnFit::residual(const ConstMatrixRef& Y, double ridge) {
  basis_.settle();
  OrthogonalBasis::Projection p;
  const Matrix targets = weighted(Y);
  basis_.project(targets, p);
  Matrix rest = left(targets, shrunk(p.s, ridge)).topRows(rows());
  if (root_.size() > 0) rest = root_.cwiseInverse().asDiagonal() * rest;
  return rest;
}

template <class Work>
double ColumnFit::of_spectrum(const ConstMatrixRef& Y, Work&& work) {
  basis_.settle();
  OrthogonalBasis::Projection p;
  const Matrix targets = weighted(Y);
  basis_.project(targets, p);
  const Index free = std::min(unpenalised_, size()), n = size() - free;
  const Vector h = basis_.h().tail(n), f2 = p.s.bottomRows(n).rowwise().squaredNorm();
  const double rest = left(targets, shrunk(p.s, 0.0)).squaredNorm();
  return work(RidgeSpectrum{h, f2, rest, counted_, static_cast<double>(free)});
}

double ColumnFit::gcv(const ConstMatrixRef& Y, double ridge) {
  return of_spectrum(Y, [&](const RidgeSpectrum& spectrum) { return spectrum.gcv(ridge); });
}

double ColumnFit::best_ridge(const ConstMatrixRef& Y) {
  return of_spectrum(
      Y, [&](const RidgeSpectrum& spectrum) { return spectrum.h.size() > 0 ? ridge_minimum(spectrum, 0.0) : 0.0; });
}

Vector ColumnFit::error_reductions(const ConstMatrixRef& candidates, const ConstMatrixRef& Y, double ridge) {
  basis_.settle();
  OrthogonalBasis::Projection p, k;
  const Matrix targets = weighted(Y), columns = weighted(candidates);
  basis_.project(targets, p);
  basis_.project(columns, k);
  // q'y = k'(y - Q Q^+ y): nothing cancels where the fit is close
  const Vector gained = (columns.transpose() * left(targets, shrunk(p.s, 0.0))).rowwise().squaredNorm();
  Vector out(columns.cols());
  for (Index i = 0; i < out.size(); ++i)
    out[i] = k.distance2[i] > rank_tol_ * k.norm2[i] ? gained[i] / (k.distance2[i] + ridge) : 0.0;
  return out;
}

Matrix ColumnFit::pseudoinverse() {
  Matrix inverse = basis_.pseudoinverse();
  if (root_.size() > 0) inverse = inverse * root_.asDiagonal();
  return inverse;
}

}  // namespace kernsift
