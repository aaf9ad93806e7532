#include "core/stream/online_lssvm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/parallel.hpp"

namespace kernsift {

namespace {
constexpr Index kChunk = 256;  // rows prepared together
constexpr Index kTile = 64;    // rows predicted together where a kernel block is kept
constexpr Index kBlock = 64;   // rows learned together
constexpr double kLogTwoPi = 1.8378770664093454836;
constexpr const char* kOnFull[] = {"prune", "stop", "drop-oldest"};

// Settings may come from a file.
OnlineSettings checked(const OnlineSettings& s, Index n_outputs) {
  const auto from_0 = [](double value) { return value >= 0 && std::isfinite(value); };
  if (n_outputs < 1 || s.max_basis < 0 || s.swap_until < 0 || s.exact_rows < 0 || !from_0(s.alpha) ||
      !from_0(s.admission.novelty_tol) || !from_0(s.admission.usefulness_tol) || !from_0(s.hysteresis) ||
      !(s.forgetting > 0 && s.forgetting <= 1))
    throw std::invalid_argument("a setting of the online model is out of its range");
  return s;
}
}  // namespace

OnFull on_full(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name == kOnFull[i]) return static_cast<OnFull>(i);
  throw std::invalid_argument("on_full '" + name + "' is unknown");
}

const char* on_full_name(OnFull policy) { return kOnFull[static_cast<int>(policy)]; }

template <class State>
OnlineLSSVM<State>::OnlineLSSVM(Kernel kernel, Index n_outputs, const OnlineSettings& settings)
    : settings_(checked(settings, n_outputs)),
      dictionary_(std::move(kernel)),
      state_(settings.alpha, n_outputs, settings.fit_intercept),
      moments_(n_outputs),
      recent_(settings.exact_rows, dictionary_.kernel().n_features(), n_outputs),
      newcomer_(dictionary_.kernel().n_features()) {}

template <class State>
void OnlineLSSVM<State>::learn(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog log) {
  coef_known_ = false;
  for (Index first = 0; first < X.rows(); first += kChunk) {
    if (learns_in_parts(log.exact_apriori)) {
      const Index rest = X.rows() - first;
      LearnLog later{log.apriori.bottomRows(rest), log.outcome + first, log.victim + first, false, log.threads};
      return learn_parts(X.bottomRows(rest), Y.bottomRows(rest), v.tail(rest), later);
    }
    const Index count = std::min(kChunk, X.rows() - first);
    dictionary_.kernel().prepare(X.middleRows(first, count), prepared_);
    Index r = 0;
    if constexpr (State::kLearnsRuns) {
      // the first row of all seats the constant: alone
      for (; r < count && state_.dimension() == 0; ++r) learn_row(X, r, first + r, Y, v, log);
      for (; !settings_.window && r < count && state_.dimension() > 0; r += std::min(kBlock, count - r))
        learn_block(X, r, first + r, std::min(kBlock, count - r), Y, v, log);
    }
    for (; r < count; ++r) learn_row(X, r, first + r, Y, v, log);
  }
}

template <class State>
void OnlineLSSVM<State>::learn_row(const Rows& X, Index row, Index i, const Rows& Y, const ConstVectorRef& v,
                                   LearnLog& log) {
  const double* y = Y.row(i).data();
  double* apriori = log.apriori.row(i).data();
  if (state_.bias_pending()) {
    std::fill_n(apriori, n_outputs(), 0.0);
    if (!(v[i] > 0)) return record({Outcome::ignored, -1}, i, log);
    // The constant takes the first row whole: a kernel could lower the cost by nothing, and its column would equal
    // that of the constant, told apart by the ridge alone.
    state_.seat_bias(y, v[i] * frame_);
    if (keeps_recent()) recent_.push(prepared_, row, Vector::Ones(1), y, v[i] * frame_);
    count_row(y, v[i]);
    return record({Outcome::rejected_usefulness, -1}, i, log);
  }
  if (v[i] > 0) forget_oldest();
  const double k_self = dictionary_.kernel().self(prepared_, row);
  if (k_.size() < dictionary_.padded()) k_.resize(grown_capacity(k_.size(), dictionary_.padded()));
  dictionary_.block(prepared_, row, 1, Eigen::Map<Matrix>(k_.data(), dictionary_.padded(), 1));
  const RowScalars look = state_.look(k_.head(dictionary_.size()), k_self, y, v[i] * frame_);
  for (Index o = 0; o < n_outputs(); ++o) apriori[o] = y[o] - state_.residual()[o];
  record(decide(look, k_self, X.row(i).data(), row, y, v[i]), i, log);
  fade_if_due();
  if constexpr (State::kLearnsRuns) renew_if_in_doubt();
  state_.check();
}

