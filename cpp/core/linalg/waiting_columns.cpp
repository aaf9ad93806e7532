#include "core/linalg/waiting_columns.hpp"

#include <algorithm>

namespace kernsift {

Eigen::Ref<Vector> WaitingColumns::next(const OrthogonalBasis& basis) {
  if (K_.rows() == 0) {
    K_ = Matrix::Zero(basis.padded_rows(), kMost);
    U_ = Matrix::Identity(kMost, kMost);
    h_.resize(kMost);
  }
  return K_.col(size_);
}

bool WaitingColumns::append(OrthogonalBasis& basis) {
  const Index w = size_, m = basis.size();
  const auto k = K_.col(w);
  if (w == 0) S_.resize(m, kMost);
  OrthogonalBasis::Projection p;
  basis.project(k, p);
  const auto U = U_.topLeftCorner(w, w).triangularView<Eigen::UnitUpper>();
  const Vector scaled = p.s.col(0).cwiseQuotient(basis.h());
  Vector g = K_.leftCols(w).transpose() * k - S_.topLeftCorner(m, w).transpose() * scaled;
  U.transpose().solveInPlace(g);
  p.distance2[0] -= (g.array().square() / h_.head(w).array()).sum();
  if (p.distance2[0] > std::max(OrthogonalBasis::kOnceIsEnough, basis.rank_tol()) * p.norm2[0]) {
    S_.col(w) = p.s.col(0);
    U_.col(w).head(w) = g.cwiseQuotient(h_.head(w));
    h_[w] = p.distance2[0];
    if (++size_ == kMost) form(basis);
    return true;
  }
  form(basis);
  p.s.conservativeResize(m + w, 1);
  p.s.bottomRows(w) = g;
  Matrix none;
  return basis.append(k, p, 0, Matrix(m + w, 0), none);
}

void WaitingColumns::form(OrthogonalBasis& basis) {
  if (size_ == 0) return;
  const Index others = size_ - 1, m = basis.size();
  OrthogonalBasis::Projection p;
  p.s = S_.col(0);
  p.norm2 = Vector::Constant(1, K_.col(0).squaredNorm());
  const Matrix coef = basis.h().cwiseInverse().asDiagonal() * S_.middleCols(1, others);
  Matrix parts;  // of the others in the span of Q
  basis.append(K_.col(0), p, 0, coef, parts);
  Matrix Q(basis.padded_rows(), size_);
  basis.column(m, Q.col(0));
  for (Index i = 1; i < size_; ++i) {
    Q.col(i) = K_.col(i) - parts.col(i - 1);
    Q.col(i).noalias() -= Q.leftCols(i) * U_.col(i).head(i);  // [OROLS 10]
    Vector u(m + i);
    u << coef.col(i - 1), U_.col(i).head(i);
    basis.append_orthogonal(Q.col(i), u);
  }
  size_ = 0;
}

}  // namespace kernsift
