#include "core/stream/online_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/base/multiply.hpp"
#include "core/simd/triangle_passes.hpp"
#include "core/stream/earlier_state.hpp"

namespace kernsift {

namespace {
constexpr Index kChunk = 256;  // rows prepared together
constexpr Index kBlock = 64;   // rows learned together
}  // namespace

OnlineModel::OnlineModel(Kernel kernel, Index n_outputs, const OnlineSettings& settings)
    : settings_(settings.checked(n_outputs)),
      state_(std::move(kernel), n_outputs, settings),
      journal_(settings.again.first_row),
      kept_(settings.again.kept_rows, dictionary().kernel().n_features(), n_outputs),
      constant_(Vector::Zero(n_outputs)),
      slopes_(static_cast<Index>(settings.linear.size()), n_outputs),
      range_(n_outputs),
      blocks_(dictionary().kernel().n_features()) {}

void OnlineModel::learn(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog log) {
  forget_what_was_read();
  if (!refit_.on) kept_.keep(X, Y, v);
  log.exact_apriori = log.exact_apriori || (settings_.targets.error_forecast && !refit_.on);  // it learns from them
  for (Index first = 0; first < X.rows(); first += kChunk) {
    if (blocks_.learns_in_parts(*this, log.exact_apriori)) {
      const Index rest = X.rows() - first;
      LearnLog later{log.apriori.bottomRows(rest), log.events.from(first), false, log.threads};
      blocks_.learn_parts(*this, X.bottomRows(rest), Y.bottomRows(rest), v.tail(rest), later);
      break;
    }
    const Index count = std::min(kChunk, X.rows() - first);
    dictionary().kernel().prepare(X.middleRows(first, count), prepared_);
    for (Index r = 0; r < count;) {
      // the first row of all seats the constant, or is the level: alone; weights 1/s^2 follow the row before
      if (settings_.window || (state_.weighs_rows() && !refit_.on) || state_.basis().dimension() == 0 ||
          state_.first_row_pending()) {
        const Index i = first + r;
        learn_row(X.row(i).data(), r, Y.row(i).data(), v[i], log.apriori.row(i).data(), i, log.events);
        ++r;
      } else {
        const Index n = std::min(kBlock, count - r);
        blocks_.learn(*this, {X, Y, v, log, r, first + r, n});
        r += n;
      }
    }
  }
  if (settings_.targets.bounded) bound_rows(Y, v, log.apriori);
}

// Each prediction by the targets before its row.
void OnlineModel::bound_rows(const Rows& Y, const ConstVectorRef& v, RowsOut apriori) {
  for (Index i = 0; i < Y.rows(); ++i) {
    range_.bound(apriori.row(i));
    if (v[i] > 0) range_.add(Y.row(i).data());
  }
}

// `row`: its place in the prepared chunk.
void OnlineModel::learn_row(const double* x, Index row, const double* y, double v, double* apriori, Index i,
                            const EventLog& log) {
  const bool first = state_.first_row_pending();
  if (first) {
    std::fill_n(apriori, n_outputs(), 0.0);
    if (!(v > 0)) return journal_.record({Outcome::ignored}, i, log);
    state_.begin(y, v);
    coordinates_known_ = false;
    if (settings_.free_constant()) {
      // The constant takes the first row whole: a kernel could lower the cost by nothing, and its column would equal
      // that of the constant, told apart by the ridge alone.
      if (keeps_recent()) state_.keep({x, prepared_, row, 0.0, Vector::Ones(1)}, y, v);
      state_.count(y, v);
      return journal_.record({Outcome::rejected_usefulness}, i, log);
    }
  }
  const Basis& basis = state_.basis();
  if (!coordinates_known_)
    basis.coordinates(prepared_, row, Eigen::Map<const RowMatrix>(x, 1, dictionary().kernel().n_features()),
                      one_.coordinates(basis.offset() + dictionary().padded()));
  coordinates_known_ = false;  // the basis may change
  const Sample sample{x, prepared_, row, dictionary().kernel().self(prepared_, row), one_.w.head(basis.dimension())};
  const bool slides = v > 0 && !first && state_.window_is_full();
  if (slides) {  // an interval was said before the oldest row is forgotten
    state_.compare(sample.w, state_.look(sample.w, sample.k_self, y, v).delta, y);
    state_.forget_oldest();
  }
  const RowScalars look = this->look(sample, y, v, apriori, !slides);
  if (first) std::fill_n(apriori, n_outputs(), 0.0);  // nothing was known
  journal_.record(decide(look, sample, y, v), i, log);
  state_.renew_if_in_doubt();
  state_.check();
}

RowScalars OnlineModel::look(const Sample& sample, const double* y, double v, double* apriori, bool compare) {
  const RowScalars row = state_.look(sample.w, sample.k_self, y, v);
  state_.apriori(y, apriori);
  if (v > 0 && compare) state_.compare(sample.w, row.delta, y);
  return row;
}

Event OnlineModel::decide(const RowScalars& row, const Sample& sample, const double* y, double v) {
  if (!(v > 0)) return {Outcome::ignored};
  if (!state_.sound()) return {Outcome::refused};
  v = row.weight;
  const bool frozen_now = frozen(), keep = keeps_recent();
  leave_scores_if(frozen_now);
  state_.count(y, v);
  const Outcome outcome = frozen_now ? Outcome::frozen
                                     : settings_.admission.judge(row.delta, sample.k_self, row.usefulness,
                                                                 learned().counted, learned().moments.variance());
  if (keep) {  // a kernel is exact on the recent rows: the row itself is learned first
    state_.normal(sample);
    state_.keep(sample, y, row.weight);
    state_.count_rounding();
  }
  Event event{outcome};
  if (outcome == Outcome::admitted)
    event = admit(row, sample, keep);
  else if (!keep)
    state_.normal(sample);
  state_.end_row(v, row.delta / sample.k_self, y);
  return event;
}

// `exactly`: by a kernel exact on the recent rows, the last of which is this one, already learned.
Event OnlineModel::admit(const RowScalars& row, const Sample& sample, bool exactly) {
  const Index m = dictionary().size();
  const auto stays_out = [&](Outcome outcome) {
    if (!exactly) state_.normal(sample);
    return Event{outcome};
  };
  if (!state_.is_resolved(sample, row.delta)) return stays_out(Outcome::refused);
  const double usefulness = exactly ? state_.look_exact(sample, row.delta) : row.usefulness;
  if (!(usefulness >= 0) || !std::isfinite(usefulness)) return stays_out(Outcome::refused);
  // [MATH 1.7]: from the scores as they would be after growth
  const Index victim = settings_.leaver(m, usefulness, learned().moments.rounding(), scores_, [&](VectorRef s) {
    return exactly ? state_.scores_after_exact_growth(sample, row.delta, s) : state_.scores_after_growth(sample, s);
  });
  if (victim == OnlineSettings::kNoScores) return stays_out(Outcome::refused);
  if (victim == m) return stays_out(Outcome::bounced);

  if (exactly)
    state_.grow_exact(sample, row.delta, rows_seen());
  else
    state_.grow(sample, rows_seen());
  if (victim == OnlineSettings::kNobody) {
    if (m + 1 == settings_.max_basis && settings_.prunes()) state_.track_scores();
    return {Outcome::admitted};
  }
  const std::int64_t evicted = dictionary().ids()[static_cast<std::size_t>(victim)];
  state_.remove(victim);
  return {Outcome::swapped, evicted};
}

void OnlineModel::begin_refit() {
  forget_what_was_read();
  refit_ = {true, journal_};
  state_.pause_forecasts(true);
  state_.restart();
}

void OnlineModel::end_refit() {
  settle();
  state_.check();
  refit_.on = false;
  state_.pause_forecasts(false);
  if (settings_.prunes() && settings_.full(dictionary().size()) && !frozen())
    state_.track_scores();   // a frozen stream had left them, and swaps again after a short second pass
  journal_ = refit_.before;  // a second look at rows that have their numbers
}

bool OnlineModel::change_ridge(double alpha) {
  forget_what_was_read();
  if (!state_.change_ridge(alpha)) return false;
  state_.check();
  settings_.alpha = alpha;
  return true;
}

bool OnlineModel::choose_ridge() {
  if (dictionary().size() == 0) return false;
  state_.settle();
  const auto best = leader().best_ridge(state_.leader().learned.moments.weight(), rows_counted());
  return best && change_ridge(*best);
}

void OnlineModel::prune(Index kernels) {
  forget_what_was_read();
  // O(m^3), as what follows: nothing forgotten lingers
  if (settings_.window && state_.recent().size() > 0) state_.renew_from_rows();
  state_.settle();  // the same bits whether or not the model was read before
  state_.track_scores();
  if (!keeps_recent()) state_.drop_recent();  // they have not followed the basis
  while (dictionary().size() > kernels) {
    const Index m = dictionary().size();
    if (scores_.size() < m) scores_.resize(m);
    state_.scores(scores_.head(m));
    state_.remove(weakest(scores_.head(m), std::numeric_limits<double>::infinity(), learned().moments.rounding()));
    state_.check();
  }
}

void OnlineModel::score_candidates(const Rows& X, VectorRef out) {
  const Basis& basis = state_.basis();
  PreparedRows prepared;
  Matrix W(basis.offset() + dictionary().padded(), kBlock);
  for (Index first = 0; first < X.rows(); first += kBlock) {
    const Index count = std::min(kBlock, X.rows() - first);
    dictionary().kernel().prepare(X.middleRows(first, count), prepared);
    basis.coordinates(prepared, 0, X.middleRows(first, count), W);
    for (Index r = 0; r < count; ++r) {
      const Sample sample{X.row(first + r).data(), prepared, r, dictionary().kernel().self(prepared, r),
                          W.col(r).head(basis.dimension())};
      const double delta = std::max(0.0, basis.distance(sample.w, sample.k_self));
      const double usefulness = state_.is_resolved(sample, delta) ? state_.look_exact(sample, delta) : 0.0;
      out[first + r] = usefulness > 0 && std::isfinite(usefulness) ? usefulness : 0.0;
    }
  }
}

void OnlineModel::learn_prepared(const ConstVectorRef& y, double v) {
  coef_.known = read_ = false;
  one_.set_target(y);
  kept_.keep(one_.x.data(), one_.y.data(), v);
  state_.leave_information();
  if (state_.drop_information()) blocks_.information_dropped(*this);
  Event event{};
  const EventLog log{reinterpret_cast<std::uint8_t*>(&event.outcome), &event.victim};
  learn_row(one_.x.data(), 0, one_.y.data(), v, one_.apriori.data(), 0, log);
  if (settings_.targets.bounded && v > 0) range_.add(one_.y.data());
  state_.as_it_is();
}

// A few columns at a time, by the routine that allocates nothing.
ConstMatrixRef OnlineModel::coefficients() const {
  return coef_.get(dictionary(), n_outputs(), [&](MatrixRef beta) {
    const ConstMatrixRef theta = state_.theta();
    const Basis& basis = state_.basis();
    beta = theta.bottomRows(basis.size());
    for (Index o = 0; o < n_outputs(); o += kFewColumns)
      basis.span().coefficients(beta.middleCols(o, std::min(kFewColumns, n_outputs() - o)));
    const auto leading = theta.topRows(basis.offset());
    basis.slopes(leading, slopes_);
    basis.intercept(leading, slopes_, constant_);
    constant_ += state_.level();
  });
}

void OnlineModel::predict(const Rows& X, RowsOut out, Index threads, bool as_next) const {
  const ConstMatrixRef coef = coefficients();
  dictionary().expand(coef, constant_, X, out, threads);
  if (slopes_.size() > 0) add_product(1.0, X, slopes_, out);
  if (!as_next) return range_.bound(out);
  for (Index o = 0; o < out.cols(); ++o)
    for (Index i = 0; i < out.rows(); ++i) out(i, o) = next(o, out(i, o));
}

// After a row was learned the coefficients cost as much as the coordinates of the row, which an update by it will need.
void OnlineModel::predict_one(const ConstVectorRef& x, VectorRef out) {
  state_.leave_information();
  prepare_row(x);
  const bool read_before = std::exchange(read_, true);
  if (!coordinates_known_) one_.column(dictionary(), prepared_, 0);
  if (coordinates_known_ || !(coef_.known || read_before)) {
    const ConstVectorRef w = predicted_coordinates();
    const ConstMatrixRef theta = state_.theta();
    for (Index o = 0; o < n_outputs(); ++o) out[o] = next(o, theta.col(o).dot(w) + state_.level()[o]);
    return;
  }
  const auto k = one_.k.head(dictionary().size());
  const ConstMatrixRef coef = coefficients();
  for (Index o = 0; o < n_outputs(); ++o) {
    out[o] = k.dot(coef.col(o).head(k.size())) + constant_[o];
    if (slopes_.size() > 0) out[o] += slopes_.col(o).dot(x);
    out[o] = next(o, out[o]);
  }
}

void OnlineModel::variance_one(VectorRef out) {
  state_.settle();
  const ConstVectorRef w = predicted_coordinates();
  state_.variance_one(w, std::max(0.0, state_.basis().distance(w, prepared_self())), out);
}

void OnlineModel::predict_members(VectorRef out) { state_.predict_members(predicted_coordinates(), out); }

// Of the row of the last `predict_one`.
ConstVectorRef OnlineModel::predicted_coordinates() {
  const Basis& basis = state_.basis();
  if (!coordinates_known_) {
    MatrixRef w = one_.coordinates(basis.dimension());
    w.bottomRows(basis.size()) = one_.k.head(basis.size());
    basis.coordinates(one_.x, w);
    coordinates_known_ = true;
  }
  return one_.w.head(basis.dimension());
}

void OnlineModel::variance(const Rows& X, RowsOut out, Index threads) const {
  const Basis& basis = state_.basis();
  dictionary().tiles(X, threads, [&](MatrixRef K, const ConstVectorRef& k_self, Index first) {
    const Index count = K.cols();
    Matrix W(basis.dimension(), count);
    W.bottomRows(basis.size()) = K.topRows(basis.size());
    basis.coordinates(X.middleRows(first, count), W);
    const Vector delta = (k_self.transpose() - W.bottomRows(basis.size()).colwise().squaredNorm()).cwiseMax(0.0);
    out.middleRows(first, count) = state_.variance(W, delta);
  });
}

std::vector<bool> OnlineModel::uneven_noise() const {
  std::vector<bool> used(static_cast<std::size_t>(n_outputs()), false);
  for (Index o = 0; state_.input_noise() && o < n_outputs(); ++o)
    used[static_cast<std::size_t>(o)] = state_.input_noise()->used(o);
  return used;
}

Joint OnlineModel::covariance(const Rows& X) const {
  const Basis& basis = state_.basis();
  Matrix W(basis.dimension(), X.rows());
  dictionary().tiles(X, 1, [&](MatrixRef K, const ConstVectorRef&, Index first) {
    auto w = W.middleCols(first, K.cols());
    w.bottomRows(basis.size()) = K.topRows(basis.size());
    basis.coordinates(X.middleRows(first, K.cols()), w);
  });
  return state_.covariance(X, W, settings_.alpha);
}

Arrays OnlineModel::save() const {
  Arrays arrays;
  state_.save(arrays);
  journal_.save(arrays);
  kept_.save(arrays);
  range_.save(arrays);
  arrays.put("rows_seen", static_cast<double>(rows_seen()));
  arrays.put("quiet_rows", static_cast<double>(blocks_.quiet_rows()));
  return arrays;
}

void OnlineModel::load(const Arrays& arrays) {
  *this = OnlineModel(dictionary().kernel(), n_outputs(), settings_);
  const bool earlier = settings_.forgets() && forgets_exponentially(arrays);
  if (earlier)
    state_.load(without_frame(arrays, settings_.alpha, settings_.forgetting.front(), settings_.fit_intercept));
  else
    state_.load(arrays);
  if (earlier && arrays.number("tracking") != 0) state_.track_scores();
  journal_.load(arrays, arrays.count("rows_seen"));
  kept_.load(arrays);
  range_.load(arrays);
  blocks_.set_quiet_rows(arrays.count("quiet_rows"));
}

}  // namespace kernsift