template <class State>
auto OnlineLSSVM<State>::decide(const RowScalars& look, double k_self, const double* x, Index row, const double* y,
                                double v) -> Event {
  if (!(v > 0)) return {Outcome::ignored, -1};
  if (!look.sound()) return {Outcome::refused, -1};
  const bool frozen_now = frozen(), keep = keeps_recent();
  stop_tracking(frozen_now);
  const double usefulness = look.usefulness / frame_;
  count_row(y, v);
  const Outcome outcome = frozen_now ? Outcome::frozen
                                     : settings_.admission.judge(look.delta, k_self, usefulness, effective_t_,
                                                                 moments_.variance());
  if constexpr (State::kLearnsRuns) {
    if (keep) {
      if (w_.size() < state_.dimension()) w_.resize(grown_capacity(w_.size(), state_.dimension()));
      w_.head(state_.dimension()) = state_.coordinates_of_row();
      state_.normal(look);
      recent_.push(prepared_, row, w_.head(state_.dimension()), y, look.weight);
      heaviest_ = std::max(heaviest_, look.weight * (k_self + 1.0));
      count_rounding();
      return outcome == Outcome::admitted ? admit_exactly(look, k_self, x, row) : Event{outcome, -1};
    }
  }
  if (outcome == Outcome::admitted) return admit(look, k_self, x, row);
  state_.normal(look);
  return {outcome, -1};
}

// Of the row of the last look.
template <class State>
bool OnlineLSSVM<State>::is_resolved(double delta, double k_self) {
  if (is_surely_resolved(delta, k_self, state_.inverse_norm(), dictionary_.largest_self(), State::kResolution)) return true;
  if (!kernsift::is_resolved(delta, k_self, 0.0, State::kResolution)) return false;  // whatever the coefficients
  return kernsift::is_resolved(delta, k_self, dictionary_.weighted_squares(state_.coefficients_of_row()),
                               State::kResolution);
}

// The same as `admit` for a kernel that is exact on the recent rows; the row itself has been learned.
template <class State>
auto OnlineLSSVM<State>::admit_exactly(const RowScalars& look, double k_self, const double* x, Index row) -> Event {
  if constexpr (State::kLearnsRuns) {
    if (!is_resolved(look.delta, k_self)) return {Outcome::refused, -1};
    const Index m = dictionary_.size(), p = state_.dimension(), n = recent_.size(), b = p - m;
    if (along_.size() < recent_.rows().padded()) along_.resize(grown_capacity(along_.size(), recent_.rows().padded()));
    dictionary_.kernel().block(recent_.rows(), prepared_, row, 1,
                               Eigen::Map<Matrix>(along_.data(), recent_.rows().padded(), 1));
    auto s = along_.head(n);
    s.noalias() -= recent_.coordinates().bottomRows(m).transpose() * w_.segment(b, m);
    s /= std::sqrt(look.delta);
    const double usefulness = state_.look_exact(recent_.coordinates(), recent_.targets(), recent_.weights(), s);
    if (!(usefulness >= 0) || !std::isfinite(usefulness)) return {Outcome::refused, -1};

    Index victim = -1;
    if (settings_.max_basis > 0 && m == settings_.max_basis && !prunes()) {
      victim = 0;
    } else if (settings_.max_basis > 0 && m == settings_.max_basis) {
      if (scores_.size() < m) scores_.resize(m);
      if (!state_.scores_after_exact_growth(w_.head(p), look.delta, scores_.head(m))) return {Outcome::refused, -1};
      victim = weakest(scores_.head(m), settings_.hysteresis * usefulness, moments_.rounding());
      if (victim == m) return {Outcome::bounced, -1};
    }
    state_.grow_exact(w_.head(p), look.delta, s, recent_.weights());
    count_rounding();
    recent_.append_coordinate(s);
    append(x, row);
    if (victim < 0) {
      if (m + 1 == settings_.max_basis && prunes()) state_.track_scores();
      return {Outcome::admitted, -1};
    }
    const std::int64_t evicted = dictionary_.ids()[static_cast<std::size_t>(victim)];
    state_.remove(victim);
    recent_.drop_last(state_.rotations(), b);
    dictionary_.remove(victim);
    return {Outcome::swapped, evicted};
  } else {
    return admit(look, k_self, x, row);
  }
}

