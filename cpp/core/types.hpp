// The words every part shares: index, vector and matrix types, and views on rows of samples.
#pragma once

#ifndef EIGEN_MPL2_ONLY
#define EIGEN_MPL2_ONLY
#endif
#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif
#include <Eigen/Core>
#include <cstdint>

namespace kernsift {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;  // column-major: a column is one sample's coordinates
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using VectorRef = Eigen::Ref<Vector>;
using ConstVectorRef = Eigen::Ref<const Vector>;
using MatrixRef = Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>;
using ConstMatrixRef = Eigen::Ref<const Matrix, 0, Eigen::OuterStride<>>;
// Samples as numpy hands them over: one row a sample, rows contiguous.
using Rows = Eigen::Ref<const RowMatrix>;
using RowsOut = Eigen::Ref<RowMatrix>;

// Smallest multiple of `step` that is at least n.
constexpr Index round_up(Index n, Index step) { return (n + step - 1) / step * step; }

// Capacity that holds n and grows geometrically, so that appending is O(1) reallocations amortised.
constexpr Index grown_capacity(Index current, Index n) {
  return n <= current ? current : round_up(n > current + current / 2 ? n : current + current / 2, 8);
}

}  // namespace kernsift
