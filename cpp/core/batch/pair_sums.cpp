#include "core/batch/pair_sums.hpp"

namespace kernsift {

PairSums::PairSums(KernelSum sum, const Coordinates& Z, bool signs)
    : absolute_(sum == KernelSum::absolutes), Z_(Z), sums_(Vector::Zero(Z.cols())), signs_(signs && absolute_) {
  if (!absolute_ || signs_) products_ = Matrix::Zero(Z.rows(), Z.cols());
  if (!absolute_) rows_ = Vector::Zero(Z.rows());
}

void PairSums::add(const ConstMatrixRef& E, const Coordinates& X) {
  if (!absolute_) {
    products_.noalias() += E * X;                                                  // [BEYOND B3]
    rows_ += E.rowwise().sum();                                                    // [BEYOND B3]
    sums_.noalias() += X.cwiseAbs2().transpose() * E.colwise().sum().transpose();  // [BEYOND B3]
    return;
  }
  if (!signs_) {
    for (Index i = 0; i < X.rows(); ++i)
      for (Index j = 0; j < X.cols(); ++j) sums_[j] += E.col(i).dot((Z_.col(j).array() - X(i, j)).abs().matrix());
    return;
  }
  signed_rows_.resize(X.cols(), X.rows());
  Vector signs(Z_.rows());
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; j < X.cols(); ++j) {
      const double x = X(i, j), *z = Z_.col(j).data(), *e = E.col(i).data();
      for (Index l = 0; l < signs.size(); ++l) signs[l] = (z[l] > x ? e[l] : 0.0) - (z[l] < x ? e[l] : 0.0);
      products_.col(j) += signs;          // [BEYOND B11]
      signed_rows_(j, i) = -signs.sum();  // [BEYOND B11]
    }
}

Vector PairSums::total() const {
  if (absolute_) return sums_;
  return sums_ + Z_.cwiseAbs2().transpose() * rows_ - 2.0 * Z_.cwiseProduct(products_).colwise().sum().transpose();
}

Matrix PairSums::of_landmarks() const {
  if (absolute_) return products_;
  return rows_.asDiagonal() * Z_ - products_;  // [BEYOND B11]
}

RowMatrix PairSums::of_rows(const ConstMatrixRef& E, const Coordinates& X) const {
  if (absolute_) return signed_rows_.transpose();
  RowMatrix out = E.colwise().sum().transpose().asDiagonal() * X;
  out.noalias() -= E.transpose() * Z_;  // [BEYOND B11]
  return out;
}

}  // namespace kernsift
