// The model in an orthonormal basis of the dictionary's span (MATH 1.2): the default engine.
//
//   w(x) = [1; L^-1 k_m(x)]  coordinates of a sample, the 1 only with a bias
//   C = (Z'VZ + alpha diag(0, I))^-1,  theta = C Z'V y,  xi = min J
//   beta = L^-T theta,  P^-1 = L^-T C L^-1 (kernel part),  f(x) = w'theta
//
// Invariants: C is the inverse of the cross product of the rows seen, in the current basis; its kernel part has
// eigenvalues in (0, 1/alpha]; xi >= 0; d, while tracked, is the diagonal of P^-1.
#pragma once

#include "core/arrays.hpp"
#include "core/look.hpp"
#include "core/span.hpp"
#include "core/symmetric_inverse.hpp"

namespace kernsift {

class OrthonormalState {
 public:
  OrthonormalState(double alpha, Index n_outputs, bool bias);

  Index size() const { return span_.size(); }  // kernels
  Index dimension() const { return C_.size(); }  // kernels, and the bias once it is seated
  Index n_outputs() const { return theta_.cols(); }
  bool has_bias() const { return bias_; }
  bool bias_pending() const { return bias_ && dimension() == 0; }
  double alpha() const { return alpha_; }

  void reserve(Index kernels);

  // --- one row: look, then exactly one of normal / grow ---
  // k = k_m(x) of the row; y and v its targets and weight. Fills the workspace the steps below use.
  Look look(const ConstVectorRef& k, double k_self, const double* y, double v);
  const Vector& residual() const { return rho_; }
  void normal(const Look& row);
  void grow(const Look& row);

  // The first row, when there is a bias: the constant takes it exactly.
  void seat_bias(const double* y, double v);

  // --- at the cap ---
  // Keeps the diagonal of P^-1 current from now on (the pruning scores need it).
  void track_diagonal();
  // Scores of all kernels as they would be after growing by the row of the last `look`: nothing is changed.
  // False if the numbers do not allow an answer.
  bool scores_after_growth(const Look& row, VectorRef scores);
  void remove(Index i);

  // --- read ---
  Matrix beta() const;           // m x outputs
  Vector intercept() const;      // outputs
  const Vector& cost() const { return xi_; }
  double log_det() const { return log_det_; }  // log |Z'VZ + alpha diag(0, I)|
  Vector rss() const;            // weighted residual sum of squares, per output
  double dof() const;            // effective number of parameters
  Matrix inverse_P() const;      // kernel part of P^-1, the bias eliminated
  // For kernel columns K (m x n): spread = w'C w and delta = k(x,x) - |w|^2, clipped at 0. K is overwritten.
  void variance(MatrixRef K, const ConstVectorRef& k_self, VectorRef spread, VectorRef delta) const;

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index kernels, bool seated);

 private:
  Index offset() const { return bias_ ? 1 : 0; }
  void refresh_diagonal();
  void whitened_unit(Index i);

  double alpha_;
  bool bias_;
  Span span_;
  SymmetricInverse C_;
  Matrix theta_;  // capacity x outputs
  Vector xi_;
  double log_det_ = 0;
  bool tracking_ = false;
  Vector diagonal_;     // capacity
  Index removals_ = 0;  // since the diagonal was computed from scratch
  // workspace of one row
  Vector w_, h_, rho_, g_, a_, column_;
  Matrix beta_;
  Rotations rotations_;
};

}  // namespace kernsift
