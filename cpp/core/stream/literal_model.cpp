#include "core/stream/literal_model.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/limits.hpp"
#include "core/base/multiply.hpp"
#include "core/stream/invariants.hpp"
#include "core/stream/pruning_scores.hpp"

namespace kernsift {

namespace {
constexpr Index kLiteralChunk = 256;  // rows prepared together
constexpr double kResolution = 1e-9;  // of `is_resolved`: an explicit inverse keeps half as many digits as a factor

// A diagonal entry to divide by. Where rounding has left nothing of it (weights or kernel values lie further apart than
// a double reaches), what comes of the division means little, but must be numbers.
void lift(SymmetricInverse& inverse, Index i, VectorRef column) {
  inverse.column(i, column);
  if (column[i] > 0) return;
  const double entry = std::max(column.cwiseAbs().maxCoeff(), kSmallest) - column[i];
  column.setZero();
  column[i] = 1.0;
  inverse.add_outer(column, entry);
  inverse.column(i, column);
}
}  // namespace

LiteralModel::LiteralModel(Kernel kernel, Index n_outputs, const OnlineSettings& settings)
    : settings_(settings.checked(n_outputs)),
      dictionary_(std::move(kernel)),
      beta_(0, n_outputs),
      xi_(Vector::Zero(n_outputs)),
      learned_(n_outputs, 1.0),
      journal_(settings.again.first_row),
      kept_(settings.again.kept_rows, dictionary_.kernel().n_features(), n_outputs) {
  if (settings.swap_until > 0 || settings.exact_rows > 0 || settings.forgets() || !settings.linear.empty())
    throw std::invalid_argument(
        "the explicit engine is the papers' form: no swap_until, exact_rows, forgetting or linear part");
  row_.rho.resize(n_outputs);
  reserve(8);
}

void LiteralModel::reserve(Index kernels) {
  if (beta_.rows() >= kernels + offset()) return;
  const Index p = whole_packets(kernels + offset());
  K_inv_.reserve(kernels);
  P_inv_.reserve(p);
  beta_.conservativeResize(p, Eigen::NoChange);
  for (Vector* v : {&row_.k, &row_.a, &row_.g, &row_.w_b, &row_.u}) v->conservativeResize(p);
}

void LiteralModel::learn(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog log) {
  coef_.known = false;
  kept_.keep(X, Y, v);
  for (Index first = 0; first < X.rows(); first += kLiteralChunk) {
    const Index count = std::min(kLiteralChunk, X.rows() - first);
    dictionary_.kernel().prepare(X.middleRows(first, count), prepared_);
    for (Index r = 0; r < count; ++r) {
      const Index i = first + r;
      learn_row(X.row(i).data(), r, Y.row(i).data(), v[i], log.apriori.row(i).data(), i, log.events);
    }
  }
}

void LiteralModel::learn_row(const double* x, Index row, const double* y, double v, double* apriori, Index i,
                             const EventLog& log) {
  if (settings_.fit_intercept && dimension() == 0) {  // the constant takes the first row whole
    std::fill_n(apriori, n_outputs(), 0.0);
    if (!(v > 0)) return journal_.record({Outcome::ignored}, i, log);
    P_inv_.append(Vector(), 1.0 / v);
    for (Index o = 0; o < n_outputs(); ++o) beta_(0, o) = y[o];
    log_det_ = std::log(v);
    learned_.add(y, v);
    return journal_.record({Outcome::rejected_usefulness}, i, log);
  }
  const double k_self = dictionary_.kernel().self(prepared_, row);
  const RowScalars scalars = look(one_.column(dictionary_, prepared_, row), k_self, y, v);
  for (Index o = 0; o < n_outputs(); ++o) apriori[o] = y[o] - row_.rho[o];
  Event event{Outcome::ignored};
  if (v > 0) event = scalars.sound() ? decide(scalars, k_self, x, row, y) : Event{Outcome::refused};
  journal_.record(event, i, log);
  if constexpr (invariants::kChecked) {  // the ridge bounds nothing of P^-1 itself
    invariants::check_inverse(P_inv_, 0, settings_.alpha);
    invariants::check_inverse(K_inv_, 0, settings_.alpha);
    invariants::check_solution(beta_.topRows(dimension()), xi_);
  }
}

// `prepared`: the row's place among the prepared ones.
Event LiteralModel::decide(const RowScalars& row, double k_self, const double* x, Index prepared, const double* y) {
  const Index m = size();
  const bool frozen = settings_.on_full == OnFull::stop && settings_.full(m);
  learned_.add(y, row.weight);
  const auto stays_out = [&](Outcome outcome) {
    normal(row);
    return Event{outcome};
  };
  if (frozen) return stays_out(Outcome::frozen);
  const Outcome outcome =
      settings_.admission.judge(row.delta, k_self, row.usefulness, rows_counted(), learned_.moments.variance());
  if (outcome != Outcome::admitted) return stays_out(outcome);
  if (!is_resolved(row.delta, k_self, dictionary_.weighted_squares(row_.a.head(m)), kResolution))
    return stays_out(Outcome::refused);
  const Index victim = settings_.leaver(m, row.usefulness, learned_.moments.rounding(), row_.scores, [&](VectorRef s) {
    row_.u.head(m) = P_inv_.diagonal().tail(m);
    return scores_after_growth(row, beta_.middleRows(offset(), m), row_.u.head(m), row_.g.segment(offset(), m),
                               row_.a.head(m), row_.rho, settings_.alpha, s);
  });
  if (victim == OnlineSettings::kNoScores) return stays_out(Outcome::refused);
  if (victim == m) return stays_out(Outcome::bounced);
  grow(row);
  dictionary_.append(x, prepared_, prepared, rows_seen());
  if (victim == OnlineSettings::kNobody) return {Outcome::admitted};
  const std::int64_t evicted = dictionary_.ids()[static_cast<std::size_t>(victim)];
  remove(victim);
  return {Outcome::swapped, evicted};
}

RowScalars LiteralModel::look(const ConstVectorRef& k, double k_self, const double* y, double v) {
  const Index m = size(), p = dimension();
  auto k1 = row_.k.head(p);
  auto g = row_.g.head(p);
  if (p > m) k1[0] = 1.0;
  k1.tail(m) = k;
  K_inv_.apply(k, row_.a.head(m));  // [JP 4]
  P_inv_.apply(k1, g);

  RowScalars row;
  row.weight = v;
  row.delta = std::max(0.0, k_self - k.dot(row_.a.head(m)));  // [JP 3]
  const double gain = k1.dot(g);
  invariants::check_gain(gain, v);
  row.Delta = 1.0 / v + gain;  // [JP 11]
  row.leverage = v * gain;
  row.den = row.delta + settings_.alpha * row.Delta;
  double squares = 0;
  for (Index o = 0; o < n_outputs(); ++o) {
    row_.rho[o] = y[o] - k1.dot(beta_.col(o).head(p));
    squares += row_.rho[o] * row_.rho[o];
  }
  row.loss = g.squaredNorm() / row.Delta;
  row.trace = P_inv_.diagonal().cwiseAbs().sum();
  row.rise = squares / row.Delta;
  row.usefulness = row.delta > 0 ? row.delta * row.rise / row.den : 0.0;
  return row;
}

void LiteralModel::normal(const RowScalars& row) {  // [JP 11]
  const Index p = dimension();
  const auto g = row_.g.head(p);
  P_inv_.add_outer(g, -1.0 / row.Delta);  // [JP 9]
  for (Index o = 0; o < n_outputs(); ++o) beta_.col(o).head(p) += (row_.rho[o] / row.Delta) * g;
  xi_.array() += row_.rho.array().square() / row.Delta;
  log_det_ += std::log1p(row.leverage);
}

// P^-1 and K^-1 gain a row and a column by the partitioned inverse [JP 10].
void LiteralModel::border(const ConstVectorRef& w_b, double Delta_b, const ConstVectorRef& a, double delta) {
  P_inv_.border(w_b, Delta_b);  // [JP 12]
  K_inv_.border(a, delta);      // [JP 12]
  log_det_ += std::log(Delta_b / delta);
}

void LiteralModel::grow(const RowScalars& row) {
  const Index m = size(), p = dimension();
  reserve(grown_capacity(beta_.rows() - offset(), m + 1));
  normal(row);  // the paper's order: the row first, then the column
  auto w_b = row_.w_b.head(p);
  w_b = (row.delta / row.Delta) * row_.g.head(p);  // [JP 14]; g from before the normal step
  w_b.tail(m) += row_.a.head(m);
  const double Delta_b = row.delta * (row.den / row.Delta);  // [JPs grow]: not the Delta_b printed in [JP 14]
  for (Index o = 0; o < n_outputs(); ++o) {
    const double kappa = row_.rho[o] / row.den;  // [JP 15]; = delta rho / (Delta Delta_b)
    beta_.col(o).head(p) -= kappa * w_b;         // [JP 15]
    beta_(p, o) = kappa;
    xi_[o] -= kappa * kappa * Delta_b;  // [JP 16]
  }
  border(w_b, Delta_b, row_.a.head(m), row.delta);
}

void LiteralModel::remove(Index i) {
  const Index p = dimension(), row = offset() + i;
  lift(K_inv_, i, row_.u.head(size()));
  auto u = row_.u.head(p);
  lift(P_inv_, row, u);
  for (Index o = 0; o < n_outputs(); ++o) {
    const double b_star = beta_(row, o);
    xi_[o] += b_star * (b_star / u[row]);           // [JP 19]
    beta_.col(o).head(p) -= (b_star / u[row]) * u;  // [JP 18]: the sign is minus
    for (Index k = row; k + 1 < p; ++k) beta_(k, o) = beta_(k + 1, o);
  }
  log_det_ += std::log(u[row] / K_inv_(i, i));
  P_inv_.remove(row);  // [JP 17]
  K_inv_.remove(i);
  dictionary_.remove(i);
}

void LiteralModel::prune(Index kernels) {
  coef_.known = false;
  while (size() > kernels) {
    const Index m = size();
    row_.scores = beta_.middleRows(offset(), m).rowwise().squaredNorm().cwiseQuotient(P_inv_.diagonal().tail(m));
    remove(weakest(row_.scores, std::numeric_limits<double>::infinity(), learned_.moments.rounding()));
  }
}

void LiteralModel::learn_prepared(const ConstVectorRef& y, double v) {
  coef_.known = false;
  one_.set_target(y);
  kept_.keep(one_.x.data(), one_.y.data(), v);
  Event event{};
  const EventLog log{reinterpret_cast<std::uint8_t*>(&event.outcome), &event.victim};
  learn_row(one_.x.data(), 0, one_.y.data(), v, one_.apriori.data(), 0, log);
}

ConstMatrixRef LiteralModel::coefficients() const {
  return coef_.get(dictionary_, n_outputs(), [&](MatrixRef beta) { beta = beta_.middleRows(offset(), size()); });
}

Vector LiteralModel::intercept() const {
  if (dimension() == size()) return Vector::Zero(n_outputs());
  return beta_.row(0).transpose();
}

void LiteralModel::predict_one(const ConstVectorRef& x, VectorRef out) {
  prepare_row(x);
  out = intercept() + beta_.middleRows(offset(), size()).transpose() * one_.column(dictionary_, prepared_, 0);
}

void LiteralModel::variance_one(VectorRef out) {
  const double k_self = prepared_self();
  double spread = 0, delta = k_self;
  if (!settings_.fit_intercept || dimension() > 0) {
    one_.y.setZero(1, n_outputs());
    const RowScalars row = look(one_.k.head(size()), k_self, one_.y.data(), 1.0);
    spread = row.leverage;
    delta = row.delta;
  }
  for (Index o = 0; o < n_outputs(); ++o) out[o] = noise_variance(o) * relative_variance(spread, delta);
}

double LiteralModel::relative_variance(double spread, double delta) const {
  return 1.0 + spread + (settings_.alpha > 0 ? delta / settings_.alpha : 0.0);
}

void LiteralModel::variance(const Rows& X, RowsOut out, Index threads) const {
  const Index m = size(), p = dimension();
  const Vector noise = kernsift::noise_variance(*this);
  dictionary_.tiles(X, threads, [&](MatrixRef values, const ConstVectorRef& k_self, Index first) {
    const auto K = values.topRows(m);
    const Index n = K.cols();
    Matrix A(m, n), K1(p, n), G(p, n);
    K_inv_.apply_block(K, A);
    if (p > m) K1.row(0).setOnes();
    K1.bottomRows(m) = K;
    P_inv_.apply_block(K1, G);
    for (Index r = 0; r < n; ++r) {
      const double delta = std::max(0.0, k_self[r] - K.col(r).dot(A.col(r)));
      out.row(first + r) = relative_variance(K1.col(r).dot(G.col(r)), delta) * noise.transpose();
    }
  });
}

// K is not kept, only its inverse: |f|^2 = beta'K beta by solving with it.
Vector LiteralModel::rss() const {
  if (size() == 0) return xi_;
  const Matrix beta = beta_.middleRows(offset(), size());
  const Matrix K = K_inv_.dense().inverse(), values = product(K, beta);
  return (xi_ - settings_.alpha * beta.cwiseProduct(values).colwise().sum().transpose()).cwiseMax(0.0);
}

double LiteralModel::dof() const {
  if (size() == 0) return static_cast<double>(dimension());
  const Matrix K = K_inv_.dense().inverse();
  return static_cast<double>(dimension()) - settings_.alpha * inverse_P().cwiseProduct(K).sum();
}

Arrays LiteralModel::save() const {
  Arrays arrays;
  dictionary_.save(arrays);
  arrays.put("kernel_inverse", K_inv_.dense());
  arrays.put("inverse", P_inv_.dense());
  arrays.put("beta", beta_.topRows(dimension()));
  arrays.put("cost", xi_);
  arrays.put("log_det", log_det_);
  learned_.save(arrays);
  journal_.save(arrays);
  kept_.save(arrays);
  arrays.put("rows_seen", static_cast<double>(rows_seen()));
  return arrays;
}

void LiteralModel::load(const Arrays& arrays) {
  *this = LiteralModel(dictionary_.kernel(), n_outputs(), settings_);
  dictionary_.load(arrays);
  learned_.load(arrays);
  journal_.load(arrays, arrays.count("rows_seen"));
  kept_.load(arrays);
  const Index m = dictionary_.size(), p = m + (settings_.fit_intercept && learned_.rows > 0 ? 1 : 0);
  reserve(std::max<Index>(8, m));
  K_inv_.assign(arrays.get("kernel_inverse", m, m));
  P_inv_.assign(arrays.get("inverse", p, p));
  beta_.topRows(p) = arrays.get("beta", p, n_outputs());
  xi_ = arrays.get("cost", n_outputs(), 1);
  log_det_ = arrays.number("log_det");
}

}  // namespace kernsift
