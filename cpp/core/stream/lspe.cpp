#include "core/stream/lspe.hpp"

#include <limits>

namespace kernsift {

void PolicyEvaluation::reserve(Index n) {
  if (theta_.size() >= n) return;
  n = whole_packets(n);
  inverse_.reserve(n);
  A_.conservativeResize(n, n);
  for (Vector* x : {&b_, &theta_, &rest_, &change_}) x->conservativeResize(n);
}

void PolicyEvaluation::assign(const ConstMatrixRef& A, const ConstVectorRef& b, const ConstMatrixRef& inverse) {
  const Index m = b.size();
  reserve(m);
  A_.topLeftCorner(m, m) = A;
  b_.head(m) = b;
  inverse_.assign(inverse);
  if (theta_size_ != m) theta_.head(m).setZero();
  theta_size_ = m;
}

void PolicyEvaluation::learn(const ConstVectorRef& z, const ConstVectorRef& h, const ConstVectorRef& w, double r) {
  const Index m = size();
  for (Index j = 0; j < m; ++j) A_.col(j).head(m) += h[j] * z;
  b_.head(m) += r * z;
  auto u = rest_.head(m);
  inverse_.apply(w, u);
  inverse_.add_outer(u, u, -1.0 / (1.0 + w.dot(u)));
}

void PolicyEvaluation::grow(const ConstVectorRef& z, const ConstVectorRef& h, const ConstVectorRef& w, double z_along,
                            double h_along, double w_along, double r, double alpha) {
  const Index m = size();
  reserve(grown_capacity(theta_.size(), m + 1));
  A_.col(m).head(m) = h_along * z;
  A_.row(m).head(m) = z_along * h.transpose();
  A_(m, m) = z_along * h_along;
  b_[m] = z_along * r;
  theta_[m] = 0;
  auto u = rest_.head(m);
  inverse_.apply(w, u);
  const double left = 1.0 - w.dot(u);  // of B, which has learned w
  u *= w_along;
  inverse_.border(u, u, alpha + w_along * w_along * left);
  ++theta_size_;
}

void PolicyEvaluation::remove_last(const Rotations& rotations) {
  const Index m = size();
  rotations.rotate_rows(b_.head(m), 0);
  rotations.rotate_rows(theta_.head(m), 0);
  rotations.rotate_both(A_.topLeftCorner(m, m));
  inverse_.rotate(rotations);
  inverse_.remove(m - 1);
  --theta_size_;
}

double PolicyEvaluation::step(double alpha) {
  const Index m = size();
  if (m == 0) return 0.0;
  auto rest = rest_.head(m);
  auto change = change_.head(m);
  rest = b_.head(m) - alpha * theta();
  rest.noalias() -= A_.topLeftCorner(m, m) * theta();
  inverse_.apply(rest, change);
  theta_.head(m) += change;  // [LSTD lspe]
  return change.norm() / (theta().norm() + std::numeric_limits<double>::min());
}

void PolicyEvaluation::save(Arrays& arrays) const {
  const Index m = size();
  arrays.put("lspe_inverse", Matrix(inverse_.view()));
  arrays.put("lspe_A", Matrix(A_.topLeftCorner(m, m)));
  arrays.put("lspe_b", Matrix(b_.head(m)));
  arrays.put("lspe_theta", Matrix(theta()));
}

void PolicyEvaluation::load(const Arrays& arrays, Index size) {
  assign(arrays.get("lspe_A", size, size), Vector(arrays.get("lspe_b", size, 1)),
         arrays.get("lspe_inverse", size, size));
  theta_.head(size) = arrays.get("lspe_theta", size, 1);
}

}  // namespace kernsift
