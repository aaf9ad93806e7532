// The inverse B^-1 of an unsymmetric matrix kept current while B gains outer products, a row and column, or loses one:
// SymmetricInverse for two different sides.
//
// Invariant: entries beyond size() are never read.
#pragma once

#include "core/base/types.hpp"
#include "core/linalg/rotations.hpp"

namespace kernsift {

class UnsymmetricInverse {
 public:
  Index size() const { return size_; }
  void reserve(Index n);

  auto view() const { return storage_.topLeftCorner(size_, size_); }
  void assign(const ConstMatrixRef& inverse);

  // out = B^-1 x, out = B^-T x.
  void apply(const ConstVectorRef& x, VectorRef out) const;
  void apply_transposed(const ConstVectorRef& x, VectorRef out) const;

  // B^-1 <- B^-1 + scale u v'. With u = B^-1 b, v = B^-T c and scale = -1/(1 + c'u): B <- B + b c' [LSTD normal].
  void add_outer(const ConstVectorRef& u, const ConstVectorRef& v, double scale);
  // B <- [B b; c' b*] with u = B^-1 b, v = B^-T c and Schur complement schur = b* - c'u [LSTD grow].
  void border(const ConstVectorRef& u, const ConstVectorRef& v, double schur);
  // B loses row and column i [LSTD prune]; later ones move up.
  void remove(Index i);
  // The inverse itself loses its last row and column.
  void drop_last() { --size_; }

  // B^-1 <- G' B^-1 G for a chain of rotations of the coordinates.
  void rotate(const Rotations& rotations);
  // B^-1 <- memory B^-1 + (1 - memory) prior I: one step back to the prior.
  void fade(double memory, double prior);

 private:
  Matrix storage_;  // capacity x capacity
  Vector column_, row_;
  Index size_ = 0;
};

}  // namespace kernsift
