#include "core/stream/lstd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stream/pruning_scores.hpp"

namespace kernsift {

namespace {
constexpr Index kTransitions = 128;  // transitions prepared together
// Delta and Delta_b are sums of terms of either sign: what is left of them must be more than rounding.
constexpr double kFloor = 1e-10;
}  // namespace

KernelLSTD::KernelLSTD(Kernel kernel, const LSTDSettings& settings)
    : settings_(settings),
      basis_(std::move(kernel)),
      followers_(0, kFollowers),
      kept_(settings.keep_last, 2 * basis_.kernel().n_features(), 4) {
  const auto from_0 = [](double value) { return value >= 0 && std::isfinite(value); };
  const LSTDSettings& s = settings_;  // they may come from a file
  if (!(s.alpha > 0) || !from_0(s.alpha) || !from_0(s.discount) || s.discount > 1 || !from_0(s.trace_decay) ||
      s.trace_decay > 1 || s.max_basis < 0 || s.keep_last < 0 || !(s.forgetting > 0) || s.forgetting > 1 ||
      (s.lspe && s.forgetting < 1) || !from_0(s.admission.novelty_tol) || !from_0(s.admission.usefulness_tol))
    throw std::invalid_argument("a setting of KernelLSTD is out of its range");
  work_.newcomer = Panels(basis_.kernel().n_features());
  work_.along.resize(kPanel, 2);
  work_.K.resize(kPanel, 2);
  reserve(8);
}

void KernelLSTD::reserve(Index n) {
  if (theta_.size() >= n) return;
  n = whole_packets(n);
  for (Vector* x : {&theta_, &diagonal_.values, &diagonal_.prior, &step_.u, &step_.v, &step_.kernel_u, &step_.kernel_v,
                    &work_.wb, &work_.vb, &work_.beta, &work_.scores, &work_.diagonal, &work_.a})
    x->conservativeResize(n);
  const Index old = followers_.rows();
  followers_.conservativeResize(n, Eigen::NoChange);
  followers_.bottomRows(n - old).setZero();
  basis_.reserve(n);
  C_.reserve(n);
  if (settings_.variance) variance_.reserve(n);
  if (settings_.lspe) lspe_.reserve(n);
}

void KernelLSTD::turn_to(Index environment) {
  auto& [fresh, present, waiting] = environments_;
  if (environment == present) return;
  const Index count = std::max(present, environment) + 1, known = static_cast<Index>(waiting.size());
  if (count > known) {
    followers_.conservativeResize(Eigen::NoChange, kFollowers + count);
    followers_.rightCols(count - known).setZero();
    waiting.resize(static_cast<std::size_t>(count), 1);
  }
  waiting[static_cast<std::size_t>(present)] = fresh;
  followers_.col(kFollowers + present) = followers_.col(kTrace);
  fresh = waiting[static_cast<std::size_t>(environment)] != 0;
  followers_.col(kTrace) = followers_.col(kFollowers + environment);
  present = environment;
}

void KernelLSTD::learn(const Rows& S, const ConstVectorRef& r, const Rows& S_next, const bool* terminal,
                       const bool* start, LSTDLog log, const double* weight) {
  RowMatrix& states = work_.states;
  for (Index first = 0; first < S.rows(); first += kTransitions) {
    const Index count = std::min(kTransitions, S.rows() - first);
    if (states.rows() < 2 * count) states.resize(2 * count, S.cols());
    for (Index j = 0; j < count; ++j) {
      states.row(2 * j) = S.row(first + j);
      states.row(2 * j + 1) = S_next.row(first + j);
    }
    basis_.kernel().prepare(states.topRows(2 * count), work_.prepared);
    for (Index j = 0; j < count; ++j) {
      const Index i = first + j, m = basis_.size(), padded = dictionary().padded();
      if (work_.K.rows() < padded) work_.K.resize(grown_capacity(work_.K.rows(), padded), 2);
      dictionary().block(work_.prepared, 2 * j, 2, work_.K.topRows(padded));
      followers_.block(0, kHere, m, 2) = work_.K.topRows(m);
      basis_.span().coordinates(followers_.block(0, kHere, m, 2));

      const bool starts = start[i] || environments_.fresh;
      const double kept[] = {r[i], static_cast<double>(terminal[i]), static_cast<double>(starts),
                             static_cast<double>(environments_.present)};
      kept_.keep(states.row(2 * j).data(), kept, weight ? weight[i] : 1.0);  // s and s' stand together
      if (starts) follower(kTrace).setZero();
      environments_.fresh = terminal[i];
      step_.discount = terminal[i] ? 0.0 : settings_.discount;
      h() = follower(kHere) - step_.discount * follower(kThere);  // [LSTD 1]
      if (settings_.residual)
        z() = h();
      else
        z() = settings_.discount * settings_.trace_decay * z() + follower(kHere);  // [LSTD 1]
      step_.weight = weight ? weight[i] : 1.0;
      if (step_.weight != 1) z() *= step_.weight;  // [LSTD importance]

      Event here{Outcome::ignored}, there{Outcome::ignored};
      rewards_.add(r.data() + i, 1.0);
      step_.in_kernels = false;
      forget();
      log.learned[i] = normal(r[i]);
      if (log.learned[i]) {
        here = consider(0, j);
        if (!terminal[i]) there = consider(1, j);
        // a product on the way may leave the range of a double where the diagonal itself does not
        if (diagonal_.tracking && !diagonal_.values.head(basis_.size()).allFinite()) refresh_diagonal();
      } else {
        ++skipped_;
      }
      if (settings_.lspe) lspe_.step(settings_.alpha);
      journal_.record(here, 2 * i, log.events);
      journal_.record(there, 2 * i + 1, log.events);
    }
  }
}

// C <- C - Cz h'C / Delta, theta <- theta + (rho / Delta) Cz
bool KernelLSTD::normal(double r) {
  const Index m = basis_.size();
  auto u = step_.u.head(m);
  auto v = step_.v.head(m);
  C_.apply(z(), u);
  C_.apply_transposed(h(), v);
  const double gain = h().dot(u), Delta = 1.0 + gain;
  if (!(std::abs(Delta) > kFloor * (1.0 + std::abs(gain)))) return false;
  const double rho = r - h().dot(theta_.head(m));
  C_.add_outer(u, v, -1.0 / Delta);     // [LSTD normal]
  theta_.head(m) += (rho / Delta) * u;  // [LSTD normal]
  if (diagonal_.tracking) {
    transition_in_kernels();
    diagonal_.values.head(m).array() -= step_.kernel_u.head(m).array() * step_.kernel_v.head(m).array() / Delta;
    step_.kernel_u.head(m) /= Delta;
    step_.kernel_v.head(m) /= Delta;
  }
  u /= Delta;
  v /= Delta;
  if (settings_.variance) variance_.learn(u, h(), rho);
  if (settings_.lspe) lspe_.learn(z(), h(), follower(kHere), r);
  step_.left = 1.0 / Delta;
  step_.rho = rho / Delta;
  step_.reward = r;
  return true;
}

// L^-T u and L^-T v: until the basis changes.
void KernelLSTD::transition_in_kernels() {
  const Index m = basis_.size();
  step_.kernel_u.head(m) = step_.u.head(m);
  step_.kernel_v.head(m) = step_.v.head(m);
  basis_.span().coefficients(step_.kernel_u.head(m));
  basis_.span().coefficients(step_.kernel_v.head(m));
  step_.in_kernels = true;
}

// Whether s (which = 0) or s' (1) of the transition just learned becomes a kernel.
auto KernelLSTD::consider(Index which, Index row) -> Event {
  if (settings_.fixed) return {Outcome::frozen};
  const double k_self = basis_.kernel().self(work_.prepared, 2 * row + which);
  const double delta = std::max(0.0, k_self - follower(Follower(kHere + which)).squaredNorm());
  if (!(delta > settings_.admission.novelty_tol * k_self)) return {Outcome::rejected_novelty};
  const Newcomer x = look_along(which, row, delta);
  const double mean = rewards_.mean()[0];
  const Outcome outcome =
      settings_.admission.judge(delta, k_self, x.usefulness, static_cast<double>(transitions() + 1),
                                rewards_.variance() + mean * mean);  // no constant in the model: the mean counts
  if (outcome != Outcome::admitted) return {outcome};
  const Index m = basis_.size();
  const bool full = settings_.max_basis > 0 && m == settings_.max_basis;
  const auto projection = [&] {
    auto a = work_.a.head(m);
    a = follower(Follower(kHere + which));
    basis_.span().coefficients(a);
    return a;
  };
  // a full dictionary needs the projection anyway: no estimate in its place
  const double inverse_norm = full ? std::numeric_limits<double>::infinity() : basis_.span().inverse_norm();
  if (!is_resolved(delta, k_self, dictionary(), inverse_norm, KernelSpan::kResolution, projection))
    return {Outcome::refused};
  if (!(std::abs(x.schur) > kFloor * (settings_.alpha + std::abs(x.z * x.h * step_.left)))) return {Outcome::refused};

  Index victim = -1;
  if (full) {
    victim = find_victim(x);
    if (victim < 0) return {Outcome::refused};
    if (victim == m) return {Outcome::bounced};
  }
  grow(x, which, row);
  if (victim < 0) {
    if (m + 1 == settings_.max_basis) {
      diagonal_.tracking = true;
      refresh_diagonal();
    }
    return {Outcome::admitted};
  }
  const std::int64_t evicted = dictionary().ids()[static_cast<std::size_t>(victim)];
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
  work_.newcomer.clear();
  work_.newcomer.append(work_.prepared.coordinates(own), work_.prepared.norm(own));
  basis_.kernel().block(work_.newcomer, work_.prepared, 2 * row, 2, work_.along);
  Newcomer x{};
  x.delta = delta;
  x.s = std::sqrt(delta);
  x.here = which == 0 ? x.s : (work_.along(0, 0) - w.dot(follower(kHere))) / x.s;
  x.there = which == 1 ? x.s : (work_.along(0, 1) - w.dot(follower(kThere))) / x.s;
  x.h = x.here - step_.discount * x.there;
  x.z = step_.weight * (settings_.residual ? x.h : x.here);
  x.schur = settings_.alpha + x.z * x.h * step_.left;  // [LSTD grow]
  x.tau = x.z * step_.rho / x.schur;                   // [LSTD grow]
  x.usefulness = x.tau * x.tau * std::abs(x.schur);    // kappa^2 |Delta_b|
  return x;
}

// w_b = a + dp Cz, v_b = a + dq C'h in the kernels' own coordinates; the scores w_i^2 / |U_ii| as they would be after
// growing [LSTD prune]. Returns size() for the newcomer, -1 where the numbers do not allow a decision.
Index KernelLSTD::find_victim(const Newcomer& x) {
  const Index m = basis_.size();
  if (!step_.in_kernels) transition_in_kernels();
  auto wb = work_.wb.head(m);
  auto vb = work_.vb.head(m);
  auto beta = work_.beta.head(m);
  wb = work_.a.head(m) + (x.s * x.h) * step_.kernel_u.head(m);
  vb = work_.a.head(m) + (x.s * x.z) * step_.kernel_v.head(m);
  beta = theta_.head(m);
  basis_.span().coefficients(beta);
  auto d = work_.diagonal.head(m);
  d = diagonal_.values.head(m);
  bordered_scores(beta, wb, vb, x.delta, x.schur, &x.tau, d, work_.scores.head(m));
  if (!(d.array().abs() > 0).all()) return -1;
  const Index victim = weakest(work_.scores.head(m), x.usefulness, -std::numeric_limits<double>::infinity());
  if (victim == m) return m;
  return std::abs(d[victim]) > kFloor * d.cwiseAbs().maxCoeff() ? victim : -1;  // deleting i divides by U_ii
}

void KernelLSTD::grow(const Newcomer& x, Index which, Index row) {
  const Index m = basis_.size();
  reserve(grown_capacity(theta_.size(), m + 1));
  auto u = step_.u.head(m);
  auto v = step_.v.head(m);
  if (diagonal_.tracking) {
    diagonal_.values.head(m) = work_.diagonal.head(m);  // of find_victim
    diagonal_.values[m] = 1.0 / (x.delta * x.schur);
    diagonal_.prior.head(m).array() += work_.a.head(m).array().square() / x.delta;
    diagonal_.prior[m] = 1.0 / x.delta;
  }
  if (settings_.variance) variance_.grow(u, h(), x.z, x.h, x.schur, settings_.alpha);
  if (settings_.lspe) lspe_.grow(z(), h(), follower(kHere), x.z, x.h, x.here, step_.reward, settings_.alpha);
  work_.wb.head(m) = x.h * u;
  work_.vb.head(m) = x.z * v;
  C_.border(work_.wb.head(m), work_.vb.head(m), x.schur);
  theta_.head(m) -= (x.tau * x.h) * u;
  theta_[m] = x.tau;
  // the same transition from the grown model
  const double shrink = settings_.alpha / x.schur;
  u *= shrink;
  v *= shrink;
  step_.u[m] = x.z * step_.left / x.schur;
  step_.v[m] = x.h * step_.left / x.schur;
  step_.left *= shrink;
  step_.rho *= shrink;
  followers_.row(m).setZero();  // of the traces of other environments
  followers_(m, kTrace) = x.z;  // the trace before this transition has coordinate 0
  followers_(m, kDifference) = x.h;
  followers_(m, kHere) = x.here;
  followers_(m, kThere) = x.there;
  step_.in_kernels = false;
  const Index own = 2 * row + which;
  basis_.append(work_.states.row(own).data(), work_.prepared, own, 2 * transitions() + which,
                followers_.col(kHere + which).head(m), x.s);
}

// The rotations that bring the deleted element last act on both sides of C, on theta and on the trace; then the last
// coordinate is conditioned on: U -= U_{:,i} U_{i,:} / U_ii, w -= (w_i / U_ii) U_{:,i}               [LSTD prune]
void KernelLSTD::remove(Index i) {
  const Index m = basis_.size(), last = m - 1;
  if (diagonal_.tracking) {
    auto column = work_.wb.head(m);
    auto row = work_.vb.head(m);
    auto unit = work_.beta.head(m);
    unit.setZero();
    unit[i] = 1.0;
    basis_.span().coordinates(unit);
    C_.apply(unit, column);
    C_.apply_transposed(unit, row);
    basis_.span().coefficients(column);
    basis_.span().coefficients(row);
    diagonal_.values.head(m).array() -= column.array() * row.array() / column[i];
    if (settings_.forgetting < 1) {
      basis_.span().coefficients(unit);
      diagonal_.prior.head(m).array() -= unit.array().square() / unit[i];
    }
    for (Vector* x : {&diagonal_.values, &diagonal_.prior})
      for (Index k = i; k < last; ++k) (*x)[k] = (*x)[k + 1];
  }
  basis_.remove(i);
  step_.in_kernels = false;
  C_.rotate(basis_.rotations());
  basis_.rotations().rotate_rows(followers_.topRows(m), 0);
  basis_.rotations().rotate_rows(theta_.head(m), 0);
  if (settings_.variance) variance_.rotate(basis_.rotations());
  if (settings_.lspe) lspe_.remove_last(basis_.rotations());
  const double corner = C_.view()(last, last);
  const double beside = std::max(C_.view().col(last).cwiseAbs().maxCoeff(), C_.view().row(last).cwiseAbs().maxCoeff());
  const bool lost = !(std::abs(corner) > kFloor * kFloor * beside);
  if (lost) {  // of this direction rounding has left nothing: it goes as if nothing had reached it
    C_.drop_last();
    if (settings_.variance) variance_.drop_last();
  } else {
    if (settings_.variance) {
      auto column = work_.wb.head(m);
      column = C_.view().col(last) / corner;
      variance_.remove_last(column);
    }
    theta_.head(last) -= (theta_[last] / corner) * C_.view().col(last).head(last);  // [LSTD prune]
    C_.remove(last);
  }
  if (diagonal_.tracking && (++diagonal_.removals >= std::max<Index>(last, 64) || lost)) refresh_diagonal();

  auto u = step_.u.head(last);
  auto v = step_.v.head(last);
  C_.apply(z(), u);
  C_.apply_transposed(h(), v);
  step_.left = 1.0 - h().dot(u);
  step_.rho = step_.reward - h().dot(theta_.head(last));
}

void KernelLSTD::refresh_diagonal() {
  const Index m = basis_.size();
  auto unit = work_.wb.head(m);
  auto image = work_.vb.head(m);
  for (Index j = 0; j < m; ++j) {  // d_j = e_j'L^-T C L^-1 e_j
    unit.setZero();
    unit[j] = 1.0;
    basis_.span().coordinates(unit);
    C_.apply(unit, image);
    diagonal_.values[j] = unit.dot(image);
    diagonal_.prior[j] = unit.squaredNorm();
  }
  diagonal_.removals = 0;
}

// One step back to the prior, in which theta is N(0, noise / alpha): C <- f C + (1 - f) / alpha I, theta <- sqrt(f)
// theta.
void KernelLSTD::forget() {
  const double f = settings_.forgetting;
  if (f == 1) return;
  const Index m = basis_.size();
  C_.fade(f, 1.0 / settings_.alpha);  // [BEYOND B7]
  theta_.head(m) *= std::sqrt(f);     // [BEYOND B7]
  rewards_.fade(f);
  if (settings_.variance) variance_.fade(f, 1.0 / settings_.alpha);
  if (diagonal_.tracking)
    diagonal_.values.head(m) =
        f * diagonal_.values.head(m) + ((1.0 - f) / settings_.alpha) * diagonal_.prior.head(m);  // [BEYOND B7]
}

void KernelLSTD::predict(const Rows& S, RowsOut out) const {
  Matrix coefficients = Matrix::Zero(dictionary().padded(), 1);
  coefficients.col(0).head(basis_.size()) = coef();
  dictionary().expand(coefficients, Vector::Zero(1), S, out, 1);
}

Vector KernelLSTD::coef() const {
  Matrix beta = theta();
  basis_.span().coefficients(beta);
  return beta;
}

Vector KernelLSTD::trace() const { return basis_.span().factor() * followers_.col(kTrace).head(basis_.size()); }

Arrays KernelLSTD::save() const {
  Arrays arrays;
  const Index m = basis_.size();
  basis_.save(arrays);
  journal_.save(arrays);
  rewards_.save(arrays, "reward");
  arrays.put("inverse", Matrix(C_.view()));
  arrays.put("theta", Matrix(theta_.head(m)));
  arrays.put("trace", Matrix(followers_.col(kTrace).head(m)));
  arrays.put("diagonal", diagonal_.tracking ? Matrix(diagonal_.values.head(m)) : Matrix(0, 1));
  arrays.put("tracking", diagonal_.tracking);
  arrays.put("removals", static_cast<double>(diagonal_.removals));
  arrays.put("transitions", static_cast<double>(transitions()));
  arrays.put("skipped", static_cast<double>(skipped_));
  arrays.put("fresh", environments_.fresh);
  if (!environments_.waiting.empty()) {
    const auto count = static_cast<Index>(environments_.waiting.size());
    Matrix fresh(count, 1);
    for (Index e = 0; e < count; ++e) fresh(e, 0) = environments_.waiting[static_cast<std::size_t>(e)];
    arrays.put("environments_fresh", std::move(fresh));
    arrays.put("environments_trace", Matrix(followers_.topRightCorner(m, count)));
    arrays.put("environment", static_cast<double>(environments_.present));
  }
  kept_.save(arrays);
  if (settings_.variance) variance_.save(arrays);
  if (settings_.lspe) lspe_.save(arrays);
  if (diagonal_.tracking && settings_.forgetting < 1) arrays.put("diagonal_prior", Matrix(diagonal_.prior.head(m)));
  return arrays;
}

void KernelLSTD::load(const Arrays& arrays) {
  *this = KernelLSTD(basis_.kernel(), settings_);
  basis_.load(arrays, false);
  journal_.load(arrays, 2 * arrays.count("transitions"));
  rewards_.load(arrays, "reward");
  const Index m = basis_.size();
  reserve(std::max<Index>(8, m));
  C_.assign(arrays.get("inverse", m, m));
  theta_.head(m) = arrays.get("theta", m, 1);
  followers_.col(kTrace).head(m) = arrays.get("trace", m, 1);
  diagonal_.tracking = arrays.number("tracking") != 0;
  if (diagonal_.tracking) {
    diagonal_.values.head(m) = arrays.get("diagonal", m, 1);
    diagonal_.prior.head(m).setZero();
    if (settings_.forgetting < 1) diagonal_.prior.head(m) = arrays.get("diagonal_prior", m, 1);
  }
  diagonal_.removals = arrays.count("removals");
  skipped_ = arrays.count("skipped");
  environments_.fresh = arrays.number("fresh") != 0;
  if (arrays.items().count("environments_fresh") > 0) {
    const Matrix& fresh = arrays.get("environments_fresh", arrays.get("environments_fresh").rows(), 1);
    const Index count = fresh.rows();
    environments_.waiting.assign(fresh.data(), fresh.data() + count);
    environments_.present = arrays.count("environment");
    if (environments_.present >= count) throw std::invalid_argument("state array 'environment' is not one of them");
    followers_.conservativeResize(Eigen::NoChange, kFollowers + count);
    followers_.rightCols(count).setZero();
    followers_.topRightCorner(m, count) = arrays.get("environments_trace", m, count);
  }
  kept_.load(arrays);
  if (settings_.variance) variance_.load(arrays, m);
  if (settings_.lspe) lspe_.load(arrays, m);
}

}  // namespace kernsift