template <class State>
void OnlineLSSVM<State>::record(const Event& event, Index i, LearnLog& log) {
  log.outcome[i] = static_cast<std::uint8_t>(event.outcome);
  log.victim[i] = event.victim;
  ++counters_[static_cast<std::size_t>(event.outcome)];
  ++rows_seen_;
}

template <class State>
auto OnlineLSSVM<State>::admit(const RowScalars& look, double k_self, const double* x, Index row) -> Event {
  if (!is_resolved(look.delta, k_self)) {
    state_.normal(look);
    return {Outcome::refused, -1};
  }
  const Index m = dictionary_.size();
  if (settings_.max_basis == 0 || m < settings_.max_basis) {
    state_.grow(look);
    append(x, row);
    if (m + 1 == settings_.max_basis && prunes()) state_.track_scores();
    return {Outcome::admitted, -1};
  }
  // At the cap an admission is a growing and a pruning step. The victim is found before anything is touched,
  // because most often it is the newcomer itself [MATH 1.7].
  Index victim = 0;  // the oldest
  if (prunes()) {
    if (scores_.size() < m) scores_.resize(m);
    if (!state_.scores_after_growth(look, scores_.head(m))) {
      state_.normal(look);
      return {Outcome::refused, -1};
    }
    victim = weakest(scores_.head(m), settings_.hysteresis * look.usefulness, moments_.rounding());
    if (victim == m) {
      state_.normal(look);
      return {Outcome::bounced, -1};
    }
  }
  const std::int64_t evicted = dictionary_.ids()[static_cast<std::size_t>(victim)];
  state_.grow(look);
  append(x, row);
  state_.remove(victim);
  dictionary_.remove(victim);
  return {Outcome::swapped, evicted};
}

template <class State>
void OnlineLSSVM<State>::count_row(const double* y, double v) {
  moments_.add(y, v * frame_);
  sum_log_weights_ += std::log(v);
  effective_t_ = settings_.forgetting * effective_t_ + 1.0;
  ++t_;
  if (forgets()) {
    frame_ /= settings_.forgetting;
    ++since_fade_;
  }
}

// Often enough that the ridge never fades below 3/4 of what it should be.
template <class State>
std::int64_t OnlineLSSVM<State>::fade_period() const {
  return std::max<std::int64_t>(1, std::llround(0.25 / (1.0 - settings_.forgetting)));
}

template <class State>
void OnlineLSSVM<State>::fade_if_due() {
  if constexpr (State::kLearnsRuns) {
    if (!forgets() || since_fade_ < fade_period()) return;
    const double factor = 1.0 / frame_;
    state_.fade(factor);
    moments_.fade(factor);
    recent_.fade(factor);
    frame_ = 1;
    since_fade_ = 0;
  }
}

template <class State>
void OnlineLSSVM<State>::begin_refit() {
  if constexpr (State::kLearnsRuns) {
    coef_known_ = false;
    before_refit_ = rows_seen_;
    counted_before_refit_ = counters_;
    state_.restart();
    moments_ = TargetMoments(n_outputs());
    recent_.clear();
    doubt_ = heaviest_ = 0;
    t_ = since_fade_ = 0;
    effective_t_ = sum_log_weights_ = 0;
    frame_ = 1;
    refitting_ = true;
  }
}

template <class State>
void OnlineLSSVM<State>::end_refit() {
  settle();
  state_.check();
  refitting_ = false;
  if constexpr (State::kLearnsRuns)
    if (prunes() && settings_.max_basis > 0 && dictionary_.size() >= settings_.max_basis && !frozen())
      state_.track_scores();  // a frozen stream had left them, and swaps again after a short second pass
  rows_seen_ = before_refit_;  // a second look at rows that have their numbers
  counters_ = counted_before_refit_;
}

template <class State>
bool OnlineLSSVM<State>::change_ridge(double alpha) {
  if constexpr (State::kLearnsRuns) {
    coef_known_ = false;
    if (!state_.change_ridge(alpha)) return false;
    state_.check();
    settings_.alpha = alpha;
    return true;
  } else {
    return false;
  }
}

template <class State>
void OnlineLSSVM<State>::prune(Index kernels) {
  coef_known_ = false;
  if constexpr (State::kLearnsRuns)
    if (settings_.window && recent_.size() > 0) renew_from_rows();  // O(m^3), as what follows: nothing forgotten lingers
  state_.settle();  // the same bits whether or not the model was read before
  state_.track_scores();
  if (!keeps_recent()) recent_.clear();  // they have not followed the basis
  while (dictionary_.size() > kernels) {
    const Index m = dictionary_.size();
    if (scores_.size() < m) scores_.resize(m);
    state_.scores(scores_.head(m));
    const Index victim = weakest(scores_.head(m), std::numeric_limits<double>::infinity(), moments_.rounding());
    state_.remove(victim);
    if constexpr (State::kLearnsRuns)
      if (recent_.size() > 0) recent_.drop_last(state_.rotations(), state_.dimension() - state_.size());
    dictionary_.remove(victim);
    state_.check();
  }
}

