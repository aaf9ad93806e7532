// Online LS-SVM: the normal, growing and pruning steps of Jung & Polani 2006 over a dictionary that follows the stream,
// in an orthonormal basis of its span. This file decides, row by row: look, judge, step. BlockLearner takes the same
// decisions for many rows at once.
//
// After every row the model is the exact minimiser of
//   J(beta, b) = sum_i v_i (y_i - b - k~_i'beta)^2 + alpha beta'K_mm beta                                [MATH 1.1]
// where k~_i is exact when row i is processed and an element admitted later adds the column K~ a* to earlier rows.
// With forgetting it is a mixture of memories, each of which returns to the prior at its own rate (Posterior, Mixture).
#pragma once

#include "core/stream/block_learner.hpp"
#include "core/stream/evidence.hpp"
#include "core/stream/kept_rows.hpp"
#include "core/stream/one_row.hpp"
#include "core/stream/stream_state.hpp"
#include "core/stream/target_range.hpp"

namespace kernsift {

class OnlineModel {
 public:
  OnlineModel(Kernel kernel, Index n_outputs, const OnlineSettings& settings);

  Index n_outputs() const { return leader().n_outputs(); }
  const OnlineSettings& settings() const { return settings_; }
  const Dictionary& dictionary() const { return state_.dictionary(); }
  const Counters& counters() const { return journal_.counters(); }
  std::int64_t rows_seen() const { return journal_.rows(); }                  // ignored rows included
  std::int64_t rows_learned() const { return state_.leader().learned.rows; }  // of positive weight

  // X: n x d, Y: n x outputs, v: n, non-negative. Everything finite: the caller has checked. However the rows are cut
  // into calls and blocks, the same rows become kernels and leave, in the same order.
  void learn(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog log);

  // Rows for the next call of `learn`, for a caller that does other work between calls. Independent of the number of
  // threads: another partition would round the sums differently.
  Index rows_a_step(bool exact_apriori) const { return blocks_.rows_a_step(*this, exact_apriori); }

  // A second pass: until `end_refit`, rows are learned by the model on the present dictionary alone, as if none had
  // been learned before.
  void begin_refit();
  void end_refit();

  // The same rows under another ridge, exactly: O(m^3). False, and the ridge stays, where nothing of the rows is left
  // beside the old one.
  bool change_ridge(double alpha);
  // The same for the ridge of the smallest GCV, for a model that forgets nothing.
  bool choose_ridge();

  // Deletes the kernels that lower the cost least, one by one, until `kernels` are left. [JP 19]
  void prune(Index kernels);

  // Brings everything up to date with the rows learned: call before reading anything below.
  void settle() {
    if (state_.accumulating()) forget_what_was_read();
    state_.settle();
  }

  // Coefficients of the kernels, computed on first use after a row was learned, and zeros for the elements that fill
  // the last panel.
  ConstMatrixRef coefficients() const;
  Vector intercept() const {
    coefficients();
    return constant_;
  }
  Matrix slopes() const {  // of the linear part, features x outputs; no rows without one
    coefficients();
    return slopes_;
  }
  // Least and largest prediction of each output, outputs x 2; no rows for a model without bounds.
  Matrix bounds() const { return range_.bounds(); }
  // The least and the largest targets seen, a row each, or none; and targets that another model of the stream has seen.
  Matrix target_range() const { return range_.ends(); }
  void see_targets(const Rows& Y) {
    for (Index i = 0; settings_.targets.bounded && i < Y.rows(); ++i) range_.add(Y.row(i).data());
  }
  const StreamState& state() const { return state_; }
  const KeptRows& kept() const { return kept_; }

  // What a kernel at each row would take from the cost, exact on the recent rows kept [BEYOND B5]; 0 where its distance
  // to the span is not resolved. O(m^2) each, and O(m + d) for each row kept. Call `settle` first.
  void score_candidates(const Rows& X, VectorRef out);

  // On up to `threads` threads, with the same result for any number of them.
  // Rows at any time, or each as the next of the stream.
  void predict(const Rows& X, RowsOut out, Index threads = 1, bool as_next = false) const;
  // The variance of a new observation at each row, n x outputs [MATH 1.9].
  void variance(const Rows& X, RowsOut out, Index threads = 1) const;

  // Of new observations at the rows.
  Joint covariance(const Rows& X) const;
  // Whether the noise of each output depends on the input at present.
  std::vector<bool> uneven_noise() const;

