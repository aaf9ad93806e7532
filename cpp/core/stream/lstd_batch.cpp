// What KernelLSTD does with many transitions at once on a dictionary that stays.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/base/multiply.hpp"
#include "core/kernel/gram.hpp"
#include "core/linalg/general_inverse.hpp"
#include "core/linalg/symmetric_eigen.hpp"
#include "core/stream/lstd.hpp"

namespace kernsift {

namespace {
constexpr Index kTransitionsAtOnce = 256;
constexpr int kMostSteps = 1000;     // of LSPE towards its fixed point
constexpr double kNoChange = 1e-13;  // of theta, relative
}  // namespace

TransitionSums KernelLSTD::sums(const Transitions& rows, bool metric) const {
  const Index m = basis_.size(), n = rows.S.rows(), padded = dictionary().padded();
  TransitionSums out;
  for (Matrix* x : {&out.A, &out.B, &out.G, &out.E}) *x = Matrix::Zero(m, m);
  out.b = out.e = out.trace = Vector::Zero(m);
  Matrix K(padded, kTransitionsAtOnce), W(m, kTransitionsAtOnce), H(m, kTransitionsAtOnce), Z(m, kTransitionsAtOnce);
  PreparedRows prepared;
  const auto coordinates = [&](const Rows& states, Index first, Index count, Matrix& into) {
    basis_.kernel().prepare(states.middleRows(first, count), prepared);
    dictionary().block(prepared, 0, count, K.leftCols(count));
    into.leftCols(count) = K.topLeftCorner(m, count);
    basis_.span().coordinates(into.leftCols(count));
  };
  for (Index first = 0; first < n; first += kTransitionsAtOnce) {
    const Index count = std::min(kTransitionsAtOnce, n - first);
    coordinates(rows.S, first, count, W);
    coordinates(rows.S_next, first, count, H);
    const auto r = rows.r.segment(first, count);
    for (Index j = 0; j < count; ++j) {
      const Index i = first + j;
      const double g = rows.terminal[i] ? 0.0 : settings_.discount;
      H.col(j) = W.col(j) - g * H.col(j);
      if (rows.start[i] || out.fresh) out.trace.setZero();
      out.fresh = rows.terminal[i];
      if (settings_.residual)
        out.trace = H.col(j);
      else
        out.trace = settings_.discount * settings_.trace_decay * out.trace + W.col(j);
      if (rows.weight) out.trace *= rows.weight[i];  // [LSTD importance]
      Z.col(j) = out.trace;
    }
    const auto z = Z.leftCols(count), h = H.leftCols(count), w = W.leftCols(count);
    add_product(1.0, z, h.transpose(), out.A);  // [LSTD 1]
    if (metric) add_product(1.0, w, w.transpose(), out.B);
    out.b.noalias() += z * r;
    if (settings_.variance) {
      add_product(1.0, z, z.transpose(), out.G);
      add_product(1.0, h, h.transpose(), out.E);
      out.e.noalias() += h * r;
      out.rr += r.squaredNorm();
    }
  }
  return out;
}

bool KernelLSTD::refit(const Transitions& rows, bool of_before) {
  const Index m = basis_.size();
  const double alpha = settings_.alpha;
  const TransitionSums s = sums(rows, settings_.lspe);
  const Matrix ridge = Vector::Constant(m, alpha).asDiagonal();
  GeneralInverse inverse, metric;
  if (!inverse.assign(s.A + ridge)) return false;
  if (settings_.lspe && !metric.assign(s.B + ridge)) return false;
  const Matrix C = inverse.view();
  C_.assign(C);
  theta_.head(m) = C * s.b;
  if (!of_before) {
    environments_ = {s.fresh, 0, {}};
    followers_.conservativeResize(Eigen::NoChange, kFollowers);
    follower(kTrace) = s.trace;
  }
  step_.in_kernels = false;
  if (diagonal_.tracking) refresh_diagonal();
  if (settings_.variance) {
    const Matrix S = product(product(C, Matrix(s.G + ridge)), C.transpose());  // [LSTD variance]
    const auto theta = theta_.head(m);
    const double squares = std::max(0.0, s.rr - 2.0 * s.e.dot(theta) + theta.dot(s.E * theta));
    // the freedom that the solution spends: the trace of H C Z'
    const auto n = static_cast<double>(rows.S.rows());
    const double left = std::max(1.0, n - (static_cast<double>(m) - alpha * C.trace()));
    variance_.assign(0.5 * (S + S.transpose()), squares / left, n);
  }
  if (settings_.lspe) {
    lspe_.assign(s.A, s.b, metric.view());
    double before = std::numeric_limits<double>::infinity();
    for (int k = 0; k < kMostSteps; ++k) {
      const double change = lspe_.step(alpha);
      if (!(change > kNoChange) || (k > 20 && !(change < 2.0 * before))) break;
      before = change;
    }
  }
  return true;
}

bool KernelLSTD::refit_kept() {
  const RowMatrix kept = kept_.in_order();
  const Index n = kept.rows(), d = basis_.kernel().n_features();
  enum Column : Index { kReward, kTerminal, kStart, kEnvironment, kWeight };
  const auto of = [&](Index row, Column column) { return kept(row, 2 * d + column); };
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index i, Index j) { return of(i, kEnvironment) < of(j, kEnvironment); });
  const RowMatrix all = gather(kept, order);
  const RowMatrix S = all.leftCols(d), S_next = all.middleCols(d, d);
  const Vector r = all.col(2 * d + kReward), weight = all.col(2 * d + kWeight);
  const auto terminal = std::make_unique<bool[]>(static_cast<std::size_t>(n)),
             start = std::make_unique<bool[]>(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    const Index row = order[static_cast<std::size_t>(i)];
    const Index before = order[static_cast<std::size_t>(std::max<Index>(i - 1, 0))];
    terminal[static_cast<std::size_t>(i)] = of(row, kTerminal) != 0;
    start[static_cast<std::size_t>(i)] = of(row, kStart) != 0 || of(row, kEnvironment) != of(before, kEnvironment);
  }
  return refit({S, r, S_next, terminal.get(), start.get(), weight.data()}, true);
}

