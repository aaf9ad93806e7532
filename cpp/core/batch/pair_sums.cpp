#include "core/batch/pair_sums.hpp"

#include "core/base/multiply.hpp"
#include "core/simd/packets.hpp"

namespace kernsift {

namespace {

// Adds e_l sign(z_l - x) to out_l and returns the sum.
double add_signs(double x, const double* z, const double* e, Index n, double* out) {
  const Packet at = splat(x);
  Packet sum = splat(0.0);
  Index l = 0;
  for (; l + kLanes <= n; l += kLanes) {
    const Packet there = load(z + l), value = load(e + l);
    const Packet above = simd::pand(simd::pcmp_lt(at, there), value);
    const Packet below = simd::pand(simd::pcmp_lt(there, at), value);
    const Packet part = simd::psub(above, below);
    store(out + l, simd::padd(load(out + l), part));  // [BEYOND B11]
    sum = simd::padd(sum, part);
  }
  double total = simd::predux(sum);
  for (; l < n; ++l) {
    const double part = (z[l] > x ? e[l] : 0.0) - (z[l] < x ? e[l] : 0.0);
    out[l] += part;
    total += part;
  }
  return total;
}

}  // namespace

PairSums::PairSums(KernelSum sum, const Coordinates& Z, bool signs)
    : absolute_(sum == KernelSum::absolutes), Z_(Z), sums_(Vector::Zero(Z.cols())), signs_(signs && absolute_) {
  if (!absolute_ || signs_) products_ = Matrix::Zero(Z.rows(), Z.cols());
  if (!absolute_) rows_ = Vector::Zero(Z.rows());
}

void PairSums::add(const ConstMatrixRef& E, const Coordinates& X) {
  if (!absolute_) {
    add_product(1.0, E, X, products_);                                             // [BEYOND B3]
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
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i)
      signed_rows_(j, i) = -add_signs(X(i, j), Z_.col(j).data(), E.col(i).data(), Z_.rows(), products_.col(j).data());
}

void PairSums::add(const PairSums& others) {
  products_ += others.products_;
  rows_ += others.rows_;
  sums_ += others.sums_;
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
  add_product(-1.0, E.transpose(), Z_, out);  // [BEYOND B11]
  return out;
}

}  // namespace kernsift
