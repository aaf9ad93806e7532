// Online LS-SVM, one row at a time: the normal, growing and pruning steps of 000 over a dictionary that follows the
// stream. `State` is how the model is represented: OrthonormalState (default) or InverseState (the papers' form);
// both take the same decisions from the same four scalars.
//
// After every row the model is the exact minimiser of
//   J(beta, b) = sum_i v_i (y_i - b - k~_i'beta)^2 + alpha beta'K_mm beta                                [MATH 1.1]
// where k~_i is exact when row i is processed and an element admitted later adds the column K~ a* to earlier rows.
// With forgetting below 1 that holds for the ridge of the moment, between 0.82 and 1/forgetting times alpha.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/kernel/dictionary.hpp"
#include "core/stream/admission.hpp"
#include "core/stream/inverse_state.hpp"
#include "core/stream/orthonormal_state.hpp"
#include "core/stream/recent_rows.hpp"

namespace kernsift {

// What an admission means when the dictionary is full.
enum class OnFull : std::uint8_t {
  prune,        // the kernel that lowers the cost least leaves, perhaps the newcomer itself [MATH 1.7]
  stop,         // the dictionary is frozen: from then on every row is a normal step
  drop_oldest,  // the oldest kernel leaves
};
OnFull on_full(const std::string& name);  // throws std::invalid_argument
const char* on_full_name(OnFull policy);

struct OnlineSettings {
  double alpha;
  Admission admission;
  Index max_basis;  // 0: no cap
  bool fit_intercept;
  // Beyond the papers; the explicit engine has none of it.
  Index swap_until = 0;    // rows after which a full dictionary is frozen; 0: never
  Index exact_rows = 0;    // recent rows on which a new kernel is exact; 0: the current one
  double forgetting = 1;   // weight of a row against the next
  bool window = false;     // the exact rows are all there is: older ones are forgotten
  double hysteresis = 1;   // a kernel leaves for a newcomer this many times as useful, at most
  OnFull on_full = OnFull::prune;  // either engine
};

// What `learn` reports for each row.
struct LearnLog {
  RowsOut apriori;        // n x outputs: the prediction before the row was learned
  std::uint8_t* outcome;  // n: an Outcome
  std::int64_t* victim;   // n: row number of the element evicted, or -1
  // False where nobody asks for the a-priori predictions: the block path may then answer with those of a model a
  // little older, and so save half of its work.
  bool exact_apriori = true;
  // Rows that change no dictionary are learned on up to so many threads, with the same result for any number.
  Index threads = 1;
};

template <class State>
class OnlineLSSVM {
 public:
  OnlineLSSVM(Kernel kernel, Index n_outputs, const OnlineSettings& settings);

  Index n_outputs() const { return state_.n_outputs(); }
  const OnlineSettings& settings() const { return settings_; }
  const Dictionary& dictionary() const { return dictionary_; }
  const State& state() const { return state_; }
  const Counters& counters() const { return counters_; }
  std::int64_t rows_seen() const { return rows_seen_; }  // ignored rows included
  std::int64_t rows_learned() const { return t_; }       // t: rows of positive weight

  // X: n x d, Y: n x outputs, v: n, non-negative. Everything finite: the caller has checked. However the rows are cut
  // into calls and blocks, the same rows become kernels and leave, in the same order.
  void learn(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog log);

  // Rows for the next call of `learn`, for a caller that wants to do something else in between now and then. The number
  // of threads has no part in it: sums of other parts would be other sums.
  Index rows_a_step(bool exact_apriori) const;

  // A second pass: until `end_refit`, rows are learned by the model on the present dictionary alone, as if none had been
  // learned before.
  void begin_refit();
  void end_refit();

  // The same rows under another ridge, exactly: O(m^3). False, and the ridge stays, where nothing of the rows is left
  // beside the old one. OrthonormalState only.
  bool change_ridge(double alpha);

  // Deletes the kernels that lower the cost least, one by one, until `kernels` are left. [JP 19]
  void prune(Index kernels);

  // Brings everything up to date with the rows learned: call before reading anything below.
  void settle() {
    if constexpr (State::kLearnsRuns)
      if (state_.accumulating()) coef_known_ = false;
    state_.settle();
  }

  // Coefficients of the kernels, computed on first use after a row was learned, and zeros for the elements that fill the
  // last panel.
  ConstMatrixRef coefficients() const;

  // On up to `threads` threads, with the same result for any number of them.
  void predict(const Rows& X, RowsOut out, Index threads = 1) const;

  // --- one row at a time, nothing allocated ---
  void update(const ConstVectorRef& x, const ConstVectorRef& y, double v);
  // The same in two steps, for a caller that must know k(x, x) in between: only the second changes the model.
  void prepare_row(const ConstVectorRef& x);
  double prepared_self() const { return dictionary_.kernel().self(prepared_, 0); }
  void learn_prepared(const ConstVectorRef& y, double v);
  void predict_one(const ConstVectorRef& x, VectorRef out);
  // Steps first .. last - 1 of: predict row i (its mean and, if `variance` has rows, the variance of a new observation),
  // then learn row i - delay. Rows to learn run on `delay` steps behind the last prediction.
  void prequential(const Rows& X, const Rows& Y, const ConstVectorRef& v, Index delay, Index first, Index last,
                   RowsOut mean, RowsOut variance, std::int64_t* n_basis);

