// The inverse B^-1 of a square matrix with two different sides, and its determinant, kept current while B gains outer
// products, gains or loses a row and column: DefiniteInverse without symmetry.
//
// Every change returns false where its result would be singular to working precision; the inverse is then as it was.
#pragma once

#include "core/linalg/unsymmetric_inverse.hpp"

namespace kernsift {

class GeneralInverse {
 public:
  Index size() const { return inverse_.size(); }
  double log_det() const { return log_det_; }  // log of the absolute value
  double sign() const { return sign_; }        // of the determinant

  bool assign(const ConstMatrixRef& B);
  void assign_ridge(Index n, double ridge);  // B = ridge I
  void restore(const ConstMatrixRef& inverse, double log_det, double sign);

  // B <- B + weight u v' [LSTD normal].
  bool update(const ConstVectorRef& u, const ConstVectorRef& v, double weight);
  // B <- B + sum_r weights_r u_r v_r', the rows of U and V.
  bool update_block(const Rows& U, const Rows& V, const ConstVectorRef& weights);
  // B <- [B b; c' d] [LSTD grow].
  bool grow(const ConstVectorRef& b, const ConstVectorRef& c, double d);
  // The same where u = B^-1 b, v = B^-T c and the Schur complement d - c'u are known.
  bool border(const ConstVectorRef& u, const ConstVectorRef& v, double schur);
  // B loses row and column i [LSTD prune]; later ones move up.
  bool remove(Index i);

  void apply(const ConstVectorRef& x, VectorRef out) const { inverse_.apply(x, out); }
  void apply_transposed(const ConstVectorRef& x, VectorRef out) const { inverse_.apply_transposed(x, out); }
  auto view() const { return inverse_.view(); }
  // The largest singular value of B over the smallest. O(m^3).
  double condition() const;

 private:
  void count(double factor);
  void apply_both(const ConstVectorRef& u, const ConstVectorRef& v);  // left_ = B^-1 u, right_ = B^-T v

  UnsymmetricInverse inverse_;
  double log_det_ = 0, sign_ = 1;
  Vector left_, right_;  // workspace
};

}  // namespace kernsift
