#include "core/kernel/expand_single.hpp"

#include <algorithm>

#include "core/base/parallel.hpp"

namespace kernsift {

namespace single_values {

void exponential(const Kernel&, Eigen::ArrayXXf& K) { K = (-K).exp(); }

void matern32(const Kernel&, Eigen::ArrayXXf& K) {
  K = (3.0f * K).sqrt();
  K = (1.0f + K) * (-K).exp();
}

void matern52(const Kernel&, Eigen::ArrayXXf& K) {
  K = (5.0f * K).sqrt();
  K = (1.0f + K + K.square() / 3.0f) * (-K).exp();
}

void polynomial(const Kernel& kernel, Eigen::ArrayXXf& K) {
  K += static_cast<float>(kernel.coef0());
  const Eigen::ArrayXXf base = K;
  for (int power = 1; power < kernel.degree(); ++power) K *= base;
}

void linear(const Kernel&, Eigen::ArrayXXf&) {}

}  // namespace single_values

namespace {
constexpr Index kSingleTile = 64;
constexpr double kFarSingle = 64.0;     // 6e-8 of it is 4e-6 of the exponent
constexpr double kBeyondSingle = 1e30;  // a squared distance: every stationary kernel is 0 so far away
}  // namespace

SingleExpansion::SingleExpansion(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& coef,
                                 const ConstVectorRef& intercept)
    : kernel_(kernel), panels_(kernel.n_features()), coef_(coef), intercept_(intercept) {
  const Index m = vectors.rows(), d = kernel.n_features();
  PreparedRows prepared;
  kernel_.prepare(vectors, prepared);
  panels_.reserve(m);
  vectors_.resize(m, d);
  norms_.resize(m);
  for (Index i = 0; i < m; ++i) {
    panels_.append(prepared.coordinates(i), prepared.norm(i));
    for (Index j = 0; j < d; ++j) vectors_(i, j) = static_cast<float>(prepared.coordinates(i)[j]);
    norms_[i] = static_cast<float>(prepared.norm(i));
    if (kernel.row().sum == KernelSum::squares && !(prepared.norm(i) <= kBeyondSingle)) {
      vectors_.row(i).setZero();  // products with its coordinates would overflow
      norms_[i] = static_cast<float>(kBeyondSingle);
    }
  }
  padded_ = Matrix::Zero(panels_.padded(), coef_.cols());
  padded_.topRows(m) = coef_;
}

void SingleExpansion::kernel_values(const Eigen::MatrixXf& z, const Eigen::RowVectorXf& norm, Tile& K) const {
  const Index n = z.cols();
  if (kernel_.row().sum == KernelSum::absolutes) {
    for (Index r = 0; r < n; ++r) {
      auto sum = K.col(r);
      sum.setZero();
      for (Index j = 0; j < z.rows(); ++j) sum += (vectors_.col(j).array() - z(j, r)).abs();
    }
  } else {
    K.matrix().noalias() = vectors_ * z;
    if (kernel_.stationary())
      for (Index r = 0; r < n; ++r) K.col(r) = (norms_ + norm[r] - 2.0f * K.col(r)).max(0.0f);  // squared distances
  }
  kernel_.row().single(kernel_, K);
}

void SingleExpansion::evaluate(const SingleRows& X, SingleRowsOut out, Index threads) const {
  constexpr Index kPart = 32 * kSingleTile;
  parallel_for((X.rows() + kPart - 1) / kPart, static_cast<int>(threads), [&](Index part) {
    const Index begin = part * kPart, n = std::min(kPart, X.rows() - begin);
    evaluate_part(X.middleRows(begin, n), out.middleRows(begin, n));
  });
}

void SingleExpansion::evaluate_part(const SingleRows& X, SingleRowsOut out) const {
  const Index m = vectors_.rows(), c = coef_.cols();
  RowMatrix rows(kSingleTile, X.cols()), one(1, c);
  PreparedRows prepared;
  Eigen::MatrixXf z(X.cols(), kSingleTile);
  Eigen::RowVectorXf norm(kSingleTile);
  Tile K(m, kSingleTile);
  Vector values(m);
  z.setZero();  // a short tile is evaluated whole
  norm.setZero();
  for (Index first = 0; first < X.rows(); first += kSingleTile) {
    const Index n = std::min(kSingleTile, X.rows() - first);
    rows.topRows(n) = X.middleRows(first, n).cast<double>();
    kernel_.prepare(rows.topRows(n), prepared);
    for (Index r = 0; r < n; ++r) {
      z.col(r) = Eigen::Map<const Vector>(prepared.coordinates(r), X.cols()).cast<float>();
      norm[r] = static_cast<float>(prepared.norm(r));
    }
    const bool single = kernel_.row().single != nullptr;
    if (single) kernel_values(z, norm, K);
    for (Index r = 0; r < n; ++r) {
      if (single) values = K.col(r).matrix().cast<double>();
      if (single) out.row(first + r) = (intercept_.transpose() + values.transpose() * coef_).cast<float>();
      if (!single || (kernel_.stationary() && !(prepared.norm(r) <= kFarSingle))) {
        kernel_.expand(panels_, padded_, intercept_, prepared, r, 1, one);
        out.row(first + r) = one.row(0).cast<float>();
      }
    }
  }
}

}  // namespace kernsift
