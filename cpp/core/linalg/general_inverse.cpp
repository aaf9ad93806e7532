#include "core/linalg/general_inverse.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "core/base/multiply.hpp"
#include "core/linalg/symmetric_eigen.hpp"

namespace kernsift {

namespace {
// Least pivot of a change, relative to what it is the difference of: below, nothing but rounding is left.
constexpr double kLeastRelative = 1e-14;
bool significant(double pivot, double size) { return std::isfinite(pivot) && std::abs(pivot) > kLeastRelative * size; }
}  // namespace

void GeneralInverse::count(double factor) {
  log_det_ += std::log(std::abs(factor));
  if (factor < 0) sign_ = -sign_;
}

bool GeneralInverse::assign(const ConstMatrixRef& B) {
  if (B.rows() == 0) return restore(B, 0, 1), true;
  const Eigen::PartialPivLU<Matrix> factor(B);
  const Vector pivots = factor.matrixLU().diagonal();
  if (!(factor.rcond() > kLeastRelative)) return false;
  const Matrix inverse = factor.inverse();
  const double log_det = pivots.array().abs().log().sum();
  if (!std::isfinite(log_det) || !inverse.allFinite()) return false;
  double sign = static_cast<double>(factor.permutationP().determinant());
  for (const double pivot : pivots) sign = pivot < 0 ? -sign : sign;
  restore(inverse, log_det, sign);
  return true;
}

void GeneralInverse::assign_ridge(Index n, double ridge) {
  restore(Matrix(Vector::Constant(n, 1.0 / ridge).asDiagonal()), static_cast<double>(n) * std::log(ridge), 1);
}

void GeneralInverse::restore(const ConstMatrixRef& inverse, double log_det, double sign) {
  inverse_.assign(inverse);
  log_det_ = log_det;
  sign_ = sign;
}

void GeneralInverse::apply_both(const ConstVectorRef& u, const ConstVectorRef& v) {
  left_.resize(size());
  right_.resize(size());
  inverse_.apply(u, left_);
  inverse_.apply_transposed(v, right_);
}

bool GeneralInverse::update(const ConstVectorRef& u, const ConstVectorRef& v, double weight) {
  apply_both(u, v);
  const double pivot = 1.0 + weight * v.dot(left_), scale = -weight / pivot;
  if (!significant(pivot, 1.0 + std::abs(weight) * v.norm() * left_.norm())) return false;
  if (!std::isfinite(scale * left_.norm() * right_.norm())) return false;
  inverse_.add_outer(left_, right_, scale);
  count(pivot);
  return true;
}

// With G = B^-1 U' D and S = I + V G: B^-1 loses G S^-1 V B^-1, and |B| is multiplied by |S|.
bool GeneralInverse::update_block(const Rows& U, const Rows& V, const ConstVectorRef& weights) {
  if (U.rows() == 0) return true;
  const Matrix G = product(view(), U.transpose()) * weights.asDiagonal(), H = product(V, view());
  Matrix S = product(V, G);
  S.diagonal().array() += 1.0;
  const Eigen::PartialPivLU<Matrix> factor(S);
  if (!(factor.rcond() > kLeastRelative)) return false;
  Matrix inverse = view();
  add_product(-1.0, G, Matrix(factor.solve(H)), inverse);
  const double determinant = static_cast<double>(factor.permutationP().determinant());
  if (!inverse.allFinite()) return false;
  inverse_.assign(inverse);
  count(determinant);
  for (const double pivot : factor.matrixLU().diagonal()) count(pivot);
  return true;
}

bool GeneralInverse::grow(const ConstVectorRef& b, const ConstVectorRef& c, double d) {
  apply_both(b, c);
  const double schur = d - c.dot(left_);
  if (!significant(schur, std::abs(d) + c.norm() * left_.norm())) return false;
  return border(left_, right_, schur);
}

bool GeneralInverse::border(const ConstVectorRef& u, const ConstVectorRef& v, double schur) {
  if (!std::isfinite(1.0 / schur) || !std::isfinite(u.norm() * v.norm() / schur)) return false;
  inverse_.border(u, v, schur);
  count(schur);
  return true;
}

bool GeneralInverse::remove(Index i) {
  const auto C = view();
  const double pivot = C(i, i);
  if (!significant(pivot, std::min(C.row(i).cwiseAbs().maxCoeff(), C.col(i).cwiseAbs().maxCoeff()))) return false;
  inverse_.remove(i);
  count(pivot);
  return true;
}

double GeneralInverse::condition() const {
  if (size() == 0) return 1.0;
  const Matrix C = view();
  const double largest = SymmetricEigen(product(C, C.transpose()), false).eigenvalues()[size() - 1];
  // the smallest singular value from the inverse of the inverse: of the square it would lose half of the digits
  const Matrix B = C.partialPivLu().inverse();
  return std::sqrt(largest * SymmetricEigen(product(B, B.transpose()), false).eigenvalues()[size() - 1]);
}

}  // namespace kernsift
