// Types that every part shares: index, vector and matrix types, and views on rows of samples.
#pragma once

#ifndef EIGEN_MPL2_ONLY
#define EIGEN_MPL2_ONLY
#endif
#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif
#include <Eigen/Core>
#include <cstdint>

#include "core/base/products.hpp"

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

// Rows of a matrix whose columns all begin where packets do. Eigen sums a column from its first aligned element on, so
// that with any other distance between columns the last bits of a sum would depend on the capacity, which no file
// keeps.
constexpr Index whole_packets(Index n) { return round_up(n, 8); }

// Capacity that holds n and grows geometrically, so that appending is O(1) reallocations amortised.
constexpr Index grown_capacity(Index current, Index n) {
  return n <= current ? current : whole_packets(n > current + current / 2 ? n : current + current / 2);
}

// A sum of a caller's numbers with the same last bits wherever they lie: Eigen adds up a vector from its first aligned
// element on, an expression from its first.
inline double sum_of(const ConstVectorRef& numbers) { return (1.0 * numbers).sum(); }

}  // namespace kernsift
