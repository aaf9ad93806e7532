// Online LS-SVM, one row at a time: the normal, growing and pruning steps of 000 over a dictionary that follows the
// stream. `State` is how the model is represented: OrthonormalState (default) or InverseState (the papers' form);
// both take the same decisions from the same four scalars.
//
// After every row the model is the exact minimiser of
//   J(beta, b) = sum_i v_i (y_i - b - k~_i'beta)^2 + alpha beta'K_mm beta                                [MATH 1.1]
// where k~_i is exact when row i is processed and an element admitted later adds the column K~ a* to earlier rows.
#pragma once

#include <vector>

#include "core/admission.hpp"
#include "core/dictionary.hpp"
#include "core/inverse_state.hpp"
#include "core/orthonormal_state.hpp"

namespace kernsift {

struct OnlineSettings {
  double alpha;
  Admission admission;
  Index max_basis;  // 0: no cap
  bool fit_intercept;
};

// What `learn` reports for each row.
struct LearnLog {
  RowsOut apriori;        // n x outputs: the prediction before the row was learned
  std::uint8_t* outcome;  // n: an Outcome
  std::int64_t* victim;   // n: row number of the element evicted, or -1
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

  // X: n x d, Y: n x outputs, v: n, non-negative. Everything finite: the caller has checked.
  void learn(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog log);

  void predict(const Rows& X, RowsOut out) const;
  // spread = w'C w and delta = distance to the span, for the predictive variance [MATH 1.9].
  void variance(const Rows& X, VectorRef spread, VectorRef delta) const;

  // From the state alone [MATH 1.8]; per output.
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
  Event learn_row(const double* x, Index row, const double* y, double v, double* apriori);
  Event admit(const Look& look, const double* x, Index row);
  void append(const double* x, Index row);
  void count_row(const double* y, double v);
  double effective_rows() const { return static_cast<double>(t_) - (state_.has_bias() ? 1.0 : 0.0); }

  OnlineSettings settings_;
  Dictionary dictionary_;
  State state_;
  TargetMoments moments_;
  Counters counters_{};
  std::int64_t rows_seen_ = 0, t_ = 0;
  double sum_log_weights_ = 0;
  PreparedRows prepared_;
  Vector k_, scores_;
};

extern template class OnlineLSSVM<OrthonormalState>;
extern template class OnlineLSSVM<InverseState>;

}  // namespace kernsift
