// The covariance of the error of a value function, in units of the noise variance.
//
// With r = H theta* + noise and the prior theta* ~ N(0, noise / alpha), theta = C Z'r errs with the covariance
//   S = C (Z'Z + alpha I) C'                                                                          [LSTD variance]
// which for z = h is C: the posterior of GPTD with white noise (Engel, Mannor & Meir 2003). It follows theta: a
// transition with gain g = Cz / Delta is a step in Joseph's form, and S stays positive definite where C does not.
#pragma once

#include "core/base/arrays.hpp"
#include "core/linalg/unsymmetric_inverse.hpp"

namespace kernsift {

class ValueVariance {
 public:
  // S as a dense matrix with both triangles.
  auto view() const { return S_.view(); }
  double noise() const { return count_ > 0 ? squares_ / count_ : 0.0; }

  void reserve(Index n);
  void assign(const ConstMatrixRef& S, double noise, double count);

  // A transition with temporal difference h and gain g; rho = r - h'theta before it.
  void learn(const ConstVectorRef& g, const ConstVectorRef& h, double rho);
  // A new direction, in which the last transition alone has coordinates: z in its trace and `along` in h. u = Cz and q,
  // the Schur complement, of the C that has learned it.
  void grow(const ConstVectorRef& u, const ConstVectorRef& h, double z, double along, double q, double alpha);
  // A direction without transitions, with the prior's variance.
  void pad(double prior);
  // The last coordinate is conditioned on; c is the last column of C over its corner.
  void remove_last(const ConstVectorRef& c);
  void drop_last() { S_.drop_last(); }
  void rotate(const Rotations& rotations) { S_.rotate(rotations); }
  void fade(double memory, double prior);

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index size);

 private:
  UnsymmetricInverse S_;  // the inverse of the precision, kept by the same verbs as C
  double squares_ = 0, count_ = 0;
  Vector q_, t_;  // workspace
};

}  // namespace kernsift
