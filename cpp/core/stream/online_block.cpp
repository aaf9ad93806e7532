// The block path of OnlineLSSVM: the same decisions, in the same order, as one row at a time.
//
// Whether a row is novel depends on the dictionary only, so a block is screened at once (delta = k* - |w|^2 for all
// its rows) and cut into runs of rows inside the span, learned as matrix products, and the novel rows between them,
// decided one by one. When one of those changes the dictionary, the coordinates and distances of the rows still to
// come follow in O(m) each [MATH 3.1].
#include <algorithm>
#include <cmath>

#include "core/stream/online_lssvm.hpp"

namespace kernsift {

namespace {
// A run shorter than this is learned row by row.
constexpr Index kShortRun = 4;
}  // namespace

template <class State>
void OnlineLSSVM<State>::learn_block(const Rows& X, Index row, Index first, Index count, const Rows& Y,
                                     const ConstVectorRef& v, LearnLog& log) {
  if constexpr (State::kLearnsRuns) {
    screen(row, count);
    const double tol1 = settings_.admission.novelty_tol;
    Index done = 0;
    while (done < count) {
      Index next = done, most = count;
      if (forgets()) most = std::min<Index>(count, done + fade_period() - since_fade_);
      while (next < most && v[first + next] > 0 &&
             (frozen(next - done) || !(delta_[next] > tol1 * k_self_[next])))
        ++next;
      if (next > done) {
        learn_run(row, done, next - done, first, Y, v, log);
        fade_if_due();
        renew_if_in_doubt();
      } else {
        learn_alone(X, row, next, first, count, Y, v, log);
        ++next;
      }
      state_.check();
      done = next;
    }
  }
}

// A row that is novel, or has no weight.
template <class State>
void OnlineLSSVM<State>::learn_alone(const Rows& X, Index row, Index column, Index first, Index count, const Rows& Y,
                                     const ConstVectorRef& v, LearnLog& log) {
  const Index i = first + column;
  const auto w = W_.col(column).head(state_.dimension());
  if (!(v[i] > 0)) {
    if (log.exact_apriori) state_.leave_information();
    for (Index o = 0; o < n_outputs(); ++o) log.apriori(i, o) = state_.at(w, o);
    return record({Outcome::ignored, -1}, i, log);
  }
  state_.leave_information();
  quiet_rows_ = 0;
  const double* y = Y.row(i).data();
  const RowScalars look = state_.look_at(w, k_self_[column], y, v[i] * frame_);
  for (Index o = 0; o < n_outputs(); ++o) log.apriori(i, o) = y[o] - state_.residual()[o];
  const Event event = decide(look, k_self_[column], X.row(i).data(), row + column, y, v[i]);
  record(event, i, log);
  if (event.outcome == Outcome::admitted || event.outcome == Outcome::swapped) follow(event, look, row, column, count);
  fade_if_due();
  renew_if_in_doubt();
}

// Coordinates, distance to the span and k(x, x) of the rows of a block.
template <class State>
void OnlineLSSVM<State>::screen(Index row, Index count) {
  const Index p = state_.dimension(), m = dictionary_.size(), b = p - m;
  const Index rows = b + dictionary_.padded() + kPanel;  // a panel more than needed: room to grow inside the block
  if (W_.rows() < rows || W_.cols() < count) {
    W_.resize(grown_capacity(W_.rows(), rows), std::max(W_.cols(), count));
    delta_.resize(W_.cols());
    k_self_.resize(W_.cols());
  }
  dictionary_.block(prepared_, row, count, W_.block(b, 0, dictionary_.padded(), count));
  state_.coordinates(W_.topLeftCorner(p, count));
  for (Index r = 0; r < count; ++r) {
    k_self_[r] = dictionary_.kernel().self(prepared_, row + r);
    delta_[r] = k_self_[r] - W_.col(r).segment(b, m).squaredNorm();
    invariants::check_distance(delta_[r], k_self_[r]);
  }
}

template <class State>
void OnlineLSSVM<State>::learn_run(Index row, Index begin, Index count, Index first, const Rows& Y,
                                   const ConstVectorRef& v, LearnLog& log) {
  const Index p = state_.dimension(), i = first + begin;
  const auto W = W_.block(0, begin, p, count);
  if (weights_.size() < count) weights_.resize(W_.cols());
  auto weight = weights_.head(count);
  const bool frozen_now = frozen();
  stop_tracking(frozen_now);
  for (Index r = 0; r < count; ++r) {
    weight[r] = v[i + r] * frame_;
    if (keeps_recent()) {
      recent_.push(prepared_, row + begin + r, W.col(r), Y.row(i + r).data(), weight[r]);
      heaviest_ = std::max(heaviest_, weight[r] * (k_self_[begin + r] + 1.0));
    }
    record({frozen() ? Outcome::frozen : Outcome::rejected_novelty, -1}, i + r, log);
    count_row(Y.row(i + r).data(), v[i + r]);
  }
  // After as many quiet rows as the change of form costs, it is worth its price; a frozen model stays quiet.
  const bool quiet = state_.accumulating() || quiet_rows_ >= (frozen_now ? 0 : 2 * p);
  bool accumulate = quiet && !log.exact_apriori;
  if (accumulate && !state_.inform()) {
    accumulate = false;
    quiet_rows_ = -16 * p;  // trying costs as much as learning half a p of rows
  }
  quiet_rows_ += count;
  const auto targets = Y.middleRows(i, count);
  auto apriori = log.apriori.middleRows(i, count);
  if (accumulate) return state_.accumulate_run(W, targets, weight, apriori);
  state_.leave_information();
  count_rounding();
  if (count >= kShortRun && state_.learn_run(W, targets, weight, apriori)) return;
  for (Index r = 0; r < count; ++r) {
    const RowScalars look = state_.look_at(W.col(r), k_self_[begin + r], targets.row(r).data(), weight[r]);
    for (Index o = 0; o < n_outputs(); ++o) apriori(r, o) = targets(r, o) - state_.residual()[o];
    if (look.sound()) {
      state_.normal(look);
    } else {
      --counters_[log.outcome[i + r]];
      log.outcome[i + r] = static_cast<std::uint8_t>(Outcome::refused);
      ++counters_[log.outcome[i + r]];
    }
  }
}

// After the row at `column` became a kernel (and perhaps another left): the rows behind it in the block get the
// coordinate along the new direction, r = (k(x, x_new) - w'w_new)/s, or lose what the rotations leave last.
template <class State>
void OnlineLSSVM<State>::follow(const Event& event, const RowScalars& look, Index row, Index column, Index count) {
  const Index rest = count - column - 1;
  if (rest == 0) return;
  const bool swapped = event.outcome == Outcome::swapped;
  const Index p = state_.dimension() - (swapped ? 0 : 1);  // before the row became a kernel
  const Index m = dictionary_.size() - (swapped ? 0 : 1), b = p - m;
  const double s = std::sqrt(look.delta);
  if (W_.rows() < p + 1) W_.conservativeResize(grown_capacity(W_.rows(), p + 1 + kPanel), Eigen::NoChange);

  newcomer_.clear();
  newcomer_.append(prepared_.coordinates(row + column), prepared_.norm(row + column));
  if (with_newcomer_.cols() < rest) with_newcomer_.resize(kPanel, W_.cols());
  dictionary_.kernel().block(newcomer_, prepared_, row + column + 1, rest, with_newcomer_.leftCols(rest));

  auto later = W_.block(0, column + 1, p + 1, rest);
  for (Index r = 0; r < rest; ++r) {
    const double along = later.col(r).segment(b, m).dot(W_.col(column).segment(b, m));
    later(p, r) = (with_newcomer_(0, r) - along) / s;     // [MATH 3.1]
    delta_[column + 1 + r] -= later(p, r) * later(p, r);  // [MATH 3.1]
  }
  if (swapped) {
    state_.rotations().rotate_rows(later, b);
    delta_.segment(column + 1, rest).array() += later.row(p).transpose().array().square();
  }
}

// Members of a class template whose other members are instantiated in online_lssvm.cpp.
using Model = OnlineLSSVM<OrthonormalState>;
template void Model::learn_block(const Rows&, Index, Index, Index, const Rows&, const ConstVectorRef&, LearnLog&);
template void Model::learn_alone(const Rows&, Index, Index, Index, Index, const Rows&, const ConstVectorRef&, LearnLog&);
template void Model::screen(Index, Index);
template void Model::learn_run(Index, Index, Index, Index, const Rows&, const ConstVectorRef&, LearnLog&);
template void Model::follow(const Event&, const RowScalars&, Index, Index, Index);

}  // namespace kernsift
