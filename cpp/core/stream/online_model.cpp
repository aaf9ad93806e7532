#include "core/stream/online_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/simd/triangle_passes.hpp"

namespace kernsift {

namespace {
constexpr Index kChunk = 256;  // rows prepared together
constexpr Index kBlock = 64;   // rows learned together
}  // namespace

OnlineModel::OnlineModel(Kernel kernel, Index n_outputs, const OnlineSettings& settings)
    : settings_(settings.checked(n_outputs)),
      state_(std::move(kernel), n_outputs, settings),
      blocks_(dictionary().kernel().n_features()) {}

void OnlineModel::learn(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog log) {
  coef_.known = false;
  for (Index first = 0; first < X.rows(); first += kChunk) {
    if (blocks_.learns_in_parts(*this, log.exact_apriori)) {
      const Index rest = X.rows() - first;
      LearnLog later{log.apriori.bottomRows(rest), log.events.from(first), false, log.threads};
      return blocks_.learn_parts(*this, X.bottomRows(rest), Y.bottomRows(rest), v.tail(rest), later);
    }
    const Index count = std::min(kChunk, X.rows() - first);
    dictionary().kernel().prepare(X.middleRows(first, count), prepared_);
    for (Index r = 0; r < count;) {
      // the first row of all seats the constant: alone
      if (settings_.window || state_.basis().dimension() == 0) {
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
}

// `row`: its place in the prepared chunk.
void OnlineModel::learn_row(const double* x, Index row, const double* y, double v, double* apriori, Index i,
                            const EventLog& log) {
  if (state_.posterior().bias_pending()) {
    std::fill_n(apriori, n_outputs(), 0.0);
    if (!(v > 0)) return journal_.record({Outcome::ignored}, i, log);
    // The constant takes the first row whole: a kernel could lower the cost by nothing, and its column would equal
    // that of the constant, told apart by the ridge alone.
    const double weight = v * state_.learned().forgetting.frame();
    state_.seat_bias(y, weight);
    if (keeps_recent()) state_.keep({x, prepared_, row, 0.0, Vector::Ones(1)}, y, weight);
    state_.count(y, v);
    return journal_.record({Outcome::rejected_usefulness}, i, log);
  }
  if (v > 0) state_.forget_oldest();
  const Basis& basis = state_.basis();
  MatrixRef w = one_.coordinates(basis.offset() + dictionary().padded());
  basis.coordinates(prepared_, row, 1, w);
  const Sample sample{x, prepared_, row, dictionary().kernel().self(prepared_, row), w.col(0).head(basis.dimension())};
  const RowScalars look = this->look(sample, y, v, apriori);
  journal_.record(decide(look, sample, y, v), i, log);
  state_.fade_if_due();
  state_.renew_if_in_doubt();
  state_.check();
}

RowScalars OnlineModel::look(const Sample& sample, const double* y, double v, double* apriori) {
  const RowScalars row = state_.look(sample.w, sample.k_self, y, v * state_.learned().forgetting.frame());
  for (Index o = 0; o < n_outputs(); ++o) apriori[o] = y[o] - state_.posterior().residual()[o];
  return row;
}

Event OnlineModel::decide(const RowScalars& row, const Sample& sample, const double* y, double v) {
  if (!(v > 0)) return {Outcome::ignored};
  if (!row.sound()) return {Outcome::refused};
  const bool frozen_now = frozen(), keep = keeps_recent();
  leave_scores_if(frozen_now);
  const double usefulness = row.usefulness / state_.learned().forgetting.frame();
  state_.count(y, v);
  const Outcome outcome = frozen_now ? Outcome::frozen
                                     : settings_.admission.judge(row.delta, sample.k_self, usefulness, rows_counted(),
                                                                 state_.learned().moments.variance());
  if (keep) {  // a kernel is exact on the recent rows: the row itself is learned first
    state_.normal(sample, row);
    state_.keep(sample, y, row.weight);
    state_.count_rounding();
  }
  if (outcome == Outcome::admitted) return admit(row, sample, keep);
  if (!keep) state_.normal(sample, row);
  return {outcome};
}

// `exactly`: by a kernel exact on the recent rows, the last of which is this one, already learned.
Event OnlineModel::admit(const RowScalars& row, const Sample& sample, bool exactly) {
  const Index m = dictionary().size();
  const auto stays_out = [&](Outcome outcome) {
    if (!exactly) state_.normal(sample, row);
    return Event{outcome};
  };
  if (!state_.is_resolved(sample, row.delta)) return stays_out(Outcome::refused);
  const double usefulness = exactly ? state_.look_exact(sample, row.delta) : row.usefulness;
  if (!(usefulness >= 0) || !std::isfinite(usefulness)) return stays_out(Outcome::refused);
  // [MATH 1.7]: from the scores as they would be after growth
  const Index victim = settings_.leaver(m, usefulness, state_.learned().moments.rounding(), scores_, [&](VectorRef s) {
    return exactly ? state_.scores_after_exact_growth(sample, row.delta, s)
                   : state_.scores_after_growth(sample, row, s);
  });
  if (victim == OnlineSettings::kNoScores) return stays_out(Outcome::refused);
  if (victim == m) return stays_out(Outcome::bounced);

  if (exactly)
    state_.grow_exact(sample, row.delta, rows_seen());
  else
    state_.grow(sample, row, rows_seen());
  if (victim == OnlineSettings::kNobody) {
    if (m + 1 == settings_.max_basis && settings_.prunes()) state_.track_scores();
    return {Outcome::admitted};
  }
  const std::int64_t evicted = dictionary().ids()[static_cast<std::size_t>(victim)];
  state_.remove(victim);
  return {Outcome::swapped, evicted};
}

void OnlineModel::begin_refit() {
  coef_.known = false;
  refit_ = {true, journal_};
  state_.restart();
}

void OnlineModel::end_refit() {
  settle();
  state_.check();
  refit_.on = false;
  if (settings_.prunes() && settings_.full(dictionary().size()) && !frozen())
    state_.track_scores();   // a frozen stream had left them, and swaps again after a short second pass
  journal_ = refit_.before;  // a second look at rows that have their numbers
}

bool OnlineModel::change_ridge(double alpha) {
  coef_.known = false;
  if (!state_.change_ridge(alpha)) return false;
  state_.check();
  settings_.alpha = alpha;
  return true;
}

bool OnlineModel::choose_ridge() {
  if (dictionary().size() == 0) return false;
  state_.settle();
  const auto& learned = state_.learned();
  const double best = state_.posterior().best_ridge(learned.moments.weight(), static_cast<double>(learned.rows));
  return std::isfinite(best) && change_ridge(best);
}

void OnlineModel::prune(Index kernels) {
  coef_.known = false;
  // O(m^3), as what follows: nothing forgotten lingers
  if (settings_.window && state_.recent().size() > 0) state_.renew_from_rows();
  state_.settle();  // the same bits whether or not the model was read before
  state_.track_scores();
  if (!keeps_recent()) state_.drop_recent();  // they have not followed the basis
  while (dictionary().size() > kernels) {
    const Index m = dictionary().size();
    if (scores_.size() < m) scores_.resize(m);
    state_.scores(scores_.head(m));
    state_.remove(
        weakest(scores_.head(m), std::numeric_limits<double>::infinity(), state_.learned().moments.rounding()));
    state_.check();
  }
}

void OnlineModel::learn_prepared(const ConstVectorRef& y, double v) {
  coef_.known = false;
  one_.set_target(y);
  state_.leave_information();
  if (state_.drop_information()) blocks_.information_dropped(*this);
  Event event{};
  const EventLog log{reinterpret_cast<std::uint8_t*>(&event.outcome), &event.victim};
  learn_row(one_.x.data(), 0, one_.y.data(), v, one_.apriori.data(), 0, log);
}

// A few columns at a time, by the routine that allocates nothing.
ConstMatrixRef OnlineModel::coefficients() const {
  return coef_.get(dictionary(), n_outputs(), [&](MatrixRef beta) {
    beta = state_.posterior().kernel_theta();
    for (Index o = 0; o < n_outputs(); o += kFewColumns)
      state_.basis().span().coefficients(beta.middleCols(o, std::min(kFewColumns, n_outputs() - o)));
  });
}

void OnlineModel::predict_one(const ConstVectorRef& x, VectorRef out) {
  state_.leave_information();
  prepare_row(x);
  const auto k = one_.column(dictionary(), prepared_, 0);
  const ConstMatrixRef coef = coefficients();
  const auto bias = state_.posterior().bias();
  for (Index o = 0; o < n_outputs(); ++o)
    out[o] = k.dot(coef.col(o).head(dictionary().size())) + (bias.size() > 0 ? bias[o] : 0.0);
}

double OnlineModel::relative_variance() {
  state_.settle();
  const double k_self = prepared_self();
  double spread = 0, delta = k_self;
  if (!state_.posterior().bias_pending()) {
    const Index m = dictionary().size(), p = state_.basis().dimension();
    MatrixRef w = one_.coordinates(p);
    w.col(0).tail(m) = one_.k.head(m);
    state_.basis().coordinates(w);
    one_.y.setZero(1, n_outputs());
    const RowScalars look = state_.look(w.col(0), k_self, one_.y.data(), 1.0);
    spread = look.leverage / scale();
    delta = look.delta;
  }
  return 1.0 + spread + (settings_.alpha > 0 ? delta / settings_.alpha : 0.0);
}

void OnlineModel::variance(const Rows& X, VectorRef spread, VectorRef delta, Index threads) const {
  const Basis& basis = state_.basis();
  dictionary().tiles(X, threads, [&](MatrixRef K, const ConstVectorRef& k_self, Index first) {
    const Index count = K.cols();
    auto kernels = K.topRows(basis.size());
    basis.span().coordinates(kernels);
    delta.segment(first, count) = (k_self.transpose() - kernels.colwise().squaredNorm()).cwiseMax(0.0);
    Matrix W(basis.dimension(), count);
    if (basis.offset() > 0) W.row(0).setOnes();
    W.bottomRows(basis.size()) = kernels;
    spread.segment(first, count) = state_.posterior().spread(W);  // [MATH 1.9]
  });
  spread /= scale();
}

Matrix OnlineModel::inverse_P() const {
  const Matrix inverse = state_.basis().span().inverse_factor();
  return inverse.transpose() * state_.posterior().kernel_inverse() * inverse;
}

Arrays OnlineModel::save() const {
  Arrays arrays;
  state_.save(arrays);
  journal_.save(arrays);
  arrays.put("rows_seen", static_cast<double>(rows_seen()));
  arrays.put("quiet_rows", static_cast<double>(blocks_.quiet_rows()));
  return arrays;
}

void OnlineModel::load(const Arrays& arrays) {
  *this = OnlineModel(dictionary().kernel(), n_outputs(), settings_);
  state_.load(arrays);
  journal_.load(arrays, arrays.count("rows_seen"));
  blocks_.set_quiet_rows(arrays.count("quiet_rows"));
}

}  // namespace kernsift
