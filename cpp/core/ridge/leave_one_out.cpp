#include "core/ridge/leave_one_out.hpp"

#include "core/base/multiply.hpp"

namespace kernsift {

LeaveOneOutGrid::LeaveOneOutGrid(const ConstVectorRef& values, const ConstMatrixRef& projected,
                                 const ConstVectorRef& alphas, double bias)
    : shrink_((values.replicate(1, alphas.size()).rowwise() + alphas.transpose()).cwiseInverse()),
      theta_(values.size(), alphas.size() * projected.cols()),
      bias_(bias),
      sums_(Vector::Zero(alphas.size())),
      least_(Vector::Ones(alphas.size())) {
  const Index c = projected.cols();
  for (Index i = 0; i < alphas.size(); ++i) theta_.middleCols(i * c, c) = shrink_.col(i).asDiagonal() * projected;
}

void LeaveOneOutGrid::add(const ConstMatrixRef& u, const ConstMatrixRef& Y, const ConstVectorRef& v,
                          const ConstVectorRef& leaves) {
  const Index c = Y.cols();
  leverage_.resize(u.cols(), shrink_.cols());
  fit_.resize(u.cols(), theta_.cols());
  multiply(Matrix(u.cwiseAbs2()).transpose(), shrink_, leverage_);
  multiply(u.transpose(), theta_, fit_);
  for (Index i = 0; i < sums_.size(); ++i) {
    const auto slack = (1.0 - leaves.array() * (leverage_.col(i).array() + bias_)).eval();
    least_[i] = std::min(least_[i], slack.minCoeff());
    const auto e2 = (Y - fit_.middleCols(i * c, c)).rowwise().squaredNorm().array();
    sums_[i] += (v.array() * e2 / slack.max(kLeastSlack).square()).sum();  // [MATH LOO]
  }
}

}  // namespace kernsift
