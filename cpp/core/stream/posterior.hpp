// What the rows learned say of a model, in an orthonormal basis of the dictionary's span (MATH 1.2).
//
//   w = [1; L^-1 k_m(x)]  coordinates of a sample, from a Basis; the 1 only with a bias
//   C = (Z'VZ + alpha diag(0, I))^-1,  theta = C Z'V y,  xi = min J,  f(x) = w'theta
//
// The bias is seated by the first row and has no ridge. Leading coordinates of another kind, the constant and a linear
// part, are there from the first and have the ridge of all others.
//
// With a memory below 1 each row is followed by a step back to the prior (`fade`), C <- memory C + (1 - memory)/alpha I
// and theta <- sqrt(memory) theta: the coordinates are a stationary process of which every row is an observation, and
// the ridge never fades. Then xi = sum memory^age rho^2 / Delta, the discounted squares of standardised innovations,
// which is min J where nothing fades.
//
// It does not own the basis: whoever changes that calls `grow` or `remove` of every posterior on it, so that several,
// with ridges, weights and targets of their own, live on one span and one dictionary.
//
// Invariants: C is the inverse of the cross product of the rows seen, in the current basis; its kernel part has
// eigenvalues in (0, 1/alpha]; xi >= 0.
#pragma once

#include <Eigen/Cholesky>
#include <optional>
#include <utility>

#include "core/base/arrays.hpp"
#include "core/linalg/fading_inverse.hpp"
#include "core/stream/invariants.hpp"
#include "core/stream/row_scalars.hpp"

namespace kernsift {

class Posterior {
 public:
  // The Cholesky factor of C^-1, from the verbs that compute C afresh: what is derived from C can be so too.
  using Factor = Eigen::LLT<Matrix>;

  // With a bias neither leading coordinates nor a memory below 1.
  Posterior(double alpha, Index n_outputs, bool bias, Index leading = 0, double memory = 1);

  Index dimension() const { return C_.size(); }  // kernels and what leads them: the bias once it is seated
  Index offset() const { return bias_ ? (dimension() > 0 ? 1 : 0) : leading_; }
  Index kernels() const { return dimension() - offset(); }
  Index penalised() const { return bias_ ? kernels() : dimension(); }  // coordinates with a ridge, the last ones
  Index n_outputs() const { return theta_.cols(); }
  bool bias_pending() const { return bias_ && dimension() == 0; }
  bool has_bias() const { return bias_; }
  double alpha() const { return alpha_; }
  auto theta() const { return theta_.topRows(dimension()); }
  auto kernel_theta() const { return theta_.middleRows(offset(), kernels()); }
  double memory() const { return memory_; }
  bool fades() const { return memory_ < 1; }

  void reserve(Index dimension);

  // --- one row: look, then exactly one of normal / grow / forget with the same w ---
  // w, delta: coordinates of the row and its squared distance to the span; y, v: its targets and weight.
  RowScalars look(const ConstVectorRef& w, double delta, const double* y, double v);
  // Of the row of the last `look`: h = C w, and the residual y - w'theta.
  auto image() const { return row_.h.head(dimension()); }
  const Vector& residual() const { return row_.rho; }
  void normal(const ConstVectorRef& w, const RowScalars& row);
  void grow(const ConstVectorRef& w, const RowScalars& row);
  // A row learned earlier is forgotten: `row` looked at with minus its weight.
  void forget(const ConstVectorRef& w, const RowScalars& row);
  // The first row, when there is a bias: the constant takes it exactly.
  void seat_bias(const double* y, double v);

  // --- growing by a kernel exact on several rows, the current one among them and already learned (`normal`) ---
  // Z, Y, v: their coordinates (dimension() x n), targets (n x outputs) and weights; s: their coordinates along the new
  // direction. Returns the usefulness; afterwards image() is C Z V s.
  double look_exact(const ConstMatrixRef& Z, const ConstMatrixRef& Y, const ConstVectorRef& v, const ConstVectorRef& s);
  double schur() const { return exact_.schur; }
  const Vector& new_theta() const { return exact_.tau; }  // tau, outputs
  void grow_exact(const ConstVectorRef& s, const ConstVectorRef& v);
  // A direction more, of which the rows so far say nothing.
  void widen();

  // After each row that is learned: one step back to the prior.
  void fade() {
    if (!fades()) return;
    C_.fade(memory_, 1.0 / alpha_);
    theta_.topRows(dimension()) *= std::sqrt(memory_);  // [BEYOND B7]
  }

  // The basis was rotated and loses its last direction. False where rounding has left nothing of what the rows say of
  // it.
  bool remove(const Rotations& rotations);
  // The last column of C before the last `remove`, its corner included.
  auto removed_column() const { return row_.column.head(dimension() + 1); }

