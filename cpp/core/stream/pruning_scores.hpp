// Pruning scores eps_i = |beta_i|^2 / d_i, the exact increase of the cost when kernel i goes [JP 19], of one posterior
// on a span: beta = L^-T theta are its coefficients, d the diagonal of P^-1 = L^-T C L^-1.
//
// From `track` on both are kept current, at O(m) a step beside one pass over L for three rows: normal steps are kept
// back and followed together. Each step of the posterior has its counterpart here.
//
// A memory that fades returns to the prior, whose own diagonal is that of K^-1 / alpha: kappa, the diagonal of K^-1, is
// then kept too.
//
// Invariant: while tracked and with nothing lagging, d is the diagonal of P^-1 and beta the coefficients.
#pragma once

#include "core/kernel/kernel_span.hpp"
#include "core/stream/posterior.hpp"

namespace kernsift {

// Scores after growth along a new direction, from beta and d before: P^-1 is bordered by w and v (the same where it is
// symmetric) with Schur complement delta * schur, and theta gains tau, one an output. `d` becomes that after growth;
// where it comes out negative its absolute value counts.
void bordered_scores(const ConstMatrixRef& beta, const ConstVectorRef& w, const ConstVectorRef& v, double delta,
                     double schur, const double* tau, VectorRef d, VectorRef scores);

// Scores as they would be after growing by a row that has not been learned [MATH 1.7]. In: beta and d before the row,
// g = P^-1 k (kernel part), a = K^-1 k, rho the a-priori residual. False where a d_i comes out non-positive: the state
// has broken down.
bool scores_after_growth(const RowScalars& row, const ConstMatrixRef& beta, const ConstVectorRef& d,
                         const ConstVectorRef& g, const ConstVectorRef& a, const ConstVectorRef& rho, double alpha,
                         VectorRef scores);

class PruningScores {
 public:
  explicit PruningScores(Index n_outputs) : beta_(0, n_outputs) {}

  bool tracking() const { return tracking_; }
  // From now on; O(m^3) unless it is so already.
  void track(const KernelSpan& span, Posterior& posterior);
  // Where no kernel will leave: until `track` again.
  void leave() {
    tracking_ = false;
    lagging_.count = 0;
  }

  // --- of the row at coordinates w that the posterior has looked at; `begin_row` before it does ---
  void begin_row() { row_known_ = border_known_ = false; }
  // a = K^-1 k, the coefficients of its projection on the span. O(m^2); valid until the next step.
  Eigen::Map<const Vector> projection(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w);
  // The scores as they would be after growing by the row. False if the numbers do not allow it.
  bool after_growth(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w, const RowScalars& row,
                    VectorRef scores);
  // The same by a row that is learned already and exact on several, after `look_exact`; delta: its distance.
  bool after_exact_growth(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w, double delta,
                          VectorRef scores);

  // --- called before the posterior's step of that name, the last one before the span's ---
  void grow(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w, const RowScalars& row);
  void grow_exact(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w, double delta);
  void begin_removal(const KernelSpan& span, Index i);

  // --- called after it ---
  void normal(const KernelSpan& span, const Posterior& posterior, const RowScalars& row);
  void forget(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w, const RowScalars& row);
  void run(const KernelSpan& span, Posterior& posterior, Index rows);  // learn_run: overwrites run_gain
  // `rows` steps back to the prior, before anything else of a run of rows and after all else of one row.
  void fade(const Posterior& posterior, Index rows = 1);
  void remove(const KernelSpan& span, const Rotations& rotations, Posterior& posterior, Index i, bool lost);
  void renew(const KernelSpan& span, const Posterior& posterior, const Posterior::Factor& factor);  // what returns one
  // Nothing lagging, and every number finite.
  void settle(const KernelSpan& span, Posterior& posterior);

  // eps of all kernels. Needs `track`.
  void scores(const KernelSpan& span, VectorRef scores);

  void save(Arrays& arrays, Index kernels) const;
  void load(const Arrays& arrays, Index kernels);

 private:
  void reserve(Index kernels);
  void refresh(const KernelSpan& span, Posterior& posterior);
  void catch_up(const KernelSpan& span);
  void follow(const ConstMatrixRef& G);
  void row_in_kernels(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w);
  void border_in_kernels(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w, double delta);

  // Normal steps that d and beta have not followed yet: h / sqrt(Delta) and rho / sqrt(Delta) of the row. L^-T costs a
  // pass over L, for one row as for three.
  struct Lagging {
    Matrix h, rho;
    Index count = 0;
  };

  bool tracking_ = false, fades_ = false;
  Vector diagonal_;     // d: capacity
  Vector kappa_;        // only of a memory that fades
  Matrix beta_;         // capacity x outputs
  Index removals_ = 0;  // since both were computed from scratch
  Lagging lagging_;
  Matrix in_kernels_;  // columns g = P^-1 k and a = K^-1 k of the row, once needed; and room for one that lags
  bool row_known_ = false;
  Vector border_;  // w_b, the border of P^-1 in a growth that is exact on recent rows, once needed
  bool border_known_ = false;
  Vector unit_;  // workspace
  Matrix image_, fresh_ = Matrix(0, 2);
};

}  // namespace kernsift
