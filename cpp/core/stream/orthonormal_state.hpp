// The model in an orthonormal basis of the dictionary's span (MATH 1.2): the default engine.
//
//   w(x) = [1; L^-1 k_m(x)]  coordinates of a sample, the 1 only with a bias
//   C = (Z'VZ + alpha diag(0, I))^-1,  theta = C Z'V y,  xi = min J
//   beta = L^-T theta,  P^-1 = L^-T C L^-1 (kernel part),  f(x) = w'theta
//
// Invariants: C is the inverse of the cross product of the rows seen, in the current basis; its kernel part has
// eigenvalues in (0, 1/alpha]; xi >= 0; while tracked and with nothing lagging, d is the diagonal of P^-1 and beta the
// coefficients.
#pragma once

#include <Eigen/Cholesky>
#include <utility>

#include "core/base/arrays.hpp"
#include "core/kernel/kernel_span.hpp"
#include "core/linalg/symmetric_inverse.hpp"
#include "core/stream/invariants.hpp"
#include "core/stream/row_scalars.hpp"

namespace kernsift {

class OrthonormalState {
 public:
  static constexpr bool kLearnsRuns = true;
  OrthonormalState(double alpha, Index n_outputs, bool bias);

  Index size() const { return span_.size(); }  // kernels
  Index dimension() const { return C_.size(); }  // kernels, and the bias once it is seated
  Index n_outputs() const { return theta_.cols(); }
  bool has_bias() const { return bias_; }
  bool bias_pending() const { return bias_ && dimension() == 0; }
  double alpha() const { return alpha_; }

  void reserve(Index kernels);

  // Kernel columns k_m(x) into coordinates: w = [1; L^-1 k], the 1 only with a bias. `W` has dimension() rows and
  // holds K in its last size() ones.
  void coordinates(MatrixRef W) const;

  // --- one row: look, then exactly one of normal / grow ---
  // k = k_m(x) of the row; y and v its targets and weight. Fills the workspace the steps below use.
  RowScalars look(const ConstVectorRef& k, double k_self, const double* y, double v);
  // The same from the coordinates of the row.
  RowScalars look_at(const ConstVectorRef& w, double k_self, const double* y, double v);
  const Vector& residual() const { return rho_; }
  auto coordinates_of_row() const { return w_.head(dimension()); }
  // a = K^-1 k of the row of the last `look`: its projection on the span, in the kernels. O(m^2); valid until the next step.
  Eigen::Map<const Vector> coefficients_of_row();
  double inverse_norm() const { return span_.inverse_norm(); }
  static constexpr double kResolution = KernelSpan::kResolution;
  void normal(const RowScalars& row);
  void grow(const RowScalars& row);
  // A row learned earlier is forgotten: `row` looked at with minus its weight.
  void forget(const RowScalars& row);

  // The first row, when there is a bias: the constant takes it exactly.
  void seat_bias(const double* y, double v);

