// Monotone, piecewise linear functions of the features, one each: what a kernel measures its distances in.
//
//   w_j(x) = sum_b slope_jb h_jb(x),   h_jb(x) = clip((x - t_jb) / (t_j,b+1 - t_jb), 0, 1)             [BEYOND B10]
//
// Feature j has increasing knots t_j0, ..., t_jB and positive slopes, each the rise between two knots: w_j is 0 up to
// the first knot and constant from the last. One bin is one width, clipped; none (a single knot) switches the feature
// off. A value depends on the number alone, not on the row or the place of the feature.
#pragma once

#include "core/base/types.hpp"

namespace kernsift {

class Warp {
 public:
  Warp() = default;  // none
  // knots (d, B + 1) and slopes (d, B) for the largest B; a feature of fewer bins has NaN behind its last. Throws
  // std::invalid_argument, naming the feature, where knots do not increase or slopes are not positive.
  Warp(RowMatrix knots, RowMatrix slopes);

  bool none() const { return slopes_.rows() == 0; }
  Index n_features() const { return slopes_.rows(); }
  Index n_bins() const { return slopes_.cols(); }
  Index n_slopes() const { return n_slopes_; }  // of all features
  const RowMatrix& knots() const { return knots_; }
  const RowMatrix& slopes() const { return slopes_; }
  // The same knots with other slopes, given one after another, feature by feature.
  Warp with(const ConstVectorRef& slopes) const;

  // w_j(x_j) of one row of n_features() numbers.
  void values(const double* x, double* w) const;
  // Adds to out (n_slopes(), in the order of `with`) sum_i G(i, j) h_jb(x_ij) slope_jb: the derivative with regard to
  // log slope_jb of what has the derivative G(i, j) with regard to w_j(x_ij).                         [BEYOND B11]
  void add_slopes(const Rows& X, const Rows& G, VectorRef out) const;
  // How unlike in shape other slopes are, given by their logs: with r the log of their ratios to these, the sum over
  // the features of sum_b (r_jb - mean_b r_jb)^2. Adds `scale` times its gradient to `slope`, if given.
  double unlikeness(const ConstVectorRef& log_slopes, double scale, Vector* slope) const;  // [BEYOND B12]

 private:
  RowMatrix knots_, slopes_;
  Index n_slopes_ = 0;
  Matrix begin_, per_length_, rise_;  // (features in whole packets, bins): knots, 1 / lengths, slopes; 0 without a bin
};

}  // namespace kernsift
