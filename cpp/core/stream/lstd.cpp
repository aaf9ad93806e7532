#include "core/stream/lstd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernsift {

namespace {
constexpr Index kChunk = 128;  // transitions prepared together
// Delta and Delta_b are sums of terms of either sign: what is left of them must be more than rounding.
constexpr double kFloor = 1e-10;
}  // namespace

KernelLSTD::KernelLSTD(Kernel kernel, const LSTDSettings& settings)
    : settings_(settings), dictionary_(std::move(kernel)), newcomer_(dictionary_.kernel().n_features()) {
  const auto from_0 = [](double value) { return value >= 0 && std::isfinite(value); };
  const LSTDSettings& s = settings_;  // they may come from a file
  if (!(s.alpha > 0) || !from_0(s.alpha) || !from_0(s.discount) || s.discount > 1 || !from_0(s.trace_decay) ||
      s.trace_decay > 1 || s.max_basis < 0 || !from_0(s.admission.novelty_tol) || !from_0(s.admission.usefulness_tol))
    throw std::invalid_argument("a setting of KernelLSTD is out of its range");
  along_.resize(kPanel, 2);
  K_.resize(kPanel, 2);
  reserve(8);
}

void KernelLSTD::reserve(Index n) {
  if (theta_.size() >= n) return;
  n = whole_packets(n);
  for (Vector* x : {&theta_, &diagonal_, &u_, &v_, &wb_, &vb_, &beta_, &scores_, &a_, &kernel_u_, &kernel_v_})
    x->conservativeResize(n);
  const Index old = followers_.rows();
  followers_.conservativeResize(n, kFollowers);
  followers_.bottomRows(n - old).setZero();
  span_.reserve(n);
  C_.reserve(n);
  rotations_.chain.reserve(n);
}

void KernelLSTD::learn(const Rows& S, const ConstVectorRef& r, const Rows& S_next, const bool* terminal,
                       const bool* start, LSTDLog log) {
  for (Index first = 0; first < S.rows(); first += kChunk) {
    const Index count = std::min(kChunk, S.rows() - first);
    if (states_.rows() < 2 * count) states_.resize(2 * count, S.cols());
    for (Index j = 0; j < count; ++j) {
      states_.row(2 * j) = S.row(first + j);
      states_.row(2 * j + 1) = S_next.row(first + j);
    }
    dictionary_.kernel().prepare(states_.topRows(2 * count), prepared_);
    for (Index j = 0; j < count; ++j) {
      const Index i = first + j, m = size();
      if (K_.rows() < dictionary_.padded()) K_.resize(grown_capacity(K_.rows(), dictionary_.padded()), 2);
      dictionary_.block(prepared_, 2 * j, 2, K_.topRows(dictionary_.padded()));
      followers_.block(0, kHere, m, 2) = K_.topRows(m);
      span_.coordinates(followers_.block(0, kHere, m, 2));

      if (start[i] || fresh_) follower(kTrace).setZero();
      fresh_ = terminal[i];
      discount_ = terminal[i] ? 0.0 : settings_.discount;
      follower(kTrace) = settings_.discount * settings_.trace_decay * follower(kTrace) + follower(kHere);  // [LSTD 1]
      h() = follower(kHere) - discount_ * follower(kThere);  // [LSTD 1]

      Event here{Outcome::ignored, -1}, there{Outcome::ignored, -1};
      rewards_.add(r.data() + i, 1.0);
      in_kernels_ = false;
      log.learned[i] = normal(r[i]);
      if (log.learned[i]) {
        here = consider(0, j);
        if (!terminal[i]) there = consider(1, j);
        // a product on the way may leave the range of a double where the diagonal itself does not
        if (tracking_ && !diagonal_.head(size()).allFinite()) refresh_diagonal();
      } else {
        ++skipped_;
      }
      record(here, 2 * i, log);
      record(there, 2 * i + 1, log);
      ++transitions_;
    }
  }
}

void KernelLSTD::record(const Event& event, Index i, LSTDLog& log) {
  log.outcome[i] = static_cast<std::uint8_t>(event.outcome);
  log.victim[i] = event.victim;
  ++counters_[static_cast<std::size_t>(event.outcome)];
}

// C <- C - Cz h'C / Delta, theta <- theta + (rho / Delta) Cz
bool KernelLSTD::normal(double r) {
  const Index m = size();
  auto u = u_.head(m);
  auto v = v_.head(m);
  C_.apply(z(), u);
  C_.apply_transposed(h(), v);
  const double gain = h().dot(u), Delta = 1.0 + gain;
  if (!(std::abs(Delta) > kFloor * (1.0 + std::abs(gain)))) return false;
  const double rho = r - h().dot(theta_.head(m));
  C_.add_outer(u, v, -1.0 / Delta);     // [LSTD normal]
  theta_.head(m) += (rho / Delta) * u;  // [LSTD normal]
  if (tracking_) {
    transition_in_kernels();
    diagonal_.head(m).array() -= kernel_u_.head(m).array() * kernel_v_.head(m).array() / Delta;
    kernel_u_.head(m) /= Delta;
    kernel_v_.head(m) /= Delta;
  }
  u /= Delta;
  v /= Delta;
  left_ = 1.0 / Delta;
  rho_ = rho / Delta;
  reward_ = r;
  return true;
}