  // --- many rows that stay outside the dictionary: the normal step of each, in order, as matrix products ---
  // W: coordinates of the rows (dimension() x n); Y: n x outputs; v: n, positive. `apriori` gets the prediction of each
  // row before it was learned. In the covariance form C follows every run: 4m^2 flops a row, each followed by its
  // `fade`. False, and nothing is changed, where C has turned indefinite.
  bool learn_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori);
  // Of the last run of n rows: G and e, by which C lost GG' and theta won Ge after all fading.
  auto run_gain(Index n) { return run_.gain.topLeftCorner(dimension(), n); }
  auto run_innovations(Index n) const { return run_.residual.topRows(n); }
  // And of each of its rows the Delta, and the cost before it (n x outputs).
  auto run_deltas(Index n) const { return run_.Delta.head(n); }
  auto run_costs(Index n) const { return run_.cost.topRows(n); }
  // In the information form C^-1 = Z'VZ + alpha I is kept instead: m^2 flops a row, C only when it is left.
  // `apriori` gets the predictions of the model as it was settled last.
  void accumulate_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori);
  // Makes C^-1 beside C, once, for the information form. False, and nothing has changed, where C is so ill-conditioned
  // that inverting it would lose more digits than C has lost already.
  bool inform();
  bool accumulating() const { return information_.accumulating; }
  // The same in two steps, the first of which may run on any thread: sums of a run, and taking them in.
  struct Sums {
    SymmetricInverse information;  // Z'VZ
    Matrix gradient;               // sum v w (y - w'theta)
    Vector cost;                   // sum v (y - w'theta)^2
    Matrix weighted, error;        // workspace
  };
  Sums no_sums() const;
  void add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori, Sums& sums) const;
  void accumulate(const Sums& sums);
  // Prediction at coordinates w by the model as it was settled last.
  double at(const ConstVectorRef& w, Index output) const { return w.dot(theta_.col(output).head(w.size())); }
  // Back to the covariance form: the steps of one row, learn_run and growth need it.
  std::optional<Factor> leave_information();
  // C^-1 is no longer kept beside C: worth it where rows come one at a time, each of which would have to change both.
  // Whether it was.
  bool drop_information() { return std::exchange(information_.kept, false); }
  // In the covariance form: all of C written down, and every number finite. What reads the state needs it.
  void settle();

  // --- all rows ---
  // No rows on the same basis: a second pass begins. The first rows must then come in a run to accumulate.
  void restart();
  // The same for a memory among others, whose rows come in any form: the prior.
  void forget_all();
  // These rows and no others, on the same basis, in the covariance form: O(m^2 n + m^3). As accurate as by orthogonal
  // transformations of the rows: the solution is refined with their residuals.
  Factor learn_only(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v);
  // The same rows under another ridge, exactly. O(m^3), of a settled state. Nothing, and the ridge stays, where the
  // rows are lost in the rounding of the old ridge, beside which the new one is nothing.
  std::optional<Factor> change_ridge(double alpha);

  // --- read, once settled ---
  // out = C w, for a w of no row. It settles what C has to make up for.
  void apply(const ConstVectorRef& w, VectorRef out) { C_.apply_settled(w, out); }
  const Vector& cost() const { return xi_; }
  // The same before it is settled: accumulated rows count by their errors as they came.
  Vector cost_so_far() const { return accumulating() ? Vector(xi_ + information_.added.cost) : xi_; }
  double log_det() const { return log_det_; }  // log |Z'VZ + alpha diag(0, I)|, of a memory of 1
  Vector rss() const;                          // weighted residual sum of squares, per output
  double dof() const;                          // effective number of parameters
  double trace() const;                        // of C, which bounds its norm; settled or not
  Matrix kernel_inverse() const { return C_.dense().bottomRightCorner(kernels(), kernels()); }
  // Variance of a new observation at a row of coordinates w (columns of W), at squared distance delta to the span, in
  // units of the noise variance.
  Vector relative_variance(const ConstMatrixRef& W, const ConstVectorRef& delta) const;
  double relative_variance(double spread, double delta) const {  // spread = w'C w
    return 1.0 + spread + (alpha_ > 0 ? delta / alpha_ : 0.0);   // [MATH 1.9]
  }
  // w'C w' of each pair of columns of W.
  Matrix joint_spread(const ConstMatrixRef& W) const;
  // The ridge of the smallest GCV for these rows (RidgeProblem::best_gcv), of so much weight and so many; nothing where
  // rounding has left nothing to choose by.
  std::optional<double> best_ridge(double weight, double count) const;

  // Throws where assertions are on and the state is not sound.
  void check() const {
    if constexpr (invariants::kChecked) {
      invariants::check_inverse(C_, penalised(), alpha_);
      invariants::check_solution(theta(), xi_);
    }
  }

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index kernels, bool seated);

 private:
  auto penalised_theta() const { return theta_.middleRows(dimension() - penalised(), penalised()); }
  double most_of_trace() const;
  void invert_inverse();
  void begin_sums();
  void add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori, Sums& sums,
               SymmetricInverse& information) const;
  void invert(const Factor& factor);

  // The information form. Once made, C^-1 is kept up to date until a kernel is removed; while accumulating, C and
  // theta lag behind it by the rows whose gradient and cost (at theta) are in `added`.
  struct Information {
    bool kept = false, accumulating = false;
    SymmetricInverse matrix;  // here the matrix itself: the same three verbs
    Sums added;               // but for their information
  };
  struct OneRow {
    Vector h, rho, column;
  };
  struct ExactGrowth {
    double schur = 0;
    Vector b, tau, weighted;
    Matrix errors;
  };
  struct Run {
    Matrix gain, innovation, residual, cost;
    Vector scale, Delta;
  };

  double alpha_, memory_;
  bool bias_;
  Index leading_;
  FadingInverse C_;
  Matrix theta_;  // capacity x outputs
  Vector xi_;
  double log_det_ = 0;
  Information information_;
  OneRow row_;
  ExactGrowth exact_;
  Run run_;
};

}  // namespace kernsift
