#include "core/stream/inverse_state.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "core/base/limits.hpp"
#include "core/stream/pruning_scores.hpp"

namespace kernsift {

namespace {
// A diagonal entry to divide by. Where rounding has left nothing of it (weights or kernel values lie further apart than a
// double reaches), what comes of the division means little, but must be numbers.
void lift(SymmetricInverse& inverse, Index i, VectorRef column) {
  inverse.column(i, column);
  if (column[i] > 0) return;
  const double entry = std::max(column.cwiseAbs().maxCoeff(), kSmallest) - column[i];
  column.setZero();
  column[i] = 1.0;
  inverse.add_outer(column, entry);
  inverse.column(i, column);
}
}  // namespace

InverseState::InverseState(double alpha, Index n_outputs, bool bias)
    : alpha_(alpha), bias_(bias), beta_(0, n_outputs), xi_(Vector::Zero(n_outputs)), rho_(n_outputs) {
  reserve(8);
}

void InverseState::reserve(Index kernels) {
  if (beta_.rows() >= kernels + offset()) return;
  const Index p = whole_packets(kernels + offset());
  K_inv_.reserve(kernels);
  P_inv_.reserve(p);
  beta_.conservativeResize(p, Eigen::NoChange);
  for (Vector* v : {&k_, &a_, &g_, &w_b_, &u_}) v->conservativeResize(p);
}

RowScalars InverseState::look(const ConstVectorRef& k, double k_self, const double* y, double v) {
  const Index m = size(), p = dimension();
  auto k1 = k_.head(p);
  auto g = g_.head(p);
  if (bias_) k1[0] = 1.0;
  k1.tail(m) = k;
  K_inv_.apply(k, a_.head(m));  // [JP 4]
  P_inv_.apply(k1, g);

  RowScalars row;
  row.weight = v;
  row.delta = std::max(0.0, k_self - k.dot(a_.head(m)));  // [JP 3]
  const double gain = k1.dot(g);
  invariants::check_gain(gain, v);
  row.Delta = 1.0 / v + gain;  // [JP 11]
  row.leverage = v * gain;
  row.den = row.delta + alpha_ * row.Delta;
  double squares = 0;
  for (Index o = 0; o < n_outputs(); ++o) {
    rho_[o] = y[o] - k1.dot(beta_.col(o).head(p));
    squares += rho_[o] * rho_[o];
  }
  row.loss = g.squaredNorm() / row.Delta;
  row.trace = P_inv_.diagonal().cwiseAbs().sum();
  row.rise = squares / row.Delta;
  row.usefulness = row.delta > 0 ? row.delta * row.rise / row.den : 0.0;
  return row;
}

void InverseState::normal(const RowScalars& row) {  // [JP 11]
  const Index p = dimension();
  P_inv_.add_outer(g_.head(p), -1.0 / row.Delta);  // [JP 9]
  for (Index o = 0; o < n_outputs(); ++o) beta_.col(o).head(p) += (rho_[o] / row.Delta) * g_.head(p);
  xi_.array() += rho_.array().square() / row.Delta;
  log_det_ += std::log1p(row.leverage);
}

// P^-1 and K^-1 gain a row and a column by the partitioned inverse [JP 10].
void InverseState::border(const ConstVectorRef& w_b, double Delta_b, const ConstVectorRef& a, double delta) {
  P_inv_.border(w_b, Delta_b);  // [JP 12]
  K_inv_.border(a, delta);      // [JP 12]
  log_det_ += std::log(Delta_b / delta);
}

void InverseState::grow(const RowScalars& row) {
  const Index m = size(), p = dimension();
  reserve(grown_capacity(beta_.rows() - offset(), m + 1));
  normal(row);  // the papers' order: the row first, then the column
  auto w_b = w_b_.head(p);
  w_b = (row.delta / row.Delta) * g_.head(p);  // [JP 14]; g from before the normal step
  w_b.tail(m) += a_.head(m);
  const double Delta_b = row.delta * (row.den / row.Delta);  // [JPs grow]: not the Delta_b printed in [JP 14]
  for (Index o = 0; o < n_outputs(); ++o) {
    const double kappa = rho_[o] / row.den;  // [JP 15]; = delta rho / (Delta Delta_b)
    beta_.col(o).head(p) -= kappa * w_b;     // [JP 15]
    beta_(p, o) = kappa;
    xi_[o] -= kappa * kappa * Delta_b;  // [JP 16]
  }
  border(w_b, Delta_b, a_.head(m), row.delta);
}

void InverseState::seat_bias(const double* y, double v) {
  P_inv_.append(Vector(), 1.0 / v);
  for (Index o = 0; o < n_outputs(); ++o) beta_(0, o) = y[o];
  log_det_ = std::log(v);
}

void InverseState::scores(VectorRef scores) const {
  const Index m = size();
  scores = beta_.middleRows(offset(), m).rowwise().squaredNorm().cwiseQuotient(P_inv_.diagonal().tail(m));
}

bool InverseState::scores_after_growth(const RowScalars& row, VectorRef scores) {
  const Index m = size(), b = offset();
  u_.head(m) = P_inv_.diagonal().tail(m);
  return kernsift::scores_after_growth(row, beta_.middleRows(b, m), u_.head(m), g_.segment(b, m), a_.head(m), rho_,
                                       alpha_, scores);
}

void InverseState::remove(Index i) {
  const Index b = offset(), p = dimension(), row = b + i;
  lift(K_inv_, i, u_.head(size()));
  auto u = u_.head(p);
  lift(P_inv_, row, u);
  for (Index o = 0; o < n_outputs(); ++o) {
    const double b_star = beta_(row, o);
    xi_[o] += b_star * (b_star / u[row]);              // [JP 19]
    beta_.col(o).head(p) -= (b_star / u[row]) * u;     // [JP 18]: the sign is minus
    for (Index k = row; k + 1 < p; ++k) beta_(k, o) = beta_(k + 1, o);
  }
  log_det_ += std::log(u[row] / K_inv_(i, i));
  P_inv_.remove(row);  // [JP 17]
  K_inv_.remove(i);
}

Vector InverseState::intercept() const {
  if (!bias_ || bias_pending()) return Vector::Zero(n_outputs());
  return beta_.row(0).transpose();
}

// K is not kept, only its inverse: |f|^2 = beta'K beta by solving with it.
Vector InverseState::rss() const {
  if (size() == 0) return xi_;
  const Matrix coefficients = beta();
  const Matrix values = K_inv_.dense().inverse() * coefficients;
  return (xi_ - alpha_ * coefficients.cwiseProduct(values).colwise().sum().transpose()).cwiseMax(0.0);
}

double InverseState::dof() const {
  if (size() == 0) return static_cast<double>(dimension());
  const Matrix K = K_inv_.dense().inverse();
  return static_cast<double>(dimension()) - alpha_ * inverse_P().cwiseProduct(K).sum();
}

void InverseState::variance(MatrixRef K, const ConstVectorRef& k_self, VectorRef spread, VectorRef delta) const {
  Matrix A(K.rows(), K.cols());
  K_inv_.apply_block(K, A);
  delta = (k_self.transpose() - K.cwiseProduct(A).colwise().sum()).cwiseMax(0.0);
  Matrix K1(dimension(), K.cols());
  if (bias_ && !bias_pending()) K1.row(0).setOnes();
  K1.bottomRows(size()) = K;
  Matrix G(K1.rows(), K1.cols());
  P_inv_.apply_block(K1, G);
  spread = K1.cwiseProduct(G).colwise().sum();
}

void InverseState::save(Arrays& arrays) const {
  arrays.put("kernel_inverse", K_inv_.dense());
  arrays.put("inverse", P_inv_.dense());
  arrays.put("beta", beta_.topRows(dimension()));
  arrays.put("cost", xi_);
  arrays.put("log_det", log_det_);
}

void InverseState::load(const Arrays& arrays, Index kernels, bool seated) {
  const Index p = kernels + (bias_ && seated ? 1 : 0);
  reserve(std::max<Index>(8, kernels));
  K_inv_.assign(arrays.get("kernel_inverse", kernels, kernels));
  P_inv_.assign(arrays.get("inverse", p, p));
  beta_.topRows(p) = arrays.get("beta", p, n_outputs());
  xi_ = arrays.get("cost", n_outputs(), 1);
  log_det_ = arrays.number("log_det");
}

}  // namespace kernsift