// L^-T u and L^-T v: until the basis changes.
void KernelLSTD::transition_in_kernels() {
  const Index m = size();
  kernel_u_.head(m) = u_.head(m);
  kernel_v_.head(m) = v_.head(m);
  span_.coefficients(kernel_u_.head(m));
  span_.coefficients(kernel_v_.head(m));
  in_kernels_ = true;
}

// Whether s (which = 0) or s' (1) of the transition just learned becomes a kernel.
auto KernelLSTD::consider(Index which, Index row) -> Event {
  const double k_self = dictionary_.kernel().self(prepared_, 2 * row + which);
  const double delta = std::max(0.0, k_self - follower(Follower(kHere + which)).squaredNorm());
  if (!(delta > settings_.admission.novelty_tol * k_self)) return {Outcome::rejected_novelty, -1};
  const Newcomer x = look_along(which, row, delta);
  const double mean = rewards_.mean()[0];
  const Outcome outcome =
      settings_.admission.judge(delta, k_self, x.usefulness, static_cast<double>(transitions_ + 1),
                                rewards_.variance() + mean * mean);  // no constant in the model: the mean counts
  if (outcome != Outcome::admitted) return {outcome, -1};
  auto a = a_.head(size());
  const bool full = settings_.max_basis > 0 && size() == settings_.max_basis;
  if (full ||
      !is_surely_resolved(delta, k_self, span_.inverse_norm(), dictionary_.largest_self(), KernelSpan::kResolution)) {
    a = follower(Follower(kHere + which));
    span_.coefficients(a);
    if (!is_resolved(delta, k_self, dictionary_.weighted_squares(a), KernelSpan::kResolution))
      return {Outcome::refused, -1};
  }
  if (!(std::abs(x.schur) > kFloor * (settings_.alpha + std::abs(x.z * x.h * left_)))) return {Outcome::refused, -1};

  const Index m = size();
  Index victim = -1;
  if (full) {
    victim = find_victim(x);
    if (victim < 0) return {Outcome::refused, -1};
    if (victim == m) return {Outcome::bounced, -1};
  }
  grow(x, which, row);
  if (victim < 0) {
    if (m + 1 == settings_.max_basis) {
      tracking_ = true;
      refresh_diagonal();
    }
    return {Outcome::admitted, -1};
  }
  const std::int64_t evicted = dictionary_.ids()[static_cast<std::size_t>(victim)];
  remove(victim);
  return {Outcome::swapped, evicted};
}

// In the orthonormal basis all earlier transitions have coordinate 0 in the new direction, and with s = sqrt(delta)
// this one has dq / s in z and dp / s in h, where dq = k(x*, s) - w*'w(s) and dp = dq - g (k(x*, s') - w*'w(s')).
// So Z'H + alpha I is bordered by b = z s_h, c = h s_z, corner alpha + s_z s_h, and what is left of the corner is
//   q = alpha + s_z s_h (1 - h'Cz) = Delta_b / delta,                                                [LSTD grow]
// C being the one that has learned the transition: 1 - h'Cz = 1 / Delta.
auto KernelLSTD::look_along(Index which, Index row, double delta) -> Newcomer {
  const auto w = follower(Follower(kHere + which));
  const Index own = 2 * row + which;
  newcomer_.clear();
  newcomer_.append(prepared_.coordinates(own), prepared_.norm(own));
  dictionary_.kernel().block(newcomer_, prepared_, 2 * row, 2, along_);
  Newcomer x{};
  x.delta = delta;
  x.s = std::sqrt(delta);
  x.here = which == 0 ? x.s : (along_(0, 0) - w.dot(follower(kHere))) / x.s;
  x.there = which == 1 ? x.s : (along_(0, 1) - w.dot(follower(kThere))) / x.s;
  x.h = x.here - discount_ * x.there;
  x.z = settings_.residual ? x.h : x.here;
  x.schur = settings_.alpha + x.z * x.h * left_;      // [LSTD grow]
  x.tau = x.z * rho_ / x.schur;                       // [LSTD grow]
  x.usefulness = x.tau * x.tau * std::abs(x.schur);  // kappa^2 |Delta_b|
  return x;
}