  // spread = w'C w and delta = distance to the span, for the predictive variance [MATH 1.9].
  void variance(const Rows& X, VectorRef spread, VectorRef delta, Index threads = 1) const;

  // From the state alone [MATH 1.8]; per output.
  Vector cost() const { return state_.cost() * scale(); }
  Vector rss() const { return state_.rss() * scale(); }
  Vector gcv() const;
  Vector noise_variance() const;
  Vector log_evidence() const;

  Arrays save() const;
  void load(const Arrays& arrays);

 private:
  struct Event {
    Outcome outcome;
    std::int64_t victim;
  };
  // `row` and `i` are a row's places in the prepared chunk and in the call.
  void learn_row(const Rows& X, Index row, Index i, const Rows& Y, const ConstVectorRef& v, LearnLog& log);
  Event decide(const RowScalars& look, double k_self, const double* x, Index row, const double* y, double v);
  bool is_resolved(double delta, double k_self);
  Event admit(const RowScalars& look, double k_self, const double* x, Index row);
  Event admit_exactly(const RowScalars& look, double k_self, const double* x, Index row);
  void append(const double* x, Index row);
  void count_row(const double* y, double v);
  void record(const Event& event, Index i, LearnLog& log);
  // online_block.cpp
  void learn_block(const Rows& X, Index row, Index first, Index count, const Rows& Y, const ConstVectorRef& v,
                   LearnLog& log);
  void learn_alone(const Rows& X, Index row, Index column, Index first, Index count, const Rows& Y,
                   const ConstVectorRef& v, LearnLog& log);
  void screen(Index row, Index count);
  void learn_run(Index row, Index begin, Index count, Index first, const Rows& Y, const ConstVectorRef& v,
                 LearnLog& log);
  void follow(const Event& event, const RowScalars& look, Index row, Index column, Index count);
  // online_parts.cpp
  bool learns_in_parts(bool exact_apriori) const;
  Index rows_a_part() const;
  auto sum_rows(const Rows& X, const Rows& Y, const ConstVectorRef& v, RowsOut apriori) const;
  void learn_parts(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog& log);
  // online_window.cpp
  void forget_oldest();
  void renew_from_rows();
  bool recent_rows_are_all() const { return settings_.window || t_ == recent_.size(); }
  void count_rounding();
  void renew_if_in_doubt();
  // Whether a row is learned without asking whether to admit it, `ahead` rows from now.
  bool frozen(Index ahead = 0) const {
    const bool full = settings_.max_basis > 0 && dictionary_.size() >= settings_.max_basis;
    return refitting_ || (full && (settings_.on_full == OnFull::stop ||
                                   (settings_.swap_until > 0 && t_ + ahead >= settings_.swap_until)));
  }
  bool prunes() const { return settings_.on_full == OnFull::prune; }
  // A frozen dictionary has no use for pruning scores; after a second pass the stream may go on as before.
  void stop_tracking(bool frozen_now) {
    if constexpr (State::kLearnsRuns)
      if (frozen_now && !refitting_) state_.leave_scores();
  }
  bool keeps_recent() const { return settings_.exact_rows > 0 && (settings_.window || !frozen()); }

  // Forgetting. Instead of shrinking the past at every row, the weights of new rows grow, row j after the last fading
  // by forgetting^-j, and everything is scaled back (with the ridge restored) every fade_period() rows: in between
  // nothing but the weights differs from a stream that forgets nothing.
  template <class Work>
  void by_parts(Index n, Index threads, const Work& work) const;
  bool forgets() const { return settings_.forgetting < 1; }
  std::int64_t fade_period() const;
  void fade_if_due();
  double scale() const { return 1.0 / (settings_.forgetting * frame_); }  // of the state, seen from the last row
  // Maximum likelihood; the flat prior of the bias takes one row.
  double noise_variance(Index output) const {
    return state_.cost()[output] * scale() / std::max(effective_rows(), 1.0);
  }
  double effective_rows() const { return effective_t_ - (state_.has_bias() ? 1.0 : 0.0); }

  OnlineSettings settings_;
  Dictionary dictionary_;
  State state_;
  TargetMoments moments_;
  Counters counters_{};
  std::int64_t rows_seen_ = 0, t_ = 0;
  double sum_log_weights_ = 0;
  double effective_t_ = 0, frame_ = 1;  // rows, the past discounted; weight of the next row in the state's frame
  std::int64_t since_fade_ = 0;
  bool refitting_ = false;
  std::int64_t before_refit_ = 0;  // rows seen
  Counters counted_before_refit_{};
  Index forgotten_ = 0;  // rows that left the window since it was renewed
  // Of the recent rows: how far rounding may have taken C from their inverse, and the largest v |w|^2 among them.
  double doubt_ = 0, heaviest_ = 0;
  RecentRows recent_;
  std::int64_t quiet_rows_ = 0;  // since a row last asked for more than a normal step
  PreparedRows prepared_;
  Vector k_, scores_, w_, along_, oldest_y_;
  RowMatrix one_x_, one_y_, one_apriori_;
  mutable Matrix coef_;
  mutable bool coef_known_ = false;  // no row was learned since
  // workspace of a block: coordinates, distances and k(x, x) of its rows
  Matrix W_, with_newcomer_;
  Vector delta_, k_self_, weights_;
  Panels newcomer_;
};

extern template class OnlineLSSVM<OrthonormalState>;
extern template class OnlineLSSVM<InverseState>;

}  // namespace kernsift
