// OnlineLSSVM one row at a time: streams from outside, and predict-then-learn with delays and spreads.
#include "core/online_lssvm.hpp"

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
    state_.drop_information();
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
  if constexpr (State::kLearnsRuns) {
    if (n_outputs() <= kFewColumns) return predict_by_coefficients(k, out);
  }
  state_.predict(k, out);
}

// The coefficients cost what the coordinates of one row do, and serve until the next row is learned.
template <class State>
void OnlineLSSVM<State>::predict_by_coefficients(const ConstVectorRef& k, VectorRef out) {
  const Index m = dictionary_.size();
  if (!coef_known_) {
    if (coef_.rows() < m || coef_.cols() != n_outputs()) coef_.resize(grown_capacity(coef_.rows(), m), n_outputs());
    state_.beta(coef_.topRows(m));
    coef_known_ = true;
  }
  const auto bias = state_.bias();
  for (Index o = 0; o < n_outputs(); ++o) out[o] = k.dot(coef_.col(o).head(m)) + (bias.size() > 0 ? bias[o] : 0.0);
}

template <class State>
void OnlineLSSVM<State>::prequential(const Rows& X, const Rows& Y, const ConstVectorRef& v, Index delay, Index first,
                                     Index last, RowsOut mean, RowsOut variance, std::int64_t* n_basis) {
  Vector spread(1), delta(1);
  for (Index i = first; i < last; ++i) {
    state_.settle();
    if (i < X.rows()) {
      n_basis[i] = dictionary_.size();
      auto f = mean.row(i);
      Vector one(n_outputs());
      predict_one(X.row(i).transpose(), one);
      f = one.transpose();
      this->variance(X.middleRows(i, 1), spread, delta);
      const double relative = 1.0 + spread[0] + (settings_.alpha > 0 ? delta[0] / settings_.alpha : 0.0);
      variance.row(i) = relative * noise_variance().transpose();
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
template void OnlineLSSVM<OrthonormalState>::predict_by_coefficients(const ConstVectorRef&, VectorRef);

}  // namespace kernsift
