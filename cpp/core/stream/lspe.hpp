// LSPE(lambda), least-squares policy evaluation (Nedic & Bertsekas 2003; with kernels Jung & Polani 2007): one step an
// observation towards the fixed point of LSTD,
//   theta <- theta + B^-1 (b - (A + alpha I) theta),  A = Z'H, b = Z'r, B = W'W + alpha I              [LSTD lspe]
// in the orthonormal basis, W the rows w(s)'. B is symmetric and positive definite where A + alpha I is nearly
// singular.
#pragma once

#include "core/base/arrays.hpp"
#include "core/linalg/unsymmetric_inverse.hpp"

namespace kernsift {

class PolicyEvaluation {
 public:
  Index size() const { return theta_size_; }
  auto theta() const { return theta_.head(size()); }

  void reserve(Index n);
  void assign(const ConstMatrixRef& A, const ConstVectorRef& b, const ConstMatrixRef& inverse);

  void learn(const ConstVectorRef& z, const ConstVectorRef& h, const ConstVectorRef& w, double r);
  // A new direction, in which the last transition alone has coordinates.
  void grow(const ConstVectorRef& z, const ConstVectorRef& h, const ConstVectorRef& w, double z_along, double h_along,
            double w_along, double r, double alpha);
  void remove_last(const Rotations& rotations);
  // Returns the length of the step relative to theta.
  double step(double alpha);

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index size);

 private:
  UnsymmetricInverse inverse_;  // B^-1
  Matrix A_;
  Vector b_, theta_, rest_, change_;
  Index theta_size_ = 0;
};

}  // namespace kernsift
