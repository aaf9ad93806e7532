// A sliding window: the recent rows, whose coordinates are exact, are all the model has seen.
#include <cmath>

#include "core/online_lssvm.hpp"

namespace kernsift {

// The row that makes room is unlearned: a normal step with minus its weight, the inverse of the one that learned it.
template <class State>
void OnlineLSSVM<State>::forget_oldest() {
  if constexpr (State::kLearnsRuns) {
    if (!settings_.window || recent_.size() < recent_.capacity()) return;
    // Rounding grows where a row is nearly all that holds a direction, and it does not fade: once in a window everything
    // is computed afresh from the rows, O(m^2) a row.
    if (forgotten_ >= recent_.capacity()) renew_from_window();
    const Index oldest = recent_.oldest();
    const auto w = recent_.coordinates().col(oldest);
    const double v = recent_.weights()[oldest];
    if (!(v > 0)) return;  // the row that should have taken its place was refused
    oldest_y_ = recent_.targets().row(oldest).transpose();
    const Look look = state_.look_at(w, w.squaredNorm(), oldest_y_.data(), -v);
    ++forgotten_;
    recent_.forget_oldest();
    moments_.add(oldest_y_.data(), -v);
    sum_log_weights_ -= std::log(v);
    effective_t_ -= 1.0;
    constexpr double kLeastLeft = 1e-6;  // of the row's own weight in the direction it holds, and of all weight
    // minus a weight has no positive leverage: what shows one is rounding, beside a weight that leaves no digit of C
    if (1.0 + look.leverage > kLeastLeft && look.leverage < kLeastLeft && moments_.weight() > kLeastLeft * v)
      state_.forget(look);
    else
      renew_from_window();
  }
}

template <class State>
void OnlineLSSVM<State>::renew_from_window() {
  if constexpr (State::kLearnsRuns) {
    forgotten_ = 0;
    const RowMatrix Y = recent_.targets();
    moments_ = TargetMoments(n_outputs());
    sum_log_weights_ = 0;
    for (Index i = 0; i < Y.rows(); ++i)
      if (const double v = recent_.weights()[i]; v > 0) {
        moments_.add(Y.row(i).data(), v);
        sum_log_weights_ += std::log(v);
      }
    RowMatrix apriori(Y.rows(), Y.cols());
    state_.restart();
    state_.accumulate_run(recent_.coordinates(), Y, recent_.weights(), apriori);
    state_.leave_information();
  }
}

template void OnlineLSSVM<OrthonormalState>::forget_oldest();
template void OnlineLSSVM<OrthonormalState>::renew_from_window();
template void OnlineLSSVM<InverseState>::forget_oldest();

}  // namespace kernsift
