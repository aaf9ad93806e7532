// Exact recursive ridge regression on features that are given: a posterior whose basis is the features themselves.
//
//   J = sum_i v_i |y_i - b - x_i'beta|^2 + alpha |beta|^2
//
// With a bias the first row learned is the origin of the coordinates w = [1; x - origin]: the bias is not penalised, so
// that J has the same minimum anywhere, and nothing cancels.
//
// With forgetting below 1 each row is followed by a step back to the prior (Posterior::fade), and the bias, if any, is
// a coefficient as all others, with the ridge; there is no origin.
#pragma once

#include "core/stream/posterior.hpp"

namespace kernsift {

class RecursiveLeastSquares {
 public:
  // alpha > 0, 0 < forgetting <= 1.
  RecursiveLeastSquares(Index n_features, Index n_outputs, double alpha, bool bias, double forgetting = 1);

  Index n_features() const { return origin_.size(); }
  Index n_outputs() const { return posterior_.n_outputs(); }
  double rows() const { return rows_; }  // learned and not taken back, the past discounted
  double rows_seen() const { return seen_; }
  bool forgets() const { return posterior_.fades(); }
  double alpha() const { return posterior_.alpha(); }

  // A row of n_features() and its targets; a negative weight takes it back, where nothing is forgotten. False where the
  // arithmetic cannot carry it: nothing has changed. `errors`, where given: of its prediction, one for each output.
  bool update(const double* x, const double* y, double weight, double* errors = nullptr);
  // The same for many rows, in order; positive weights by matrix products. Returns how many were refused. `errors`: a
  // row for each; those of rows without weight are not written.
  Index update_block(const Rows& X, const Rows& Y, const ConstVectorRef& weights, double* errors = nullptr);
  // Features that were 0 in every row so far.
  void grow(Index features);
  // Feature i and its coefficients go, the other ones as if it had never been there [JP 17]; later ones move up.
  void remove(Index i);

  void predict(const Rows& X, RowsOut out) const;
  // x'C x of each row: its variance in units of the noise, without its own noise.
  Vector leverage(const Rows& X);
  // Increase of the cost, over the outputs, when a feature goes: |beta_i|^2 / C_ii [JP 19].
  Vector deletion_scores();

  auto coefficients() const { return posterior_.theta().bottomRows(learning() ? n_features() : 0); }
  Vector intercept() const;
  Vector cost() const { return posterior_.cost(); }
  Vector noise_variance() const;
  Vector gcv();           // where nothing is forgotten
  Vector log_evidence();  // likewise
  double dof();
  Matrix covariance();  // of the coefficients, in units of the noise: n_features() square

  void save(Arrays& arrays);
  void load(const Arrays& arrays);

 private:
  bool learning() const { return !posterior_.bias_pending(); }
  double counted() const { return rows_ - (posterior_.has_bias() ? 1 : 0); }
  Index offset() const { return posterior_.offset(); }
  void count(double rows);
  void begin(const double* x, const double* y, double weight);
  void append_coordinate();
  Index light_rows(const Rows& X, const ConstVectorRef& weights, Index first, Index end);
  void coordinates(const Rows& X, MatrixRef W) const;

  Posterior posterior_;
  Vector origin_;
  double rows_ = 0, seen_ = 0, sum_log_weights_ = 0;
  Vector w_, nothing_;  // workspace: coordinates of a row, targets of none
  Matrix block_;
  RowMatrix apriori_;
};

}  // namespace kernsift
