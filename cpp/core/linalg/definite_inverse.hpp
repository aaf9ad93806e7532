// The inverse B^-1 of a symmetric positive definite B, and log|B|, kept current while B gains or loses weighted rows,
// and gains or loses a row and column.
//
// Every change returns false where its result would not be positive definite to working precision; the inverse is then
// as it was.
#pragma once

#include "core/linalg/symmetric_inverse.hpp"

namespace kernsift {

class DefiniteInverse {
 public:
  // Least pivot of a change, relative to what it is the difference of: below, nothing but rounding is left.
  static constexpr double kLeastPivot = 1e-14;

  Index size() const { return inverse_.size(); }
  double log_det() const { return log_det_; }

  bool assign(const ConstMatrixRef& B);      // reads the lower triangle
  void assign_ridge(Index n, double ridge);  // B = ridge I
  void restore(const ConstMatrixRef& inverse, double log_det);

  // B <- B + weight x x' [JP 9]; a negative weight takes a row back.
  bool update(const ConstVectorRef& x, double weight);
  // B <- B + sum_r weights_r x_r x_r', the x_r rows of X: by runs of rows (Woodbury), positive weights first.
  bool update_block(const Rows& X, const ConstVectorRef& weights);
  // B <- [B b; b' c] [JP 10].
  bool grow(const ConstVectorRef& b, double c);
  // The same where w = B^-1 b and the Schur complement c - b'w are known.
  bool border(const ConstVectorRef& w, double schur);
  // B loses row and column i [JP 17]; later ones move up.
  bool remove(Index i);

  // out = B^-1 x.
  void apply(const ConstVectorRef& x, VectorRef out) { inverse_.apply_settled(x, out); }
  void apply_rows(const Rows& X, RowsOut out);  // each row of X
  Vector quadratic(const Rows& X);              // x'B^-1 x of each row
  double diagonal(Index i) const { return inverse_.settled_diagonal(i); }
  Matrix dense();
  // The largest eigenvalue of B over the smallest. O(m^3).
  double condition();

 private:
  bool add_run(const ConstMatrixRef& W, double sign);
  bool append(const ConstVectorRef& w, double schur);

  SymmetricInverse inverse_;
  double log_det_ = 0;
  Vector image_;              // workspace
  Matrix gain_, innovation_;  // workspace of a run
};

}  // namespace kernsift