  // --- one row at a time, nothing allocated ---
  void update(const ConstVectorRef& x, const ConstVectorRef& y, double v) {
    prepare_row(x);
    learn_prepared(y, v);
  }
  // The same in two steps, for a caller that must know k(x, x) in between: only the second changes the model.
  void prepare_row(const ConstVectorRef& x) {
    if (coordinates_known_ && one_.x.row(0).transpose() == x) return;  // predicted just now
    one_.prepare(dictionary().kernel(), x, prepared_);
    coordinates_known_ = false;
  }
  double prepared_self() const { return dictionary().kernel().self(prepared_, 0); }
  // k(x, x) with all there is beside the kernels: its square must not overflow.
  double prepared_size(const ConstVectorRef& x) const { return prepared_self() + state_.basis().linear_self(x); }
  void learn_prepared(const ConstVectorRef& y, double v);
  void predict_one(const ConstVectorRef& x, VectorRef out);
  // Standard deviations of an interval to either side, an output each (Coverage).
  Vector interval_widths(double quantile) const { return state_.coverage().width(quantile); }
  // How many times as large errors are for a row that is not the next: without the forecast of errors.
  Vector unaided() const { return state_.unaided(); }
  // Variance of a new observation at the row of the last `predict_one`.
  void variance_one(VectorRef out);
  // What is said of the next row, if the model predicts so.
  double next(Index o, double predicted) const { return range_.within(o, state_.corrected(o, predicted)); }
  // What each memory predicts there (outputs x memories, column by column) and what the forecast of errors says; and
  // that such predictions, made earlier, are those to learn from when the next row is learned.
  Index member_numbers() const { return state_.member_numbers(); }
  void predict_members(VectorRef out);
  void weigh_by(const ConstVectorRef& predictions) { state_.weigh_by(predictions); }
  // The same for intervals; `constant`: of the last `variance_one`, with constant noise.
  void constant_variance_one(VectorRef out) const { out = state_.constant_variance_one(); }
  void compare_with(const ConstVectorRef& mean, const ConstVectorRef& variance, const ConstVectorRef& constant) {
    state_.compare_with(mean, variance, constant);
  }

  // From the state alone [MATH 1.8]; per output, of the memory with the largest weight.
  Vector cost() const { return leader().cost(); }
  Vector rss() const { return leader().rss(); }
  double noise_variance(Index output) const { return state_.leader().noise_variance(output); }
  double log_det() const { return leader().log_det(); }
  double dof() const { return leader().dof(); }
  double rows_counted() const { return state_.leader().learned.counted; }
  double effective_rows() const { return state_.leader().effective_rows(); }
  double sum_log_weights() const { return state_.leader().learned.sum_log_weights; }
  Index penalised() const { return leader().penalised(); }

  Arrays save() const;
  void load(const Arrays& arrays);

 private:
  friend class BlockLearner;
  void learn_row(const double* x, Index row, const double* y, double v, double* apriori, Index i, const EventLog& log);
  const Posterior& leader() const { return state_.leader().posterior; }
  const LearnedRows& learned() const { return state_.decider().learned; }  // as the decider counts them
  RowScalars look(const Sample& sample, const double* y, double v, double* apriori, bool compare = true);
  Event decide(const RowScalars& row, const Sample& sample, const double* y, double v);
  ConstVectorRef predicted_coordinates();
  void bound_rows(const Rows& Y, const ConstVectorRef& v, RowsOut apriori);
  // The model changes: before it does.
  void forget_what_was_read() { coef_.known = coordinates_known_ = read_ = false; }
  Event admit(const RowScalars& row, const Sample& sample, bool exactly);
  // Whether a row is learned without judging it, `ahead` rows from now.
  bool frozen(Index ahead = 0) const {
    return refit_.on || (settings_.full(dictionary().size()) &&
                         (settings_.on_full == OnFull::stop ||
                          (settings_.swap_until > 0 && rows_learned() + ahead >= settings_.swap_until)));
  }
  // A frozen dictionary has no use for pruning scores; after a second pass the stream may go on as before.
  void leave_scores_if(bool frozen_now) {
    if (frozen_now && !refit_.on) state_.leave_scores();
  }
  bool keeps_recent() const { return settings_.exact_rows > 0 && (settings_.window || !frozen()); }

  struct SecondPass {
    bool on = false;
    Journal before;
  };

  OnlineSettings settings_;
  StreamState state_;
  Journal journal_;
  KeptRows kept_;
  SecondPass refit_;
  PreparedRows prepared_;
  OneRow one_;
  bool coordinates_known_ = false;  // those of the prepared row are in one_.w
  bool read_ = false;               // by `predict_one`, since rows were learned
  Vector scores_;                   // workspace
  mutable Coefficients coef_;
  mutable Vector constant_;  // as old as coef_, like the slopes
  mutable Matrix slopes_;
  TargetRange range_;
  BlockLearner blocks_;
};

}  // namespace kernsift
