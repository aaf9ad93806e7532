#include "core/stream/posterior.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/limits.hpp"
#include "core/base/multiply.hpp"
#include "core/ridge/joint_variance.hpp"
#include "core/ridge/ridge_problem.hpp"

namespace kernsift {

Posterior::Posterior(double alpha, Index n_outputs, bool bias, Index leading, double memory)
    : alpha_(alpha),
      memory_(memory),
      bias_(bias),
      leading_(leading),
      theta_(0, n_outputs),
      xi_(Vector::Zero(n_outputs)) {
  row_.rho.resize(n_outputs);
  exact_.tau.resize(n_outputs);
  reserve(std::max<Index>(8, leading));
  if (leading > 0) {
    C_.assign(Matrix::Identity(leading, leading) / alpha);
    theta_.topRows(leading).setZero();
    log_det_ = static_cast<double>(leading) * std::log(alpha);
  }
}

void Posterior::reserve(Index dimension) {
  if (theta_.rows() >= dimension) return;
  const Index p = whole_packets(dimension);
  C_.reserve(p);
  theta_.conservativeResize(p, Eigen::NoChange);
  for (Vector* v : {&row_.h, &row_.column, &exact_.b}) v->conservativeResize(p);
}

// The trace of C is at most this: alpha C_ii <= 1, but for the constant, which is not penalised.
double Posterior::most_of_trace() const {
  const double constant = penalised() < dimension() ? std::abs(C_.settled_diagonal(0)) : 0.0;
  return constant + static_cast<double>(penalised()) / std::max(alpha_, kSmallest);
}

RowScalars Posterior::look(const ConstVectorRef& w, double delta, const double* y, double v) {
  const Index p = dimension();
  auto h = row_.h.head(p);
  C_.apply_settled(w, h);  // h = C w

  RowScalars row;
  row.weight = v;
  row.delta = delta;
  const double gain = w.dot(h);
  row.Delta = 1.0 / v + gain;  // [JP 11]
  row.leverage = v * gain;
  row.den = row.delta + alpha_ * row.Delta;  // [MATH 1.3]
  invariants::check_gain(gain, v);
  double squares = 0;
  for (Index o = 0; o < n_outputs(); ++o) {
    row_.rho[o] = y[o] - w.dot(theta_.col(o).head(p));
    squares += row_.rho[o] * row_.rho[o];
  }
  row.loss = h.squaredNorm() / row.Delta;
  row.trace = most_of_trace();
  row.rise = squares / row.Delta;
  row.usefulness = row.delta > 0 ? row.delta * row.rise / row.den : 0.0;  // [MATH 1.5]
  return row;
}

void Posterior::normal(const ConstVectorRef& w, const RowScalars& row) {
  const Index p = dimension();
  auto h = row_.h.head(p);
  if (information_.kept) information_.matrix.add_outer(w, row.weight);
  C_.owe_outer(h, -1.0 / row.Delta);  // [JP 11], in the basis of MATH 1.4
  for (Index o = 0; o < n_outputs(); ++o) theta_.col(o).head(p) += (row_.rho[o] / row.Delta) * h;  // [MATH 1.1]
  if (fades()) xi_ *= memory_;
  xi_.array() += row_.rho.array().square() / row.Delta;
  log_det_ += std::log1p(row.leverage);
}

void Posterior::forget(const ConstVectorRef& w, const RowScalars& row) {
  normal(w, row);
  xi_ = xi_.cwiseMax(0.0);  // the row took its squares along, and left rounding
}

// All earlier rows have coordinate 0 in the new direction and this row has s = sqrt(delta): C is padded with
// 1/alpha and the row is learned as [w; s]. Written out, nothing cancels, and alpha = 0 is allowed: Engel's growth,
// where the past cannot tell the new direction and only this row determines it.
void Posterior::grow(const ConstVectorRef& w, const RowScalars& row) {
  const Index p = dimension();
  reserve(grown_capacity(theta_.rows(), p + 1));
  auto h = row_.h.head(p);
  const double s = std::sqrt(row.delta);
  if (information_.kept) {
    information_.matrix.add_outer(w, row.weight);
    information_.matrix.append(row.weight * s * w, alpha_ + row.weight * row.delta);
  }
  C_.owe_outer(h, -alpha_ / row.den);  // [MATH 1.4]
  auto column = row_.column.head(p);
  column = (-s / row.den) * h;             // [Engel grow]
  C_.append(column, row.Delta / row.den);  // [Engel grow]
  for (Index o = 0; o < n_outputs(); ++o) {
    const double kappa = row_.rho[o] / row.den;
    theta_.col(o).head(p) += (alpha_ * kappa) * h;
    theta_(p, o) = s * kappa;  // [Engel grow]
    xi_[o] = (fades() ? memory_ * xi_[o] : xi_[o]) + alpha_ * row_.rho[o] * kappa;
  }
  log_det_ += std::log(row.weight * row.delta + alpha_ * (1.0 + row.leverage));
}

void Posterior::seat_bias(const double* y, double v) {
  C_.append(Vector(), 1.0 / v);
  for (Index o = 0; o < n_outputs(); ++o) theta_(0, o) = y[o];
  log_det_ = std::log(v);
}

// With Z the coordinates of the recent rows (the current one among them, already learned), s_j the coordinate of row j
// along the new direction, V the weights and e = y - Z'theta:
//   b = Z V s,   h = C b,   q = alpha + s'Vs - b'h,   tau = s'V e / q,   usefulness = q |tau|^2       [BEYOND B5]
double Posterior::look_exact(const ConstMatrixRef& Z, const ConstMatrixRef& Y, const ConstVectorRef& v,
                             const ConstVectorRef& s) {
  const Index p = dimension(), n = Z.cols();
  if (exact_.weighted.size() < n) {
    exact_.weighted.resize(n);
    exact_.errors.resize(whole_packets(n), n_outputs());
  }
  auto vs = exact_.weighted.head(n);
  auto e = exact_.errors.topRows(n);
  vs = v.cwiseProduct(s);
  auto b = exact_.b.head(p);
  auto h = row_.h.head(p);
  b.noalias() = Z * vs;
  C_.apply_settled(b, h);
  exact_.schur = alpha_ + s.dot(vs) - b.dot(h);  // [BEYOND B5]
  e = Y;
  add_product(-1.0, Z.transpose(), theta_.topRows(p), e);
  double squares = 0;
  for (Index o = 0; o < n_outputs(); ++o) {
    exact_.tau[o] = vs.dot(e.col(o)) / exact_.schur;  // [BEYOND B5]
    squares += exact_.tau[o] * exact_.tau[o];
  }
  return exact_.schur * squares;
}

// C <- [C + hh'/q, -h/q; -h'/q, 1/q],  theta <- [theta - h tau; tau],  xi -= q tau^2                   [BEYOND B6]
void Posterior::grow_exact(const ConstVectorRef& s, const ConstVectorRef& v) {
  const Index p = dimension();
  reserve(grown_capacity(theta_.rows(), p + 1));
  auto h = row_.h.head(p);
  const double q = exact_.schur;
  if (information_.kept) information_.matrix.append(exact_.b.head(p), alpha_ + s.dot(v.cwiseProduct(s)));
  C_.border(h, q);  // [BEYOND B6]
  for (Index o = 0; o < n_outputs(); ++o) {
    const double tau = exact_.tau[o];
    theta_.col(o).head(p) -= tau * h;  // [BEYOND B6]
    theta_(p, o) = tau;
    xi_[o] = std::max(xi_[o] - q * tau * tau, 0.0);  // [BEYOND B6]; of a perfect fit rounding is left
  }
  log_det_ += std::log(q);
}

void Posterior::widen() {
  const Index p = dimension();
  reserve(grown_capacity(theta_.rows(), p + 1));
  auto column = row_.column.head(p);
  column.setZero();
  information_.kept = false;
  C_.append(column, 1.0 / alpha_);
  theta_.row(p).setZero();
  log_det_ += std::log(alpha_);
}

bool Posterior::remove(const Rotations& rotations) {
  const Index b = offset(), last = dimension() - 1;
  information_.kept = false;
  C_.rotate(rotations, b);
  rotations.rotate_rows(theta_.topRows(last + 1), b);
  // the direction that left is the last coordinate: condition on it
  auto c = row_.column.head(last + 1);
  C_.column(last, c);
  const bool lost = !(c[last] > 0 && RowScalars::bounded(c.head(last).squaredNorm() / c[last], most_of_trace(), 0.0));
  if (lost) {
    // Kernel values or weights lie further apart than a double reaches, and rounding has left nothing of this
    // direction. It goes as if no row had reached it: what comes of that means little (`health` says so), but must be
    // numbers.
    c.setZero();
    c[last] = 1.0 / std::max(alpha_, kSmallest);
  }
  const double corner = c[last];
  for (Index o = 0; o < n_outputs(); ++o) {
    const double tau = theta_(last, o);
    theta_.col(o).head(last) -= (tau / corner) * c.head(last);  // [JP 18]: the sign is minus
    xi_[o] += tau * (tau / corner);                             // [JP 19]
  }
  if (lost)
    C_.drop_last();
  else
    C_.owe_remove_last();  // [JP 17]
  log_det_ += std::log(corner);
  return !lost;
}

// Where kernel values or weights lie further apart than a double reaches, what is carried along can overflow though the
// state has not. A C that is no longer definite has no logarithm and a cost that overflowed is lost, but a state needs
// numbers: the largest, with which no evidence speaks for the model.
void Posterior::settle() {
  C_.settle();
  for (double& xi : xi_)
    if (!std::isfinite(xi)) xi = std::numeric_limits<double>::max();
  if (std::isfinite(log_det_)) return;
  const Factor factor(C_.dense());
  log_det_ = -2.0 * factor.matrixLLT().diagonal().array().log().sum();
  if (factor.info() != Eigen::Success || !std::isfinite(log_det_)) log_det_ = std::numeric_limits<double>::max();
}

Vector Posterior::rss() const {  // xi - alpha |theta|^2
  const Vector penalty = alpha_ * penalised_theta().colwise().squaredNorm().transpose();
  return (xi_ - penalty).cwiseMax(0.0);  // [MATH 1.8]
}

double Posterior::dof() const {  // m - alpha tr C, plus one for the unpenalised constant
  return static_cast<double>(dimension()) - alpha_ * C_.diagonal().tail(penalised()).sum();  // [MATH 1.8]
}

double Posterior::trace() const {
  double sum = 0;
  for (Index i = 0; i < dimension(); ++i) sum += std::abs(C_.settled_diagonal(i));
  return sum;
}

Matrix Posterior::joint_spread(const ConstMatrixRef& W) const {
  Matrix H(W.rows(), W.cols());
  C_.apply_block(W, H);
  Matrix spread = product(W.transpose(), H);
  mirror_lower(spread);
  return spread;
}

Vector Posterior::relative_variance(const ConstMatrixRef& W, const ConstVectorRef& delta) const {
  Matrix H(W.rows(), W.cols());
  C_.apply_block(W, H);
  Vector relative = W.cwiseProduct(H).colwise().sum();
  for (Index i = 0; i < relative.size(); ++i) relative[i] = relative_variance(relative[i], delta[i]);
  return relative;
}

std::optional<double> Posterior::best_ridge(double weight, double count) const {
  Matrix cross;  // Z'VZ + alpha diag(0, I)
  if (information_.kept) {
    cross = information_.matrix.dense();
  } else {
    const Factor factor(C_.dense());
    if (factor.info() != Eigen::Success) return {};
    cross = factor.solve(Matrix::Identity(dimension(), dimension()));
  }
  const Matrix moments = product(cross, theta());
  cross.diagonal().tail(penalised()).array() -= alpha_;
  const Vector squares = xi_ + Vector(theta().cwiseProduct(moments).colwise().sum().transpose());
  return kernsift::best_ridge(cross, moments, squares, weight, count, penalised() < dimension());
}

void Posterior::save(Arrays& arrays) const {
  // so that a restored stream goes on to the last bit, as it is kept: C = scale (inverse + shift I)
  arrays.put("inverse", C_.stored().dense());
  arrays.put("inverse_scale", C_.frame().scale);
  arrays.put("inverse_shift", C_.frame().shift);
  arrays.put("theta", theta());
  arrays.put("cost", xi_);
  arrays.put("log_det", log_det_);
  arrays.put("information", information_.kept ? information_.matrix.dense() : Matrix(0, 0));
}

void Posterior::load(const Arrays& arrays, Index kernels, bool seated) {
  const Index p = kernels + (bias_ ? (seated ? 1 : 0) : leading_);
  information_.accumulating = false;
  information_.kept = arrays.get("information").rows() > 0;
  reserve(std::max<Index>(8, p));
  const double scale = arrays.number("inverse_scale", 1.0), shift = arrays.number("inverse_shift", 0.0);
  if (!(scale > 0 && scale <= 1 && shift >= 0 && std::isfinite(shift)))
    throw std::invalid_argument("state arrays 'inverse_scale' and 'inverse_shift' are out of their range");
  C_.assign(arrays.get("inverse", p, p), {scale, shift});
  if (information_.kept) information_.matrix.assign(arrays.get("information", p, p));
  theta_.topRows(p) = arrays.get("theta", p, n_outputs());
  xi_ = arrays.get("cost", n_outputs(), 1);
  log_det_ = arrays.number("log_det");
}

}  // namespace kernsift