// w_b = a + dp Cz, v_b = a + dq C'h in the kernels' own coordinates; the scores w_i^2 / |U_ii| as they would be after
// growing [LSTD prune]. Returns size() for the newcomer, -1 where the numbers do not allow a decision.
Index KernelLSTD::find_victim(const Newcomer& x) {
  const Index m = size();
  if (!in_kernels_) transition_in_kernels();
  auto wb = wb_.head(m);
  auto vb = vb_.head(m);
  auto beta = beta_.head(m);
  wb = a_.head(m) + (x.s * x.h) * kernel_u_.head(m);
  vb = a_.head(m) + (x.s * x.z) * kernel_v_.head(m);
  beta = theta_.head(m);
  span_.coefficients(beta);
  double largest = 0;
  for (Index i = 0; i < m; ++i) {
    const double d = std::abs(diagonal_[i] + wb[i] * vb[i] / (x.delta * x.schur));
    const double coefficient = beta[i] - x.tau / x.s * wb[i];
    if (!(d > 0)) return -1;
    largest = std::max(largest, d);
    scores_[i] = coefficient * coefficient / d;  // [LSTD prune]
  }
  const Index victim = weakest(scores_.head(m), x.usefulness, -std::numeric_limits<double>::infinity());
  if (victim == m) return m;
  // deleting i divides by U_ii
  const double d = std::abs(diagonal_[victim] + wb[victim] * vb[victim] / (x.delta * x.schur));
  return d > kFloor * largest ? victim : -1;
}

void KernelLSTD::grow(const Newcomer& x, Index which, Index row) {
  const Index m = size();
  reserve(grown_capacity(theta_.size(), m + 1));
  auto u = u_.head(m);
  auto v = v_.head(m);
  if (tracking_) {
    const double Delta_b = x.delta * x.schur;
    diagonal_.head(m).array() += wb_.head(m).array() * vb_.head(m).array() / Delta_b;  // of find_victim
    diagonal_[m] = 1.0 / Delta_b;
  }
  wb_.head(m) = x.h * u;
  vb_.head(m) = x.z * v;
  C_.border(wb_.head(m), vb_.head(m), x.schur);
  theta_.head(m) -= (x.tau * x.h) * u;
  theta_[m] = x.tau;
  // the same transition from the grown model
  const double shrink = settings_.alpha / x.schur;
  u *= shrink;
  v *= shrink;
  u_[m] = x.z * left_ / x.schur;
  v_[m] = x.h * left_ / x.schur;
  left_ *= shrink;
  rho_ *= shrink;
  followers_(m, kTrace) = x.here;  // the trace before this transition has coordinate 0
  followers_(m, kDifference) = x.h;
  followers_(m, kHere) = x.here;
  followers_(m, kThere) = x.there;
  span_.append(followers_.col(kHere + which).head(m), x.s);
  in_kernels_ = false;
  const Index own = 2 * row + which;
  dictionary_.append(states_.row(own).data(), prepared_, own, 2 * transitions_ + which);
}

// The rotations that bring the deleted element last act on both sides of C, on theta and on the trace; then the last
// coordinate is conditioned on: U -= U_{:,i} U_{i,:} / U_ii, w -= (w_i / U_ii) U_{:,i}               [LSTD prune]
void KernelLSTD::remove(Index i) {
  const Index m = size(), last = m - 1;
  if (tracking_) {
    auto column = wb_.head(m);
    auto row = vb_.head(m);
    auto unit = beta_.head(m);
    unit.setZero();
    unit[i] = 1.0;
    span_.coordinates(unit);
    C_.apply(unit, column);
    C_.apply_transposed(unit, row);
    span_.coefficients(column);
    span_.coefficients(row);
    diagonal_.head(m).array() -= column.array() * row.array() / column[i];
    for (Index k = i; k < last; ++k) diagonal_[k] = diagonal_[k + 1];
  }
  span_.remove(i, rotations_);
  in_kernels_ = false;
  C_.rotate(rotations_);
  rotations_.rotate_rows(followers_.topRows(m), 0);
  for (std::size_t q = 0; q < rotations_.chain.size(); ++q) {
    double* t = theta_.data() + rotations_.first + static_cast<Index>(q);
    rotations_.chain[q].apply(t[0], t[1]);
  }
  const double corner = C_.view()(last, last);
  const double beside =
      std::max(C_.view().col(last).cwiseAbs().maxCoeff(), C_.view().row(last).cwiseAbs().maxCoeff());
  const bool lost = !(std::abs(corner) > kFloor * kFloor * beside);
  if (lost) {  // of this direction rounding has left nothing: it goes as if nothing had reached it
    C_.drop_last();
  } else {
    theta_.head(last) -= (theta_[last] / corner) * C_.view().col(last).head(last);  // [LSTD prune]
    C_.remove(last);
  }
  dictionary_.remove(i);
  if (tracking_ && (++removals_ >= std::max<Index>(last, 64) || lost)) refresh_diagonal();

  auto u = u_.head(last);
  auto v = v_.head(last);
  C_.apply(z(), u);
  C_.apply_transposed(h(), v);
  left_ = 1.0 - h().dot(u);
  rho_ = reward_ - h().dot(theta_.head(last));
}

