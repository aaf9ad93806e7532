// The model as the papers write it: K^-1, P^-1 and beta explicit (000 sections 3.1-3.3, corrected after MATH 7).
// The literal reference, with the interface of OrthonormalState. It loses accuracy with the condition of K times
// that of P (MATH 8.1) and can turn indefinite at small alpha and novelty_tol; such rows are refused.
//
//   P = K~'VK~ + alpha K,   k = [1; k_m(x)] with a bias (whose row and column of P carry no penalty)
#pragma once

#include <limits>

#include "core/base/arrays.hpp"
#include "core/linalg/symmetric_inverse.hpp"
#include "core/stream/invariants.hpp"
#include "core/stream/row_scalars.hpp"

namespace kernsift {

class InverseState {
 public:
  static constexpr bool kLearnsRuns = false;
  InverseState(double alpha, Index n_outputs, bool bias);

  Index size() const { return K_inv_.size(); }
  Index dimension() const { return P_inv_.size(); }
  Index n_outputs() const { return beta_.cols(); }
  bool has_bias() const { return bias_; }
  bool bias_pending() const { return bias_ && dimension() == 0; }
  double alpha() const { return alpha_; }

  void reserve(Index kernels);

  RowScalars look(const ConstVectorRef& k, double k_self, const double* y, double v);
  const Vector& residual() const { return rho_; }
  Eigen::Map<const Vector> coefficients_of_row() const { return {a_.data(), size()}; }
  double inverse_norm() const { return std::numeric_limits<double>::infinity(); }  // the coefficients are at hand
  static constexpr double kResolution = 1e-9;  // of `is_resolved`: an explicit inverse keeps half as many digits
  void normal(const RowScalars& row);
  void grow(const RowScalars& row);
  void seat_bias(const double* y, double v);

  void settle() {}
  void leave_information() {}
  void track_scores() {}  // P^-1 is explicit
  void scores(VectorRef scores) const;
  bool scores_after_growth(const RowScalars& row, VectorRef scores);
  void remove(Index i);

  Matrix beta() const { return beta_.middleRows(offset(), size()); }
  void predict(const ConstVectorRef& k, VectorRef out) {
    out = intercept() + beta_.middleRows(offset(), size()).transpose() * k;
  }
  Vector intercept() const;
  const Vector& cost() const { return xi_; }
  double log_det() const { return log_det_; }
  Vector rss() const;
  double dof() const;
  Matrix inverse_P() const { return P_inv_.dense().bottomRightCorner(size(), size()); }
  void variance(MatrixRef K, const ConstVectorRef& k_self, VectorRef spread, VectorRef delta) const;

  // Throws where assertions are on and the state is not sound: the ridge bounds nothing of P^-1 itself, and the distances
  // that K^-1 gives are known to be rough.
  void check() const {
    if constexpr (invariants::kChecked) {
      invariants::check_inverse(P_inv_, 0, alpha_);
      invariants::check_inverse(K_inv_, 0, alpha_);
      invariants::check_solution(beta_.topRows(dimension()), xi_);
    }
  }

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index kernels, bool seated);

 private:
  Index offset() const { return bias_ ? 1 : 0; }
  void border(const ConstVectorRef& w_b, double Delta_b, const ConstVectorRef& a, double delta);

  double alpha_;
  bool bias_;
  SymmetricInverse K_inv_, P_inv_;
  Matrix beta_;  // capacity x outputs; row 0 is the bias
  Vector xi_;
  double log_det_ = 0;  // of the same matrix as OrthonormalState: log|P| - log|K|
  Vector k_, a_, g_, w_b_, rho_, u_;
};

}  // namespace kernsift
