// What is read of a settled stream: coefficients of the mixture, variances and covariances.
#include <algorithm>

#include "core/base/multiply.hpp"
#include "core/ridge/joint_variance.hpp"
#include "core/stream/stream_state.hpp"

namespace kernsift {

ConstMatrixRef StreamState::theta() const {
  if (memories_.size() == 1) return only().theta();
  const Index p = basis_.dimension();
  if (mixed_.rows() < p || mixed_.cols() == 0) mixed_.resize(grown_capacity(mixed_.rows(), p), level_.value.size());
  auto mixed = mixed_.topRows(p);
  mixed.setZero();
  for (std::size_t e = 0; e < memories_.size(); ++e)
    mixed += mixture_.weights()[static_cast<Index>(e)] * memories_[e].posterior.theta();
  return mixed;
}

// Of the mixture: the mean of the variances, and the variance of the means.
RowMatrix StreamState::variance(const ConstMatrixRef& W, const ConstVectorRef& delta) const {
  const Index n = W.cols(), outputs = level_.value.size();
  RowMatrix variance = RowMatrix::Zero(n, outputs);
  const ConstMatrixRef mean = theta();
  for (std::size_t e = 0; e < memories_.size(); ++e) {
    const Posterior& posterior = memories_[e].posterior;
    const double weight = mixture_.weights()[static_cast<Index>(e)];
    const Vector relative = posterior.relative_variance(W, delta);
    for (Index o = 0; o < outputs; ++o) variance.col(o) += weight * memories_[e].noise_variance(o) * relative;
    if (memories_.size() > 1)
      variance += weight * product(W.transpose(), Matrix(posterior.theta() - mean)).cwiseAbs2();  // [BEYOND B9]
  }
  if (noise_) variance.array() *= noise_factors(W).array();
  return variance;
}

RowMatrix StreamState::noise_factors(const ConstMatrixRef& W) const {
  RowMatrix out(W.cols(), level_.value.size());
  for (Index r = 0; r < out.rows(); ++r)
    for (Index o = 0; o < out.cols(); ++o) out(r, o) = noise_->factor(W.col(r), o);
  return out;
}

Joint StreamState::covariance(const Rows& X, const ConstMatrixRef& W, double alpha) const {
  const Index n = W.cols(), outputs = level_.value.size();
  Joint joint{std::vector<Matrix>(static_cast<std::size_t>(outputs), Matrix::Zero(n, n)), Matrix::Zero(outputs, n)};
  Matrix beyond = Matrix::Zero(n, n);
  add_beyond_span(dictionary().kernel(), X, W.bottomRows(basis_.size()), alpha, beyond);
  const ConstMatrixRef mean = theta();
  for (std::size_t e = 0; e < memories_.size(); ++e) {
    const Posterior& posterior = memories_[e].posterior;
    const double weight = mixture_.weights()[static_cast<Index>(e)];
    const Matrix relative = posterior.joint_spread(W) + beyond;
    const Matrix apart = product(W.transpose(), Matrix(posterior.theta() - mean));
    for (Index o = 0; o < outputs; ++o) {
      Matrix& of = joint.covariance[static_cast<std::size_t>(o)];
      of += weight * memories_[e].noise_variance(o) * relative;
      joint.noise.row(o).array() += weight * memories_[e].noise_variance(o);
      if (memories_.size() > 1) of += weight * apart.col(o) * apart.col(o).transpose();  // [BEYOND B9]
    }
  }
  if (!noise_) return joint;
  const Matrix factors = noise_factors(W).transpose(), roots = factors.cwiseSqrt();
  joint.noise.array() *= factors.array();
  for (Index o = 0; o < outputs; ++o) {
    Matrix& of = joint.covariance[static_cast<std::size_t>(o)];
    of = roots.row(o).transpose().asDiagonal() * of * roots.row(o).transpose().asDiagonal();
  }
  return joint;
}

void StreamState::variance_one(const ConstVectorRef& w, double delta, VectorRef out) {
  const Index members = mixture_.size();
  out.setZero();
  for (Index e = 0; e < members; ++e) {
    Memory& each = memories_[static_cast<std::size_t>(e)];
    each.scores.begin_row();
    errors_.col(e).setZero();
    const RowScalars row = each.posterior.look(w, delta, errors_.col(e).data(), 1.0);
    errors_.col(e) = -each.posterior.residual();  // its prediction
    for (Index o = 0; o < out.size(); ++o)
      out[o] += mixture_.weights()[e] * each.noise_variance(o) * each.posterior.relative_variance(row.leverage, delta);
  }
  for (Index o = 0; o < out.size() && members > 1; ++o) {
    const double mean = errors_.row(o).dot(mixture_.weights());
    for (Index e = 0; e < members; ++e)
      out[o] += mixture_.weights()[e] * (errors_(o, e) - mean) * (errors_(o, e) - mean);
  }
  uneven_.constant_variance = out;
  for (Index o = 0; noise_ && o < out.size(); ++o) out[o] *= noise_->factor(w, o);
}

}  // namespace kernsift
