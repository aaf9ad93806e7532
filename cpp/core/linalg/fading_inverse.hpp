// The symmetric inverse of a state that forgets: C = a (S + b I).
//
// Back to the prior, C <- f C + (1 - f) prior I, changes a and b alone. Every other verb is that of SymmetricInverse,
// brought to S. With a = 1 and b = 0, a state that forgets nothing, C is S to the last bit.
#pragma once

#include "core/linalg/symmetric_inverse.hpp"

namespace kernsift {

class FadingInverse {
 public:
  struct Frame {
    double scale = 1, shift = 0;  // a, b
    void fade(double factor, double prior) {
      scale *= factor;
      shift += (1.0 - factor) * prior / scale;  // [BEYOND B7]
    }
  };

  Index size() const { return stored_.size(); }
  void reserve(Index n) { stored_.reserve(n); }

  // One step back to the prior.
  void fade(double factor, double prior) {
    frame_.fade(factor, prior);
    rebase_if_small();
  }
  // Several steps at once, `frame` being that after the last, and all that C loses on the way: C <- C - G G' after
  // them.
  void lose_and_fade(const ConstMatrixRef& G, const Frame& frame) {
    frame_ = frame;
    stored_.add_outer_block(G, -1.0 / frame.scale);
    rebase_if_small();
  }
  const Frame& frame() const { return frame_; }
  const SymmetricInverse& stored() const { return stored_; }

  double settled_diagonal(Index i) const { return frame_.scale * (stored_.settled_diagonal(i) + frame_.shift); }
  Vector diagonal() const { return frame_.scale * (stored_.diagonal().array() + frame_.shift); }
  Matrix dense() const;
  // C, settled and with a = 1 and b = 0.
  void assign(const ConstMatrixRef& inverse) {
    stored_.assign(inverse);
    frame_ = {};
  }
  // S, a and b as they were kept.
  void assign(const ConstMatrixRef& stored, const Frame& frame) {
    stored_.assign(stored);
    frame_ = frame;
  }

  void apply_settled(const ConstVectorRef& x, VectorRef out) {
    stored_.apply_settled(x, out);
    if (faded()) out = frame_.scale * (out + frame_.shift * x);
  }
  void apply_block(const ConstMatrixRef& X, MatrixRef out) const {
    stored_.apply_block(X, out);
    if (faded()) out = frame_.scale * (out + frame_.shift * X);
  }
  void column(Index i, VectorRef out) const {
    stored_.column(i, out);
    if (!faded()) return;
    out[i] += frame_.shift;
    out *= frame_.scale;
  }
  void settle() { stored_.settle(); }

  // C <- C + scale u u', applied when the next product reads it.
  void owe_outer(const ConstVectorRef& u, double scale) { stored_.owe_outer(u, scale / frame_.scale); }
  // C <- [C, column; column', corner].
  void append(const ConstVectorRef& column, double corner) {
    stored_.append(column, corner / frame_.scale - frame_.shift, frame_.scale);
  }
  // C^-1 <- [C^-1, b; b', b*] with w = C b and schur = b* - b'w, of a state that has not faded.
  void border(const ConstVectorRef& w, double schur) { stored_.border(w, schur); }
  // C^-1 loses its last row and column.
  void owe_remove_last() { stored_.owe_remove_last(frame_.shift); }
  void drop_last() { stored_.drop_last(); }
  // A rotation leaves the identity alone.
  void rotate(const Rotations& rotations, Index offset) { stored_.rotate(rotations, offset); }

 private:
  bool faded() const { return frame_.scale != 1 || frame_.shift != 0; }
  // S + b I is a difference of numbers as large as the prior / a, whose rounding a takes back: C is never off by more
  // than eps times the prior. Small a is only kept from leaving the range of a double, at one pass in many rows.
  void rebase_if_small() {
    constexpr double kLeast = 1.0 / 16;
    if (frame_.scale >= kLeast) return;
    stored_.settle();
    stored_.rescale(frame_.scale, frame_.scale * frame_.shift);
    frame_ = {};
  }

  SymmetricInverse stored_;
  Frame frame_;
};

}  // namespace kernsift
