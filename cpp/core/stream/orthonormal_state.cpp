#include "core/stream/orthonormal_state.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/limits.hpp"
#include "core/simd/triangle_passes.hpp"
#include "core/stream/pruning_scores.hpp"

namespace kernsift {

OrthonormalState::OrthonormalState(double alpha, Index n_outputs, bool bias)
    : alpha_(alpha), bias_(bias), theta_(0, n_outputs), xi_(Vector::Zero(n_outputs)), rho_(n_outputs), tau_(n_outputs) {
  reserve(8);
}

void OrthonormalState::reserve(Index kernels) {
  if (diagonal_.size() >= kernels) return;
  kernels = whole_packets(kernels);
  const Index p = whole_packets(kernels + offset());
  span_.reserve(kernels);
  C_.reserve(p);
  theta_.conservativeResize(p, Eigen::NoChange);
  diagonal_.conservativeResize(kernels);
  for (Vector* v : {&w_, &h_, &column_, &border_}) v->conservativeResize(p);
  in_kernels_.conservativeResize(kernels, 2);
  beta_.conservativeResize(kernels, n_outputs());
  lagging_.conservativeResize(kernels, kFewColumns);
  lagging_rho_.conservativeResize(kFewColumns, n_outputs());
  rotations_.chain.reserve(kernels);
}

void OrthonormalState::coordinates(MatrixRef W) const {
  if (dimension() > size()) W.row(0).setOnes();
  span_.coordinates(W.bottomRows(size()));  // w = L^-1 k
}

RowScalars OrthonormalState::look(const ConstVectorRef& k, double k_self, const double* y, double v) {
  w_.segment(offset(), size()) = k;
  coordinates(w_.head(dimension()));
  return look_from_workspace(k_self, y, v);
}

RowScalars OrthonormalState::look_at(const ConstVectorRef& w, double k_self, const double* y, double v) {
  w_.head(dimension()) = w;
  return look_from_workspace(k_self, y, v);
}

// The trace of C is at most this: alpha C_ii <= 1, but for the constant, which is not penalised.
double OrthonormalState::most_of_trace() const {
  const double constant = dimension() > size() ? std::abs(C_.settled_diagonal(0)) : 0.0;
  return constant + static_cast<double>(size()) / std::max(alpha_, kSmallest);
}

RowScalars OrthonormalState::look_from_workspace(double k_self, const double* y, double v) {
  const Index m = size(), p = dimension();
  auto w = w_.head(p);
  auto h = h_.head(p);
  C_.apply_settled(w, h);  // h = C w

  RowScalars row;
  row.weight = v;
  row.delta = std::max(0.0, k_self - w.tail(m).squaredNorm());  // [JP 3]
  const double gain = w.dot(h);
  row.Delta = 1.0 / v + gain;  // [JP 11]
  row.leverage = v * gain;
  row.den = row.delta + alpha_ * row.Delta;  // [MATH 1.3]
  invariants::check_gain(gain, v);
  if constexpr (invariants::kChecked) invariants::check_distance(k_self - w.tail(m).squaredNorm(), k_self);
  double squares = 0;
  for (Index o = 0; o < n_outputs(); ++o) {
    rho_[o] = y[o] - w.dot(theta_.col(o).head(p));
    squares += rho_[o] * rho_[o];
  }
  row.loss = h.squaredNorm() / row.Delta;
  row.trace = most_of_trace();
  row.rise = squares / row.Delta;
  row.usefulness = row.delta > 0 ? row.delta * row.rise / row.den : 0.0;  // [MATH 1.5]
  in_kernels_known_ = false;
  return row;
}

// g = P^-1 k = L^-T h and a = K^-1 k = L^-T w of the row of the last look.
void OrthonormalState::row_in_kernels() {
  if (in_kernels_known_) return;
  const Index m = size(), b = offset();
  in_kernels_.col(0).head(m) = h_.segment(b, m);
  in_kernels_.col(1).head(m) = w_.segment(b, m);
  span_.coefficients(in_kernels_.topRows(m));
  in_kernels_known_ = true;
}

Eigen::Map<const Vector> OrthonormalState::coefficients_of_row() {
  const Index m = size();
  if (tracking_) {  // the scores will need both
    row_in_kernels();
    return {in_kernels_.col(1).data(), m};
  }
  column_.head(m) = w_.segment(offset(), m);
  span_.coefficients(column_.head(m));
  return {column_.data(), m};
}

void OrthonormalState::normal(const RowScalars& row) {
  const Index p = dimension(), m = size();
  auto h = h_.head(p);
  if (informed_) information_.add_outer(w_.head(p), row.weight);
  C_.owe_outer(h, -1.0 / row.Delta);  // [JP 11], in the basis of MATH 1.4
  for (Index o = 0; o < n_outputs(); ++o) theta_.col(o).head(p) += (rho_[o] / row.Delta) * h;  // [MATH 1.1]
  xi_.array() += rho_.array().square() / row.Delta;
  if (tracking_ && in_kernels_known_) {
    const auto g = in_kernels_.col(0).head(m);
    diagonal_.head(m).array() -= g.array().square() / row.Delta;
    for (Index o = 0; o < n_outputs(); ++o) beta_.col(o).head(m) += (rho_[o] / row.Delta) * g;
  } else if (tracking_) {
    const double scale = 1.0 / std::sqrt(row.Delta);
    lagging_.col(n_lagging_).head(m) = scale * h.tail(m);
    lagging_rho_.row(n_lagging_) = scale * rho_.transpose();
    if (++n_lagging_ == kFewColumns) catch_up();
  }
  log_det_ += std::log1p(row.leverage);
}

void OrthonormalState::forget(const RowScalars& row) {
  if (tracking_) row_in_kernels();  // Delta < 0 has no root: not among the lagging
  normal(row);
  xi_ = xi_.cwiseMax(0.0);  // the row took its squares along, and left rounding
}

// All earlier rows have coordinate 0 in the new direction and this row has s = sqrt(delta): C is padded with
// 1/alpha and the row is learned as [w; s]. Written out, nothing cancels, and alpha = 0 is allowed: Engel's growth,
// where the past cannot tell the new direction and only this row determines it.
void OrthonormalState::grow(const RowScalars& row) {
  const Index p = dimension(), m = size();
  reserve(grown_capacity(diagonal_.size(), m + 1));
  auto h = h_.head(p);
  auto w = w_.head(p);
  const double s = std::sqrt(row.delta);
  if (tracking_) {
    catch_up();
    row_in_kernels();
    const auto g = in_kernels_.col(0), a = in_kernels_.col(1);
    const double Delta_b = row.delta * (row.den / row.Delta);  // [JPs grow]: not the Delta_b printed in [JP 14]
    const double share = row.delta / row.Delta;
    for (Index i = 0; i < m; ++i) {
      const double w_b = a[i] + share * g[i];  // [JP 14]
      diagonal_[i] += w_b * w_b / Delta_b - g[i] * g[i] / row.Delta;
    }
    diagonal_[m] = 1.0 / Delta_b;
    for (Index o = 0; o < n_outputs(); ++o) {
      const double kappa = rho_[o] / row.den;
      beta_.col(o).head(m) += kappa * (alpha_ * g - a).head(m);  // [JP 15]
      beta_(m, o) = kappa;
    }
  }
  if (informed_) {
    information_.add_outer(w, row.weight);
    information_.append(row.weight * s * w, alpha_ + row.weight * row.delta);
  }
  C_.owe_outer(h, -alpha_ / row.den);  // [MATH 1.4]
  column_.head(p) = (-s / row.den) * h;             // [Engel grow]
  C_.append(column_.head(p), row.Delta / row.den);  // [Engel grow]
  for (Index o = 0; o < n_outputs(); ++o) {
    const double kappa = rho_[o] / row.den;
    theta_.col(o).head(p) += (alpha_ * kappa) * h;
    theta_(p, o) = s * kappa;  // [Engel grow]
    xi_[o] += alpha_ * rho_[o] * kappa;
  }
  span_.append(w.tail(m), s);
  log_det_ += std::log(row.weight * row.delta + alpha_ * (1.0 + row.leverage));
}

void OrthonormalState::seat_bias(const double* y, double v) {
  C_.append(Vector(), 1.0 / v);
  for (Index o = 0; o < n_outputs(); ++o) theta_(0, o) = y[o];
  log_det_ = std::log(v);
}

void OrthonormalState::track_scores() {
  if (tracking_) return;
  tracking_ = true;
  refresh_scores();
}

// d_j = e_j'L^-T C L^-1 e_j and beta = L^-T theta from scratch, O(m^3). Overwrites the workspace of the row.
void OrthonormalState::refresh_scores() {
  const Index b = offset(), m = size();
  auto w = w_.head(dimension());  // L^-1 e_j, the bias coordinate being 0
  auto h = h_.head(dimension());
  for (Index j = 0; j < m; ++j) {
    w.setZero();
    w[b + j] = 1.0;
    span_.coordinates(w.tail(m));
    C_.apply_settled(w, h);
    diagonal_[j] = w.dot(h);
  }
  beta_.topRows(m) = theta_.middleRows(b, m);
  span_.coefficients(beta_.topRows(m));
  removals_ = n_lagging_ = 0;
}

void OrthonormalState::catch_up() {
  if (n_lagging_ == 0) return;
  const Index m = size();
  auto G = lagging_.topLeftCorner(m, n_lagging_);
  span_.coefficients(G);
  diagonal_.head(m) -= G.rowwise().squaredNorm();
  beta_.topRows(m) += G.lazyProduct(lagging_rho_.topRows(n_lagging_));
  n_lagging_ = 0;
}

void OrthonormalState::scores(VectorRef scores) {
  catch_up();
  scores = beta_.topRows(size()).rowwise().squaredNorm().cwiseQuotient(diagonal_.head(size()));
}

bool OrthonormalState::scores_after_growth(const RowScalars& row, VectorRef scores) {
  const Index m = size();
  catch_up();
  row_in_kernels();
  return kernsift::scores_after_growth(row, beta_.topRows(m), diagonal_.head(m), in_kernels_.col(0).head(m),
                                       in_kernels_.col(1).head(m), rho_, alpha_, scores);
}

void OrthonormalState::remove(Index i) {
  const Index m = size(), b = offset(), last = dimension() - 1;
  informed_ = false;
  if (tracking_) {
    catch_up();
    w_.segment(b, m) = span_.block().row(i).transpose();
  }
  span_.remove(i, rotations_);
  C_.rotate(rotations_, b);
  rotations_.rotate_rows(theta_.topRows(dimension()), b);
  // the direction that left is the last coordinate: condition on it
  auto c = column_.head(dimension());
  C_.column(last, c);
  const bool lost = !(c[last] > 0 && RowScalars::bounded(c.head(last).squaredNorm() / c[last], most_of_trace(), 0.0));
  if (lost) {
    // Kernel values or weights lie further apart than a double reaches, and rounding has left nothing of this direction.
    // It goes as if no row had reached it: what comes of that means little (`health` says so), but must be numbers.
    c.setZero();
    c[last] = 1.0 / std::max(alpha_, kSmallest);
    removals_ = 2 * m + 64;
  }
  const double corner = c[last];
  if (tracking_) {
    rotations_.rotate_rows(w_.head(dimension()), b);
    remove_from_scores(i, c.tail(m), w_.segment(b, m));
  }
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
  // what is tracked loses a digit or two over thousands of swaps; once in 2m of them it costs O(m^2) to renew
  if (tracking_ && ++removals_ >= std::max<Index>(2 * m, 64)) refresh_scores();
}

// d <- d - u^2 / u_i and beta <- beta - u beta_i / u_i with u = P^-1 e_i [JP 17]. In the rotated basis L has become
// [L 0; r' l] with element i last, and C has c as its last column: u_i = c_last / l^2, and the rest of u is
// L^-T (c - r c_last / l) / l, L being that of the elements that stay.
void OrthonormalState::remove_from_scores(Index i, const ConstVectorRef& c, const ConstVectorRef& row) {
  const Index m = span_.size();  // without element i
  const double l = row[m], u_i = c[m] / (l * l);
  auto u = h_.head(m);
  u = (c.head(m) - (c[m] / l) * row.head(m)) / l;
  span_.coefficients(u);
  double* d = diagonal_.data();
  std::copy(d + i + 1, d + m + 1, d + i);
  diagonal_.head(m).array() -= u.array().square() / u_i;
  for (Index o = 0; o < n_outputs(); ++o) {
    double* beta = beta_.col(o).data();
    const double gone = beta[i];
    std::copy(beta + i + 1, beta + m + 1, beta + i);
    beta_.col(o).head(m) -= (gone / u_i) * u;
  }
}

Matrix OrthonormalState::beta() const {
  Matrix beta(size(), n_outputs());
  this->beta(beta);
  return beta;
}

// A few columns at a time, by the routine that allocates nothing.
void OrthonormalState::beta(MatrixRef out) const {
  out = theta_.middleRows(offset(), size());
  for (Index o = 0; o < n_outputs(); o += kFewColumns)
    span_.coefficients(out.middleCols(o, std::min(kFewColumns, n_outputs() - o)));
}

void OrthonormalState::predict(const ConstVectorRef& k, VectorRef out) {
  w_.segment(offset(), size()) = k;
  coordinates(w_.head(dimension()));
  for (Index o = 0; o < n_outputs(); ++o) out[o] = at(w_.head(dimension()), o);
}

Vector OrthonormalState::intercept() const {
  if (!bias_ || bias_pending()) return Vector::Zero(n_outputs());
  return theta_.row(0).transpose();
}

Vector OrthonormalState::rss() const {  // xi - alpha |theta|^2
  const Vector penalty = alpha_ * theta_.middleRows(offset(), size()).colwise().squaredNorm().transpose();
  return (xi_ - penalty).cwiseMax(0.0);  // [MATH 1.8]
}

double OrthonormalState::dof() const {  // m - alpha tr C, plus one for the unpenalised constant
  return static_cast<double>(dimension()) - alpha_ * C_.diagonal().tail(size()).sum();  // [MATH 1.8]
}

Matrix OrthonormalState::inverse_P() const {
  const Matrix inverse = span_.inverse_factor();
  const Matrix kernel_part = C_.dense().bottomRightCorner(size(), size());
  return inverse.transpose() * kernel_part * inverse;
}

void OrthonormalState::variance(MatrixRef K, const ConstVectorRef& k_self, VectorRef spread, VectorRef delta) const {
  span_.coordinates(K);
  delta = (k_self.transpose() - K.colwise().squaredNorm()).cwiseMax(0.0);
  Matrix W(dimension(), K.cols());
  if (bias_ && !bias_pending()) W.row(0).setOnes();
  W.bottomRows(size()) = K;
  Matrix H(W.rows(), W.cols());
  C_.apply_block(W, H);
  spread = W.cwiseProduct(H).colwise().sum();  // [MATH 1.9]
}

void OrthonormalState::save(Arrays& arrays) const {
  arrays.put("factor", Matrix(span_.factor()));
  arrays.put("inverse", C_.dense());
  arrays.put("theta", theta_.topRows(dimension()));
  arrays.put("cost", xi_);
  arrays.put("diagonal", tracking_ ? Matrix(diagonal_.head(size())) : Matrix(0, 1));
  arrays.put("beta", tracking_ ? Matrix(beta_.topRows(size())) : Matrix(0, n_outputs()));
  arrays.put("tracking", tracking_);
  arrays.put("removals", static_cast<double>(removals_));
  arrays.put("log_det", log_det_);
  // so that a restored stream goes on to the last bit
  arrays.put("information", informed_ ? information_.dense() : Matrix(0, 0));
}

void OrthonormalState::load(const Arrays& arrays, Index kernels, bool seated) {
  const Index p = kernels + (bias_ && seated ? 1 : 0);
  accumulating_ = false;
  informed_ = arrays.get("information").rows() > 0;
  tracking_ = arrays.number("tracking") != 0;
  reserve(std::max<Index>(8, kernels));
  span_.assign(arrays.get_factor("factor", kernels));
  C_.assign(arrays.get("inverse", p, p));
  if (informed_) information_.assign(arrays.get("information", p, p));
  theta_.topRows(p) = arrays.get("theta", p, n_outputs());
  xi_ = arrays.get("cost", n_outputs(), 1);
  n_lagging_ = 0;
  if (tracking_) {
    diagonal_.head(kernels) = arrays.get("diagonal", kernels, 1);
    beta_.topRows(kernels) = arrays.get("beta", kernels, n_outputs());
  }
  removals_ = arrays.count("removals");
  log_det_ = arrays.number("log_det");
}

}  // namespace kernsift
