#include "core/stream/recursive_least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/multiply.hpp"
#include "core/ridge/evidence.hpp"
#include "core/ridge/gcv.hpp"

namespace kernsift {

namespace {
constexpr Index kFeatureRun = 64;  // rows learned by matrix products
// Of a row's own weight in the direction it holds: what is left when it is taken back must not be rounding.
constexpr double kLeastLeft = 1e-10;
// A row of more leverage is learned by itself: what is new to C would cost a run that many digits, and a row half.
constexpr double kMostLeverage = 1e4;
}  // namespace

RecursiveLeastSquares::RecursiveLeastSquares(Index n_features, Index n_outputs, double alpha, bool bias,
                                             double forgetting)
    : posterior_(alpha, n_outputs, bias && forgetting >= 1, bias && forgetting < 1 ? 1 : 0, forgetting),
      nothing_(Vector::Zero(n_outputs)) {
  if (posterior_.bias_pending())
    origin_ = Vector::Zero(n_features);
  else
    grow(n_features);
}

// Rows learned, or taken back where negative.
void RecursiveLeastSquares::count(double rows) {
  if (forgets())
    for (double i = 0; i < rows; ++i) rows_ = posterior_.memory() * rows_ + 1.0;
  else
    rows_ += rows;
  seen_ += rows;
}

// A row at the origin, without targets, whose distance from the span is nothing beside the ridge: C gains 1 / alpha. A
// cost that forgets fades with it, and so does the number of rows.
void RecursiveLeastSquares::append_coordinate() {
  const Index p = posterior_.dimension();
  w_ = Vector::Zero(p);
  const RowScalars row = posterior_.look(w_, 1e-40 * posterior_.alpha(), nothing_.data(), 1.0);
  posterior_.grow(w_, row);
  rows_ *= posterior_.memory();
}

void RecursiveLeastSquares::grow(Index features) {
  const Index before = n_features();
  if (learning())
    for (Index j = 0; j < features; ++j) append_coordinate();
  origin_.conservativeResize(before + features);
  origin_.tail(features).setZero();
}

void RecursiveLeastSquares::begin(const double* x, const double* y, double weight) {
  const Index d = n_features();
  posterior_.seat_bias(y, weight);
  for (Index j = 0; j < d; ++j) append_coordinate();
  origin_ = Eigen::Map<const Vector>(x, d);
  count(1);
  sum_log_weights_ = std::log(weight);
}

bool RecursiveLeastSquares::update(const double* x, const double* y, double weight, double* errors) {
  if (!learning()) {
    if (errors != nullptr) std::copy_n(y, n_outputs(), errors);
    if (!(weight > 0)) return false;
    begin(x, y, weight);
    return true;
  }
  const Index b = offset(), p = posterior_.dimension();
  if (b > 0) {
    if (w_.size() != p) w_.resize(p);
    w_[0] = 1.0;
    w_.tail(p - b) = Eigen::Map<const Vector>(x, p - b) - origin_;
    x = w_.data();
  }
  const Eigen::Map<const Vector> w(x, p);  // without a bias the origin is 0
  const RowScalars row = posterior_.look(w, 0.0, y, weight);
  if (errors != nullptr) std::copy_n(posterior_.residual().data(), n_outputs(), errors);
  if (weight > 0) {
    if (!row.sound()) return false;
    posterior_.normal(w, row);
    posterior_.fade();
  } else {
    if (!(!forgets() && rows_ > 1 && 1.0 + row.leverage > kLeastLeft && row.leverage <= 0)) return false;
    posterior_.forget(w, row);
  }
  count(weight > 0 ? 1 : -1);
  sum_log_weights_ += weight > 0 ? std::log(weight) : -std::log(-weight);
  return true;
}

void RecursiveLeastSquares::coordinates(const Rows& X, MatrixRef W) const {
  const Index b = offset();
  if (b > 0) W.row(0).setOnes();
  W.bottomRows(n_features()) = X.transpose().colwise() - origin_;
}

Index RecursiveLeastSquares::update_block(const Rows& X, const Rows& Y, const ConstVectorRef& weights, double* errors) {
  Index refused = 0;
  const auto errors_of = [&](Index row) { return errors == nullptr ? nullptr : errors + row * n_outputs(); };
  for (Index first = 0; first < X.rows();) {
    Index n = light_rows(X, weights, first, std::min(X.rows(), first + kFeatureRun));
    bool together = learning() && n > 1;
    if (together) {
      block_.resize(posterior_.dimension(), n);
      apriori_.resize(n, n_outputs());
      coordinates(X.middleRows(first, n), block_);
      together = posterior_.learn_run(block_, Y.middleRows(first, n), weights.segment(first, n), apriori_);
    }
    if (together) {
      if (errors != nullptr)
        Eigen::Map<RowMatrix>(errors_of(first), n, n_outputs()) = Y.middleRows(first, n) - apriori_;
      count(static_cast<double>(n));
      sum_log_weights_ += weights.segment(first, n).array().log().sum();
      first += n;
      continue;
    }
    // the first row of all, rows new to C or taken back, and a run that the arithmetic cannot carry as one
    for (n = std::max<Index>(n, 1); n > 0; --n, ++first)
      if (weights[first] != 0 && !update(X.row(first).data(), Y.row(first).data(), weights[first], errors_of(first)))
        ++refused;
  }
  return refused;
}

// Rows from `first` on, up to `end`, that a run can take. Of each v w'C w <= v (sum_j |w_j| C_jj^1/2)^2.
Index RecursiveLeastSquares::light_rows(const Rows& X, const ConstVectorRef& weights, Index first, Index end) {
  if (!learning()) return 0;
  const Vector deviation = covariance().diagonal().cwiseMax(0.0).cwiseSqrt();
  Index n = 0;
  for (; first + n < end && weights[first + n] > 0; ++n) {
    const double reach = (X.row(first + n).transpose() - origin_).cwiseAbs().dot(deviation);
    if (weights[first + n] * reach * reach > kMostLeverage) break;
  }
  return n;
}

void RecursiveLeastSquares::remove(Index i) {
  const Index d = n_features();
  if (learning()) {
    // the exchange of neighbours, as a rotation: element i becomes the last one
    Rotations rotations;
    rotations.first = i;
    rotations.chain.assign(static_cast<std::size_t>(d - 1 - i), Rotation{0.0, 1.0});
    posterior_.remove(rotations);
  }
  std::copy(origin_.data() + i + 1, origin_.data() + d, origin_.data() + i);
  origin_.conservativeResize(d - 1);
}

void RecursiveLeastSquares::predict(const Rows& X, RowsOut out) const {
  if (!learning()) {
    out.setZero();
    return;
  }
  const Eigen::RowVectorXd constant = intercept().transpose();
  multiply(X, coefficients(), out);
  out.rowwise() += constant;
}

Vector RecursiveLeastSquares::leverage(const Rows& X) {
  if (!learning()) return Vector::Constant(X.rows(), std::numeric_limits<double>::infinity());
  posterior_.settle();
  Matrix W(posterior_.dimension(), X.rows());
  coordinates(X, W);
  Vector out(X.rows()), image(W.rows());
  for (Index r = 0; r < out.size(); ++r) {
    posterior_.apply(W.col(r), image);
    out[r] = std::max(W.col(r).dot(image), 0.0);
  }
  return out;
}

Vector RecursiveLeastSquares::deletion_scores() {
  if (!learning()) return Vector::Zero(n_features());
  const Vector diagonal = covariance().diagonal();
  return coefficients().rowwise().squaredNorm().cwiseQuotient(diagonal);
}

Vector RecursiveLeastSquares::intercept() const {
  if (offset() == 0) return Vector::Zero(n_outputs());
  return posterior_.theta().row(0).transpose() - coefficients().transpose() * origin_;
}

Vector RecursiveLeastSquares::noise_variance() const { return posterior_.cost() / std::max(counted(), 1.0); }

double RecursiveLeastSquares::dof() {
  posterior_.settle();
  return learning() ? posterior_.dof() : 0.0;
}

Vector RecursiveLeastSquares::gcv() {
  const double left = rows_ - dof();
  Vector score = posterior_.rss();
  for (double& rss : score) rss = gcv_score(rows_, rss, left);
  return score;
}

Vector RecursiveLeastSquares::log_evidence() {
  posterior_.settle();
  const double log_det = posterior_.log_det() - static_cast<double>(n_features()) * std::log(alpha());
  Vector evidence(n_outputs());
  for (Index o = 0; o < n_outputs(); ++o)
    evidence[o] = kernsift::log_evidence(counted(), posterior_.cost()[o], log_det, sum_log_weights_);
  return evidence;
}

Matrix RecursiveLeastSquares::covariance() {
  const Index d = n_features();
  if (!learning()) return Matrix(Vector::Constant(d, 1.0 / alpha()).asDiagonal());
  posterior_.settle();
  return posterior_.kernel_inverse();
}

void RecursiveLeastSquares::save(Arrays& arrays) {
  posterior_.settle();
  posterior_.save(arrays);
  arrays.put("origin", origin_);
  arrays.put("rows", rows_);
  arrays.put("seen", seen_);
  arrays.put("sum_log_weights", sum_log_weights_);
  arrays.put("learning", learning() ? 1.0 : 0.0);
}

void RecursiveLeastSquares::load(const Arrays& arrays) {
  const Index d = n_features();
  posterior_.load(arrays, arrays.number("learning") > 0 ? d : 0, arrays.number("learning") > 0);
  origin_ = arrays.get("origin", d, 1);
  rows_ = arrays.number("rows");
  seen_ = arrays.number("seen");
  sum_log_weights_ = arrays.number("sum_log_weights");
}

}  // namespace kernsift