template <class State>
void OnlineLSSVM<State>::append(const double* x, Index row) {
  dictionary_.append(x, prepared_, row, rows_seen_);
}

// Calls work(first, count) for consecutive parts of n rows: whole tiles, about a millisecond of work each.
template <class State>
template <class Work>
void OnlineLSSVM<State>::by_parts(Index n, Index threads, const Work& work) const {
  constexpr double kWork = 2e7;  // flops
  const double a_row = 2.0 * static_cast<double>((dictionary_.size() + 1) * (dictionary_.kernel().n_features() + 8));
  const Index part = round_up(static_cast<Index>(kWork / a_row) + 1, kTile);
  parallel_for((n + part - 1) / part, static_cast<int>(threads),
               [&](Index task) { work(task * part, std::min(part, n - task * part)); });
}

template <class State>
ConstMatrixRef OnlineLSSVM<State>::coefficients() const {
  const Index m = dictionary_.size(), padded = dictionary_.padded();
  if (!coef_known_) {
    if (coef_.rows() < padded || coef_.cols() != n_outputs()) coef_.resize(grown_capacity(coef_.rows(), padded), n_outputs());
    if constexpr (State::kLearnsRuns)
      state_.beta(coef_.topRows(m));
    else
      coef_.topRows(m) = state_.beta();
    coef_.middleRows(m, padded - m).setZero();
    coef_known_ = true;
  }
  return coef_.topRows(padded);
}

template <class State>
void OnlineLSSVM<State>::predict(const Rows& X, RowsOut out, Index threads) const {
  const ConstMatrixRef coef = coefficients();
  const Vector intercept = state_.intercept();
  by_parts(X.rows(), threads, [&](Index begin, Index n) {
    PreparedRows rows;
    for (Index first = begin; first < begin + n; first += kChunk) {
      const Index count = std::min(kChunk, begin + n - first);
      dictionary_.kernel().prepare(X.middleRows(first, count), rows);
      dictionary_.kernel().expand(dictionary_.panels(), coef, intercept, rows, 0, count, out.middleRows(first, count));
    }
  });
}

template <class State>
void OnlineLSSVM<State>::variance(const Rows& X, VectorRef spread, VectorRef delta, Index threads) const {
  by_parts(X.rows(), threads, [&](Index begin, Index n) {
    Matrix K(dictionary_.padded(), std::min(kTile, n));
    Vector k_self(K.cols());
    PreparedRows rows;
    for (Index first = begin; first < begin + n; first += kTile) {
      const Index count = std::min(kTile, begin + n - first);
      dictionary_.kernel().prepare(X.middleRows(first, count), rows);
      dictionary_.block(rows, 0, count, K.leftCols(count));
      for (Index r = 0; r < count; ++r) k_self[r] = dictionary_.kernel().self(rows, r);
      state_.variance(K.topLeftCorner(dictionary_.size(), count), k_self.head(count), spread.segment(first, count),
                      delta.segment(first, count));
    }
  });
  spread /= scale();
}

template <class State>
Vector OnlineLSSVM<State>::gcv() const {
  const double free = effective_t_ - state_.dof();
  return rss() * (effective_t_ / (free * free));  // [MATH 1.8]
}

template <class State>
Vector OnlineLSSVM<State>::noise_variance() const {
  Vector variance(n_outputs());
  for (Index o = 0; o < n_outputs(); ++o) variance[o] = noise_variance(o);
  return variance;
}

// Of the Gaussian process with kernel s2 k^ and noise s2 alpha / v_i, at its best signal scale s2.
template <class State>
Vector OnlineLSSVM<State>::log_evidence() const {
  const double n = effective_rows(), m = static_cast<double>(dictionary_.size());
  Vector evidence(n_outputs());
  for (Index o = 0; o < n_outputs(); ++o) {
    const double s2 = state_.cost()[o] / (settings_.alpha * n);
    evidence[o] = -0.5 * (n + n * std::log(s2) + (n - m) * std::log(settings_.alpha) + state_.log_det() +
                          n * kLogTwoPi - sum_log_weights_);
  }
  return evidence;
}

template class OnlineLSSVM<OrthonormalState>;
template class OnlineLSSVM<InverseState>;

}  // namespace kernsift
