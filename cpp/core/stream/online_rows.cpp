// OnlineLSSVM one row at a time: streams from outside, and predict-then-learn with delays and variances.
#include "core/stream/online_lssvm.hpp"

namespace kernsift {

template <class State>
void OnlineLSSVM<State>::update(const ConstVectorRef& x, const ConstVectorRef& y, double v) {
  prepare_row(x);
  learn_prepared(y, v);
}

template <class State>
void OnlineLSSVM<State>::prepare_row(const ConstVectorRef& x) {
  one_x_.resize(1, x.size());
  one_x_.row(0) = x.transpose();
  dictionary_.kernel().prepare(one_x_, prepared_);
}

template <class State>
void OnlineLSSVM<State>::learn_prepared(const ConstVectorRef& y, double v) {
  one_y_.resize(1, y.size());
  one_apriori_.resize(1, y.size());
  one_y_.row(0) = y.transpose();
  coef_known_ = false;
  std::uint8_t outcome;
  std::int64_t victim;
  Eigen::Map<const Vector> weight(&v, 1);
  LearnLog log{one_apriori_, &outcome, &victim};
  if constexpr (State::kLearnsRuns) {
    state_.leave_information();
    // made again after so many rows in blocks that it pays
    if (state_.drop_information()) quiet_rows_ = frozen() ? -2 * state_.dimension() : 0;
  }
  learn_row(one_x_, 0, 0, one_y_, weight, log);
}

template <class State>
void OnlineLSSVM<State>::predict_one(const ConstVectorRef& x, VectorRef out) {
  state_.leave_information();
  prepare_row(x);
  if (k_.size() < dictionary_.padded()) k_.resize(grown_capacity(k_.size(), dictionary_.padded()));
  dictionary_.block(prepared_, 0, 1, Eigen::Map<Matrix>(k_.data(), dictionary_.padded(), 1));
  const auto k = k_.head(dictionary_.size());
  if constexpr (!State::kLearnsRuns) return state_.predict(k, out);
  if constexpr (State::kLearnsRuns) {
    const ConstMatrixRef coef = coefficients();
    const auto bias = state_.bias();
    for (Index o = 0; o < n_outputs(); ++o)
      out[o] = k.dot(coef.col(o).head(dictionary_.size())) + (bias.size() > 0 ? bias[o] : 0.0);
  }
}

template <class State>
void OnlineLSSVM<State>::prequential(const Rows& X, const Rows& Y, const ConstVectorRef& v, Index delay, Index first,
                                     Index last, RowsOut mean, RowsOut variance, std::int64_t* n_basis) {
  for (Index i = first; i < last; ++i) {
    if (i < X.rows()) {
      n_basis[i] = dictionary_.size();
      predict_one(X.row(i).transpose(), mean.row(i).transpose());
      if (variance.rows() > 0) {
        state_.settle();
        const double k_self = prepared_self();
        double gain = 0, delta = k_self;
        if (!state_.bias_pending()) {
          const RowScalars look = state_.look(k_.head(dictionary_.size()), k_self, mean.row(i).data(), 1.0);
          gain = look.leverage / scale();
          delta = look.delta;
        }
        const double relative = 1.0 + gain + (settings_.alpha > 0 ? delta / settings_.alpha : 0.0);
        for (Index o = 0; o < n_outputs(); ++o) variance(i, o) = relative * noise_variance(o);
      }
    }
    if (i >= delay) update(X.row(i - delay).transpose(), Y.row(i - delay).transpose(), v[i - delay]);
  }
}

#define KERNSIFT_ROWS(State)                                                                                  \
  template void OnlineLSSVM<State>::update(const ConstVectorRef&, const ConstVectorRef&, double);             \
  template void OnlineLSSVM<State>::prepare_row(const ConstVectorRef&);                                       \
  template void OnlineLSSVM<State>::learn_prepared(const ConstVectorRef&, double);                            \
  template void OnlineLSSVM<State>::predict_one(const ConstVectorRef&, VectorRef);                            \
  template void OnlineLSSVM<State>::prequential(const Rows&, const Rows&, const ConstVectorRef&, Index, Index, \
                                                Index, RowsOut, RowsOut, std::int64_t*);
KERNSIFT_ROWS(OrthonormalState)
KERNSIFT_ROWS(InverseState)
#undef KERNSIFT_ROWS

}  // namespace kernsift
