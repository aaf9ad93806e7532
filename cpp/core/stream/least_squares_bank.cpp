#include "core/stream/least_squares_bank.hpp"

#include <algorithm>

#include "core/base/multiply.hpp"

namespace kernsift {

LeastSquaresBank::LeastSquaresBank(Index n_features, Index n_outputs, double alpha, bool bias,
                                   const std::vector<double>& forgetting)
    : mixture_(static_cast<Index>(forgetting.size()), n_outputs), errors_(n_outputs, mixture_.size()) {
  for (const double factor : forgetting) members_.emplace_back(n_features, n_outputs, alpha, bias, factor);
}

bool LeastSquaresBank::forgets() const {
  return std::any_of(members_.begin(), members_.end(), [](const auto& each) { return each.forgets(); });
}

bool LeastSquaresBank::update(const double* x, const double* y, double weight) {
  if (members_.size() == 1) return members_.front().update(x, y, weight);
  bool carried = true;
  for (Index e = 0; e < mixture_.size(); ++e)
    carried &= members_[static_cast<std::size_t>(e)].update(x, y, weight, errors_.col(e).data());
  if (weight > 0 && errors_.allFinite()) mixture_.learn(errors_, weight);
  return carried;
}

Index LeastSquaresBank::update_block(const Rows& X, const Rows& Y, const ConstVectorRef& weights) {
  if (members_.size() == 1) return members_.front().update_block(X, Y, weights);
  const Index n = X.rows();
  std::vector<RowMatrix> errors(members_.size(), RowMatrix(n, n_outputs()));
  Index refused = 0;
  for (std::size_t e = 0; e < members_.size(); ++e)
    refused = std::max(refused, members_[e].update_block(X, Y, weights, errors[e].data()));
  for (Index r = 0; r < n; ++r) {
    for (Index e = 0; e < mixture_.size(); ++e) errors_.col(e) = errors[static_cast<std::size_t>(e)].row(r).transpose();
    if (weights[r] > 0 && errors_.allFinite()) mixture_.learn(errors_, weights[r]);
  }
  return refused;
}

void LeastSquaresBank::grow(Index features) {
  for (auto& each : members_) each.grow(features);
}

void LeastSquaresBank::remove(Index i) {
  for (auto& each : members_) each.remove(i);
}

void LeastSquaresBank::predict(const Rows& X, RowsOut out) const {
  if (members_.size() == 1) return members_.front().predict(X, out);
  const Eigen::RowVectorXd constant = intercept().transpose();
  multiply(X, coefficients(), out);
  out.rowwise() += constant;
}

Matrix LeastSquaresBank::coefficients() const {
  Matrix mixed = Matrix::Zero(n_features(), n_outputs());
  for (Index e = 0; e < mixture_.size(); ++e) {
    const auto known = members_[static_cast<std::size_t>(e)].coefficients();
    if (known.rows() > 0) mixed += weights()[e] * known;
  }
  return mixed;
}

Vector LeastSquaresBank::intercept() const {
  Vector mixed = Vector::Zero(n_outputs());
  for (Index e = 0; e < mixture_.size(); ++e) mixed += weights()[e] * members_[static_cast<std::size_t>(e)].intercept();
  return mixed;
}

RowMatrix LeastSquaresBank::variance(const Rows& X) {
  RowMatrix mean(X.rows(), n_outputs()), each(X.rows(), n_outputs()), total = RowMatrix::Zero(X.rows(), n_outputs());
  predict(X, mean);
  for (Index e = 0; e < mixture_.size(); ++e) {
    RecursiveLeastSquares& member = members_[static_cast<std::size_t>(e)];
    const Vector units = 1.0 + member.leverage(X).array();
    total += weights()[e] * units * member.noise_variance().transpose();
    if (members_.size() == 1) break;
    member.predict(X, each);
    total += weights()[e] * (each - mean).cwiseAbs2();
  }
  return total;
}

void LeastSquaresBank::save(Arrays& arrays) {
  for (std::size_t e = 0; e < members_.size(); ++e) {
    Arrays own;
    members_[e].save(own);
    arrays.put_all(own, e);
  }
  mixture_.save(arrays);
}

void LeastSquaresBank::load(const Arrays& arrays) {
  for (std::size_t e = 0; e < members_.size(); ++e) members_[e].load(arrays.of(e));
  mixture_.load(arrays);
}

}  // namespace kernsift