void KernelLSTD::refresh_diagonal() {
  const Index m = size();
  auto unit = wb_.head(m);
  auto image = vb_.head(m);
  for (Index j = 0; j < m; ++j) {  // d_j = e_j'L^-T C L^-1 e_j
    unit.setZero();
    unit[j] = 1.0;
    span_.coordinates(unit);
    C_.apply(unit, image);
    diagonal_[j] = unit.dot(image);
  }
  removals_ = 0;
}

void KernelLSTD::predict(const Rows& S, RowsOut out) const {
  Matrix coefficients = Matrix::Zero(dictionary_.padded(), 1);
  coefficients.col(0).head(size()) = coef();
  PreparedRows rows;
  for (Index first = 0; first < S.rows(); first += kChunk) {
    const Index count = std::min(kChunk, S.rows() - first);
    dictionary_.kernel().prepare(S.middleRows(first, count), rows);
    dictionary_.kernel().expand(dictionary_.panels(), coefficients, Vector::Zero(1), rows, 0, count,
                                out.middleRows(first, count));
  }
}

Vector KernelLSTD::coef() const {
  Matrix beta = theta_.head(size());
  span_.coefficients(beta);
  return beta;
}

Vector KernelLSTD::trace() const { return span_.factor() * followers_.col(kTrace).head(size()); }

Matrix KernelLSTD::inverse_P() const {
  const Matrix inverse = span_.inverse_factor();
  return inverse.transpose() * C_.view() * inverse;
}

Arrays KernelLSTD::save() const {
  Arrays arrays;
  const Index m = size();
  arrays.put("factor", Matrix(span_.factor()));
  arrays.put("inverse", Matrix(C_.view()));
  arrays.put("theta", Matrix(theta_.head(m)));
  arrays.put("trace", Matrix(followers_.col(kTrace).head(m)));
  arrays.put("diagonal", tracking_ ? Matrix(diagonal_.head(m)) : Matrix(0, 1));
  arrays.put("tracking", tracking_);
  arrays.put("removals", static_cast<double>(removals_));
  arrays.put("basis", Matrix(dictionary_.vectors()));
  Matrix ids(m, 1), counts(kOutcomes, 1);
  for (Index i = 0; i < m; ++i) ids(i, 0) = static_cast<double>(dictionary_.ids()[static_cast<std::size_t>(i)]);
  for (Index i = 0; i < kOutcomes; ++i) counts(i, 0) = static_cast<double>(counters_[static_cast<std::size_t>(i)]);
  arrays.put("ids", std::move(ids));
  arrays.put("counters", std::move(counts));
  arrays.put("transitions", static_cast<double>(transitions_));
  arrays.put("skipped", static_cast<double>(skipped_));
  arrays.put("fresh", fresh_);
  arrays.put("reward_weight", rewards_.weight());
  arrays.put("reward_mean", rewards_.mean());
  arrays.put("reward_squares", rewards_.squares());
  return arrays;
}

void KernelLSTD::load(const Arrays& arrays) {
  *this = KernelLSTD(dictionary_.kernel(), settings_);
  const Index m = arrays.get("ids").rows();
  const RowMatrix basis = arrays.get("basis", m, dictionary_.kernel().n_features());
  const Matrix& ids = arrays.get("ids", m, 1);
  const Matrix& counts = arrays.get("counters", kOutcomes, 1);
  reserve(std::max<Index>(8, m));
  span_.assign(arrays.get_factor("factor", m));
  C_.assign(arrays.get("inverse", m, m));
  theta_.head(m) = arrays.get("theta", m, 1);
  followers_.col(kTrace).head(m) = arrays.get("trace", m, 1);
  tracking_ = arrays.number("tracking") != 0;
  if (tracking_) diagonal_.head(m) = arrays.get("diagonal", m, 1);
  removals_ = arrays.count("removals");
  dictionary_.kernel().prepare(basis, prepared_);
  for (Index i = 0; i < m; ++i)
    dictionary_.append(basis.row(i).data(), prepared_, i, Arrays::whole(ids(i, 0), "ids"));
  for (Index i = 0; i < kOutcomes; ++i) counters_[static_cast<std::size_t>(i)] = Arrays::whole(counts(i, 0), "counters");
  transitions_ = arrays.count("transitions");
  skipped_ = arrays.count("skipped");
  fresh_ = arrays.number("fresh") != 0;
  rewards_.assign(arrays.number("reward_weight"), arrays.get("reward_mean", 1, 1), arrays.number("reward_squares"));
}

}  // namespace kernsift
