// The recent rows, whose coordinates are exact, as all the model has seen: always of a sliding window, and of any other
// model until more rows have come than it keeps.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stream/online_lssvm.hpp"

namespace kernsift {

namespace {
// Renew where predictions may be off by so much, relative to the targets.
constexpr double kMostDoubt = 1e-9;
}  // namespace

// The row that makes room is unlearned: a normal step with minus its weight, the inverse of the one that learned it.
template <class State>
void OnlineLSSVM<State>::forget_oldest() {
  if constexpr (State::kLearnsRuns) {
    if (!settings_.window || recent_.size() < recent_.capacity()) return;
    // Rounding does not fade: once in a window everything is computed afresh from the rows, O(m^2) a row.
    if (forgotten_ >= recent_.capacity()) renew_from_rows();
    const Index oldest = recent_.oldest();
    const auto w = recent_.coordinates().col(oldest);
    const double v = recent_.weights()[oldest];
    if (!(v > 0)) return;  // the row that should have taken its place was refused
    oldest_y_ = recent_.targets().row(oldest).transpose();
    const RowScalars look = state_.look_at(w, w.squaredNorm(), oldest_y_.data(), -v);
    ++forgotten_;
    recent_.forget_oldest();
    moments_.add(oldest_y_.data(), -v);
    sum_log_weights_ -= std::log(v);
    effective_t_ -= 1.0;
    constexpr double kLeastLeft = 1e-6;  // of the row's own weight in the direction it holds, and of all weight
    const double left = 1.0 + look.leverage;
    // minus a weight has no positive leverage: what shows one is rounding, beside a weight that leaves no digit of C
    if (left > kLeastLeft && look.leverage < kLeastLeft && moments_.weight() > kLeastLeft * v) {
      // what is left of the direction is a difference: it inherits the error of C, relative to what is left
      count_rounding();
      if (doubt_ * v * w.squaredNorm() <= kMostDoubt * left) return state_.forget(look);
    }
    renew_from_rows();
  }
}

template <class State>
void OnlineLSSVM<State>::renew_from_rows() {
  if constexpr (State::kLearnsRuns) {
    const RowMatrix Y = recent_.targets();
    if (settings_.window) {
      forgotten_ = 0;
      moments_ = TargetMoments(n_outputs());
      sum_log_weights_ = 0;
      for (Index i = 0; i < Y.rows(); ++i)
        if (const double v = recent_.weights()[i]; v > 0) {
          moments_.add(Y.row(i).data(), v);
          sum_log_weights_ += std::log(v);
        }
    }
    state_.learn_only(recent_.coordinates(), Y, recent_.weights());
    doubt_ = heaviest_ = 0;
    if (recent_.size() > 0)
      heaviest_ = (recent_.coordinates().colwise().squaredNorm().transpose().array() * recent_.weights().array()).maxCoeff();
    count_rounding();
  }
}

// Every change of C rounds each of its p^2 elements, of size trace(C) / p, by up to eps: independent errors, whose matrix has
// a norm of about 2 sqrt(p) times one of them.
template <class State>
void OnlineLSSVM<State>::count_rounding() {
  if constexpr (State::kLearnsRuns)
    if (recent_rows_are_all() && state_.dimension() > 0)
      doubt_ += 2.0 * std::numeric_limits<double>::epsilon() * state_.trace() /
                std::sqrt(static_cast<double>(state_.dimension()));
}

template <class State>
void OnlineLSSVM<State>::renew_if_in_doubt() {
  if (doubt_ * heaviest_ > kMostDoubt && recent_.size() > 0 && recent_rows_are_all()) renew_from_rows();
}

template void OnlineLSSVM<OrthonormalState>::forget_oldest();
template void OnlineLSSVM<OrthonormalState>::renew_from_rows();
template void OnlineLSSVM<OrthonormalState>::count_rounding();
template void OnlineLSSVM<OrthonormalState>::renew_if_in_doubt();
template void OnlineLSSVM<InverseState>::forget_oldest();

}  // namespace kernsift