  // --- many rows that stay outside the dictionary: the normal step of each, in order, as matrix products ---
  // W: coordinates of the rows (dimension() x n); Y: n x outputs; v: n, positive. `apriori` gets the prediction of
  // each row before it was learned. In the covariance form C follows every run: 4m^2 flops a row. False, and nothing is
  // changed, where C has turned indefinite.
  bool learn_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori);
  // In the information form C^-1 = Z'VZ + alpha I is kept instead: m^2 flops a row, C only when `settle` is called.
  // `apriori` gets the predictions of the model as it was settled last.
  void accumulate_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori);
  // Makes C^-1 beside C, once, for the information form. False, and nothing has changed, where C is so ill-conditioned
  // that inverting it would lose more digits than C has lost already.
  bool inform();
  bool accumulating() const { return accumulating_; }
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
  void leave_information();
  // C^-1 is no longer kept beside C: worth it where rows come one at a time, each of which would have to change both.
  // Whether it was.
  bool drop_information() { return std::exchange(informed_, false); }
  // The covariance form, and nothing owed to it: what reads the state needs it.
  void settle();

  // No rows on the same basis: a second pass begins. The first rows must then come in a run to accumulate.
  void restart();
  // These rows and no others, on the same basis, in the covariance form: O(m^2 n + m^3). As accurate as by orthogonal
  // transformations of the rows: the solution is refined with their residuals.
  void learn_only(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v);
  // The trace of C, which bounds its norm.
  double trace() const;
  // All rows so far count `factor` times what they did, the ridge as much as ever: with D = diag(0, I),
  // C^-1 <- factor C^-1 + (1 - factor) alpha D. O(m^3).
  void fade(double factor);
  // The same rows under another ridge, exactly. O(m^3). False, and the ridge stays, where the rows are lost in the rounding
  // of the old ridge, beside which the new one is nothing.
  bool change_ridge(double alpha);

  // --- at the cap ---
  // Keeps beta and the diagonal d of P^-1 current from now on: the pruning scores need them.
  void track_scores();
  // Where no kernel will leave: until `track_scores` again.
  void leave_scores() {
    tracking_ = false;
    n_lagging_ = 0;
  }
  // eps_i = sum over outputs of beta_i^2 / d_i: what the cost rises by when kernel i leaves [JP 19]. Needs track_scores.
  void scores(VectorRef scores);
  // The same as it would be after growing by the row of the last `look`: nothing is changed.
  // False if the numbers do not allow an answer.
  bool scores_after_growth(const RowScalars& row, VectorRef scores);
  // Growing by a kernel exact on several rows, the current one among them and already learned (`normal`). Z, Y, v:
  // their coordinates (dimension() x n), targets (n x outputs) and weights; s: their coordinates along the new
  // direction; w, delta: those of the newcomer. `look_exact` answers the usefulness and must come first.
  double look_exact(const ConstMatrixRef& Z, const ConstMatrixRef& Y, const ConstVectorRef& v,
                    const ConstVectorRef& s);
  bool scores_after_exact_growth(const ConstVectorRef& w, double delta, VectorRef scores);
  void grow_exact(const ConstVectorRef& w, double delta, const ConstVectorRef& s, const ConstVectorRef& v);

  void remove(Index i);
  // The change of basis of the last `remove`; the coordinate it leaves last is gone.
  const Rotations& rotations() const { return rotations_; }

  // --- read ---
  Matrix beta() const;           // m x outputs
  void beta(MatrixRef out) const;
  void predict(const ConstVectorRef& k, VectorRef out);  // f(x) = w'theta from k = k_m(x)
  Vector intercept() const;      // outputs
  auto bias() const { return theta_.topRows(dimension() - size()).reshaped(); }  // the same, empty without a seated bias
  const Vector& cost() const { return xi_; }
  double log_det() const { return log_det_; }  // log |Z'VZ + alpha diag(0, I)|
  Vector rss() const;            // weighted residual sum of squares, per output
  double dof() const;            // effective number of parameters
  Matrix inverse_P() const;      // kernel part of P^-1, the bias eliminated
  // For kernel columns K (m x n): spread = w'C w and delta = k(x,x) - |w|^2, clipped at 0. K is overwritten.
  void variance(MatrixRef K, const ConstVectorRef& k_self, VectorRef spread, VectorRef delta) const;

  // Throws where assertions are on and the state is not sound.
  void check() const {
    if constexpr (invariants::kChecked) {
      invariants::check_inverse(C_, size(), alpha_);
      invariants::check_solution(theta_.topRows(dimension()), xi_);
    }
  }

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index kernels, bool seated);

 private:
  Index offset() const { return bias_ ? 1 : 0; }
  void refresh_scores();
  void mend();
  void catch_up();
  void row_in_kernels();
  void remove_from_scores(Index i, const ConstVectorRef& c, const ConstVectorRef& row);
  double most_of_trace() const;
  RowScalars look_from_workspace(double k_self, const double* y, double v);
  void begin_accumulating();
  void invert_inverse();
  void begin_sums();
  void add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori, Sums& sums,
               SymmetricInverse& information) const;
  Matrix reweighed(double factor, double ridge) const;
  void reweigh(double factor, const Matrix& information, const Eigen::LLT<Matrix>& cholesky);
  void invert(const Eigen::LLT<Matrix>& factor);
  void border_in_kernels(const ConstVectorRef& w, double delta);

  double alpha_;
  bool bias_;
  KernelSpan span_;
  SymmetricInverse C_;
  Matrix theta_;  // capacity x outputs
  Vector xi_;
  double log_det_ = 0;
  bool tracking_ = false;
  Vector diagonal_;     // d: capacity
  Matrix beta_;         // capacity x outputs
  Index removals_ = 0;  // since both were computed from scratch
  // Normal steps that d and beta have not followed yet: h / sqrt(Delta) and rho / sqrt(Delta) of the row. L^-T costs a
  // pass over L, for one row as for three.
  Matrix lagging_, lagging_rho_;
  Index n_lagging_ = 0;
  // The information form. Once made, C^-1 is kept up to date until a kernel is removed; while accumulating, C and
  // theta lag behind it by the rows whose gradient and cost (at theta) are kept here.
  bool informed_ = false, accumulating_ = false;
  SymmetricInverse information_;  // here the matrix itself: the same three verbs
  Sums added_;                    // but for their information
  // workspace of one row
  Vector w_, h_, rho_, column_;
  Matrix in_kernels_;  // columns g = P^-1 k and a = K^-1 k of the row, once asked for
  bool in_kernels_known_ = false;
  Vector border_;  // of P^-1, for a growth that is exact on recent rows, once asked for
  bool border_known_ = false;
  Rotations rotations_;
  // workspace of a growth that is exact on recent rows
  double schur_ = 0;
  Vector tau_, weighted_;
  Matrix errors_;
  // workspace of a run
  Matrix gain_, innovation_, residual_;
};

}  // namespace kernsift
