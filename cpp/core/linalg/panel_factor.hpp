// A few neighbouring rows of the factor L of a span, arranged so that coordinates follow from kernel values by
// products alone, without packing: L_pp^-1 (k_p - L_p w) for the rows p, w the coordinates known before them.
#pragma once

#include <vector>

#include "core/base/types.hpp"

namespace kernsift {

// Matrices in panels of eight rows, column after column inside a panel: what a tile of the product reads in order.
// The other factor is columns given by their addresses, and the result has room for whole panels.
class PanelMatrix {
 public:
  static constexpr Index kRows = 8;

  // All zero, n rows, k columns. Allocates only when it has to grow.
  void reset(Index n, Index k);
  Index padded_rows() const { return panels_ * kRows; }
  double& operator()(Index i, Index k) { return values_[offset(i, k)]; }
  double operator()(Index i, Index k) const { return values_[offset(i, k)]; }

  // out(i, c) += A(i, :) x_c for the panels that hold the first `rows` rows.
  void add_product(Index rows, const double* const* x, MatrixRef out) const;
  // The first `rows` rows of a lower triangle times the columns of `inout`, in their place.
  void triangular_product(Index rows, MatrixRef inout) const;

 private:
  Index offset(Index i, Index k) const { return (i / kRows * columns_ + k) * kRows + i % kRows; }
  Vector values_;  // aligned
  Index panels_ = 0, columns_ = 0;
};

class PanelFactor {
 public:
  static constexpr Index kSteps = 32;  // most rows

  // No rows yet; `before` coordinates come before them.
  void begin(Index before);
  // The next row of L: (w, s), w of before + size() coordinates.
  void append(const ConstVectorRef& w, double s);
  Index before() const { return before_; }
  Index size() const { return size_; }
  Index padded() const { return round_up(size_, PanelMatrix::kRows); }

  // K holds k(element i of these rows, x_c) and room for padded() rows; known[c] the `before` coordinates of x_c. The
  // coordinates that follow, in the place of K [MATH 1.2].
  void coordinates(const double* const* known, MatrixRef K) const;

 private:
  PanelMatrix below_, inverse_;  // -L_p, L_pp^-1
  Index before_ = 0, size_ = 0;
};

}  // namespace kernsift