double KernelLSTD::projected_error(const Transitions& rows) const {
  if (basis_.size() == 0) return 0.0;
  const TransitionSums s = sums(rows, true);
  const Vector left = s.b - s.A * theta();
  GeneralInverse metric;
  const Matrix B = s.B + Matrix(Vector::Constant(basis_.size(), settings_.alpha).asDiagonal());
  if (!metric.assign(B)) return std::numeric_limits<double>::quiet_NaN();
  Vector projected(left.size());
  metric.apply(left, projected);
  return left.dot(projected) / static_cast<double>(rows.S.rows());  // [LSTD error]
}

double KernelLSTD::ridge_norm() const {
  if (basis_.size() == 0) return 0.0;
  const Matrix squares = product(C_.view().transpose(), C_.view());
  return settings_.alpha * std::sqrt(SymmetricEigen(squares, false).eigenvalues().maxCoeff());
}

void KernelLSTD::seat(const Rows& S) {
  PreparedRows prepared;
  basis_.kernel().prepare(S, prepared);
  for (Index i = 0; i < S.rows(); ++i) {
    const Index m = basis_.size();
    Matrix K(dictionary().padded(), 1);
    dictionary().block(prepared, i, 1, K);
    Matrix w = K.topRows(m);
    basis_.span().coordinates(w);
    const double k_self = basis_.kernel().self(prepared, i), delta = k_self - w.squaredNorm();
    const auto projection = [&] {
      Matrix a = w;
      basis_.span().coefficients(a);
      return Vector(a.col(0));
    };
    if (!is_resolved(delta, k_self, dictionary(), basis_.span().inverse_norm(), KernelSpan::kResolution, projection))
      continue;
    reserve(grown_capacity(theta_.size(), m + 1));
    const Vector zero = Vector::Zero(m);
    C_.border(zero, zero, settings_.alpha);
    if (settings_.variance) variance_.pad(1.0 / settings_.alpha);
    if (settings_.lspe) lspe_.grow(zero, zero, zero, 0, 0, 0, 0, settings_.alpha);
    theta_[m] = 0;
    followers_.row(m).setZero();
    basis_.append(S.row(i).data(), prepared, i, -2, w.col(0), std::sqrt(delta));
  }
}

std::pair<double, double> KernelLSTD::mean(const Rows& S, const ConstVectorRef& weights) const {
  const Index m = basis_.size();
  Vector w = Vector::Zero(m);
  double beyond = 0;
  dictionary().tiles(S, 1, [&](MatrixRef K, const ConstVectorRef& k_self, Index first) {
    auto W = K.topRows(m);
    basis_.span().coordinates(W);
    for (Index j = 0; j < W.cols(); ++j) {
      w += weights[first + j] * W.col(j);
      beyond += weights[first + j] * std::sqrt(std::max(0.0, k_self[j] - W.col(j).squaredNorm()));
    }
  });
  Vector Sw(m);
  Sw.noalias() = variance_.view() * w;
  const double inside = std::max(0.0, w.dot(Sw));
  return {w.dot(theta()), variance_.noise() * (inside + beyond * beyond / settings_.alpha)};  // [LSTD variance]
}

void KernelLSTD::predict(const Rows& S, RowsOut out, VectorRef variance) const {
  const Index m = basis_.size();
  dictionary().tiles(S, 1, [&](MatrixRef K, const ConstVectorRef& k_self, Index first) {
    auto W = K.topRows(m);
    basis_.span().coordinates(W);
    out.middleRows(first, W.cols()) = W.transpose() * theta();
    const Matrix SW = product(variance_.view(), W);
    for (Index j = 0; j < W.cols(); ++j)
      variance[first + j] =
          variance_.noise() * (std::max(0.0, W.col(j).dot(SW.col(j))) +
                               std::max(0.0, k_self[j] - W.col(j).squaredNorm()) / settings_.alpha);  // [LSTD variance]
  });
}

}  // namespace kernsift
