// f(x) = intercept + sum_i coef_i k(x_i, x) with kernel values in single precision, for rows that came in it.
//
// Half the bytes and twice the lanes. The sums over the kernels stay in double: coefficients of 1e3 that cancel are
// common, and in single they would leave no digit. What single costs is the kernel values: about 6e-8 |z|^2 of the
// exponent for a row z (in the kernel's own coordinates), so rows further from the centre than sqrt(kFarSingle) are
// left to double.
#pragma once

#include "core/kernel/kernels.hpp"

namespace kernsift {

// Kernel values of the sums that the table names, in place.
namespace single_values {
using Values = void(const Kernel&, Eigen::ArrayXXf&);
Values exponential, matern32, matern52, polynomial, linear;
}  // namespace single_values

using SingleRows = Eigen::Ref<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using SingleRowsOut = Eigen::Ref<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

class SingleExpansion {
 public:
  // vectors: m x d, coef: m x outputs.
  SingleExpansion(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& coef,
                  const ConstVectorRef& intercept);

  void evaluate(const SingleRows& X, SingleRowsOut out, Index threads = 1) const;

 private:
  using Tile = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic>;
  void evaluate_part(const SingleRows& X, SingleRowsOut out) const;
  void kernel_values(const Eigen::MatrixXf& z, const Eigen::RowVectorXf& norm, Tile& K) const;

  Kernel kernel_;
  Panels panels_;  // for rows that are far
  Matrix coef_, padded_;
  Vector intercept_;
  Tile vectors_;  // in the kernel's coordinates: a column holds one of them for the lanes of a packet of vectors
  Eigen::ArrayXf norms_;
};

}  // namespace kernsift
