#include "core/select/forward_selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/limits.hpp"
#include "core/base/names.hpp"
#include "core/ridge/leave_one_out.hpp"

namespace kernsift {

namespace {
// Rows with equal residuals compared by error reduction: as many of them as Jung & Polani (2006) draw.
constexpr std::size_t kMostTied = 59;
// So many dependent candidates in a row, and the columns chosen span the rest: each costs a read of Q, and where the
// kernels have few dimensions all rows but a few are dependent.
constexpr Index kMostRefused = 1000;

constexpr Named<StopRule> kStopRules[] = {{StopRule::none, "none"},         {StopRule::gcv, "gcv"},
                                          {StopRule::evidence, "evidence"}, {StopRule::bic, "bic"},
                                          {StopRule::loo, "loo"},           {StopRule::alpha, "alpha"}};

// The sum of squared errors of rows left out one by one, from the residual of the weighted problem and its leverages.
double left_out(const OrthogonalBasis& basis, const ConstMatrixRef& error, const ConstVectorRef& inverse_root_weights,
                Index free, double lambda) {
  Vector shrink = (basis.h().array() + lambda).inverse(), leverage;
  shrink.head(free) = basis.h().head(free).cwiseInverse();
  basis.row_squares(shrink, leverage);
  double sum = 0;
  for (Index i = 0; i < basis.rows(); ++i) {
    const double v = 1.0 / (inverse_root_weights[i] * inverse_root_weights[i]);
    const double slack = std::max(slack_of_part(1.0 - leverage[i], leaving(v) / v), kLeastSlack);
    sum += error.row(i).squaredNorm() / (slack * slack);  // [MATH LOO]
  }
  return sum;
}
}  // namespace

StopRule stop_rule(const std::string& name) { return value_of(kStopRules, "stop", name); }
const char* stop_rule_name(StopRule rule) { return name_of(kStopRules, rule); }

ForwardSelection::ForwardSelection(KernelColumns& columns, const ConstMatrixRef& Y, const ConstVectorRef& root_weights,
                                   std::vector<Index> allowed, const SelectionSettings& settings)
    : columns_(columns),
      settings_(settings),
      basis_(Matrix(Y.array().colwise() * root_weights.array()), settings.threads),
      inverse_root_weights_(Vector::Zero(basis_.padded_rows())),
      candidates_{std::vector<unsigned char>(static_cast<std::size_t>(columns.size()), 0),
                  std::vector<Index>(static_cast<std::size_t>(columns.rows()), 0), std::move(allowed),
                  SplitMix64(settings.seed)} {
  inverse_root_weights_.head(Y.rows()) = root_weights.cwiseInverse();
  // Weights that sum to more than the rows are repetitions; smaller ones say which rows are noisier.
  n_rows_ = std::max({root_weights.squaredNorm(), settings.rows, static_cast<double>(Y.rows())});
  for (const Index id : candidates_.pool) {
    candidates_.usable[id] = 1;
    ++candidates_.widths_left[id % columns.rows()];
  }
  error_ = basis_.residual();
  const double scale = basis_.residual_norm2().sum();
  if (settings_.fit_intercept) {
    Vector one = Vector::Zero(basis_.padded_rows());
    one.head(Y.rows()) = root_weights;
    basis_.append(one);
    basis_.settle();
    error_ = basis_.residual();
  }
  progress_.total = basis_.residual_norm2().sum();
  if (!settings_.reestimate) lambda_ = settings_.alpha;
  record(lambda_);
  progress_.best_score = paths_.score[0];
  if (!(progress_.total > kNothingLeft * scale)) progress_.ending = Ending::error;
  if (settings_.criterion == Criterion::error_reduction && settings_.n_candidates == 0 &&
      progress_.ending == Ending::running) {
    running_.n = Matrix::Zero(columns_.size(), basis_.n_targets());
    running_.d = Vector::Zero(columns_.size());
    for (Index g = 0; g < columns_.n_widths(); ++g) {
      Vector norms = Vector::Zero(columns_.rows());
      Matrix n = Matrix::Zero(columns_.rows(), basis_.n_targets());
      multiply(g, basis_.residual(), n, &norms);
      running_.n.middleRows(g * columns_.rows(), columns_.rows()) = n;
      running_.d.segment(g * columns_.rows(), columns_.rows()) = norms;
    }
    running_.norms = running_.d;
    if (basis_.size() > 0) {
      const Matrix n = running_.n;  // r has lost the share of the bias already, the columns have not
      refresh_running();
      running_.n = n;
    }
  }
}

// The sums of `gcv.hpp` over the penalised of the first `columns` columns.
RidgeSpectrum ForwardSelection::spectrum(Index columns, const Vector& f2, double residual) const {
  const Index b = settings_.bias();
  return {basis_.h().segment(b, columns - b), f2.segment(b, columns - b), residual, n_rows_, static_cast<double>(b)};
}

void ForwardSelection::record(double lambda) {
  const Vector f2 = basis_.f().rowwise().squaredNorm();
  const RidgeSpectrum s = spectrum(basis_.size(), f2, basis_.residual_norm2().sum());
  paths_.alpha.push_back(lambda);
  paths_.gcv.push_back(s.gcv(lambda));
  paths_.rss.push_back(s.rss(lambda));
  double score = paths_.gcv.back();
  if (settings_.stop == StopRule::evidence) score = s.evidence(lambda);
  if (settings_.stop == StopRule::bic) score = s.bic(lambda);
  if (settings_.stop == StopRule::loo)
    score = left_out(basis_, error_, inverse_root_weights_, settings_.bias(), lambda);
  paths_.score.push_back(score);
}

void ForwardSelection::drop(Index id, bool dependent) {
  if (!candidates_.usable[id]) return;
  candidates_.usable[id] = 0;
  --candidates_.widths_left[id % columns_.rows()];
  candidates_.n_dependent += dependent;
  candidates_.pool.erase(std::lower_bound(candidates_.pool.begin(), candidates_.pool.end(), id));
}

bool ForwardSelection::step() {
  if (progress_.ending != Ending::running) return false;
  if (static_cast<Index>(chosen_.size()) >= settings_.max_basis) {
    progress_.ending = Ending::max_basis;
    return false;
  }
  if (basis_.size() >= basis_.rows()) {
    progress_.ending = Ending::no_freedom;
    return false;
  }
  Index refused = 0;
  while (!candidates_.pool.empty() && refused < kMostRefused) {
    std::vector<Index> ids;
    if (settings_.criterion == Criterion::residual) {
      ids = tied_rows();
    } else if (settings_.n_candidates == 0) {
      ids = best_running();
    } else {
      ids = candidates_.pool;
      ids.resize(static_cast<std::size_t>(draw(ids, settings_.n_candidates, candidates_.random)));
    }
    if (ids.empty()) break;
    if (!add_one_of(ids)) {
      refused += static_cast<Index>(ids.size());
      continue;
    }
    note_score();
    return progress_.ending == Ending::running;
  }
  progress_.ending = Ending::exhausted;
  return false;
}

// Of the usable rows, those with the largest residual; all widths of each.
std::vector<Index> ForwardSelection::tied_rows() {
  const Index n = columns_.rows(), widths = columns_.n_widths();
  // of the row itself, not of its weighted equation: a row of weight two is a row seen twice
  Vector& size2 = looked_at_.size2;
  size2 = error_.col(0).head(n).cwiseAbs2();
  for (Index o = 1; o < error_.cols(); ++o) size2 += error_.col(o).head(n).cwiseAbs2();
  size2.array() *= inverse_root_weights_.head(n).array().square();
  double largest = 0;
  for (Index i = 0; i < n; ++i) {
    if (candidates_.widths_left[i] == 0) size2[i] = -1.0;
    largest = std::max(largest, size2[i]);
  }
  const double bound = largest * (1.0 - 2.0 * kTie);
  std::vector<Index> ids;
  std::size_t tied = 0;
  for (Index i = 0; i < n && tied < kMostTied; ++i) {
    if (!(size2[i] >= bound)) continue;
    ++tied;
    for (Index g = 0; g < widths; ++g)
      if (candidates_.usable[g * n + i]) ids.push_back(g * n + i);
  }
  return ids;
}

// K'Y for the candidates of width g; with few of them, for those alone.
void ForwardSelection::multiply(Index g, const ConstMatrixRef& Y, MatrixRef products, Vector* norms) {
  const Index n = columns_.rows();
  const auto first = std::lower_bound(candidates_.pool.begin(), candidates_.pool.end(), g * n);
  const auto end = std::lower_bound(first, candidates_.pool.end(), (g + 1) * n);
  if (2 * (end - first) > n) return columns_.products(g, Y, products, norms);
  std::vector<Index> rows(first, end);
  for (Index& row : rows) row -= g * n;
  columns_.products_of(rows, g, Y, products, norms);
}

// Takes the last column's share off the running numbers of every candidate.
void ForwardSelection::refresh_running() {
  const Index last = basis_.size() - 1, n = columns_.rows();
  Matrix q(basis_.padded_rows(), 1);
  basis_.column(last, q.col(0));
  const double h = basis_.h()[last];
  for (Index g = 0; g < columns_.n_widths(); ++g) {
    Matrix v = Matrix::Zero(n, 1);
    multiply(g, q, v, nullptr);  // K'q
    running_.d.segment(g * n, n) -= v.col(0).cwiseAbs2() / h;
    running_.n.middleRows(g * n, n).noalias() -= v * (basis_.f().row(last) / h);
  }
}

// The candidate with the largest error reduction by the running numbers.
std::vector<Index> ForwardSelection::best_running() {
  double best = -1;
  std::vector<Index> out;
  std::vector<Index> dependent;
  for (const Index id : candidates_.pool) {
    if (!(running_.d[id] > 0.5 * OrthogonalBasis::kRankTol * running_.norms[id])) {
      dependent.push_back(id);
      continue;
    }
    const double score = running_.n.row(id).squaredNorm() / (lambda_ + running_.d[id]);
    if (out.empty() || score > best * (1.0 + kTie)) {
      best = score;
      out.assign(1, id);
    }
  }
  for (const Index id : dependent) drop(id, true);
  return out;
}

bool ForwardSelection::add_one_of(const std::vector<Index>& ids) {
  OrthogonalBasis::Projection p;
  if (!looked_at_.expected.find(ids, looked_at_.K, p)) {
    looked_at_.K.resize(columns_.padded_rows(), static_cast<Index>(ids.size()));
    columns_.columns(ids, looked_at_.K);
    basis_.project(looked_at_.K, p);
  }
  std::vector<unsigned char> tried(ids.size(), 0);
  for (;;) {
    Index pick = -1;
    double best = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (tried[i]) continue;
      const auto row = static_cast<Index>(i);
      if (!(p.distance2[row] > 0.5 * OrthogonalBasis::kRankTol * p.norm2[row])) {
        tried[i] = 1;
        drop(ids[i], true);
        continue;
      }
      const double score = p.f.row(row).squaredNorm() / (lambda_ + p.distance2[row]);
      if (pick < 0 || score > best * (1.0 + kTie) || (score >= best * (1.0 - kTie) && ids[i] < ids[pick])) {
        pick = row;
        best = std::max(best, score);
      }
    }
    if (pick < 0) return false;
    tried[pick] = 1;
    if (add(ids[pick], looked_at_.K.col(pick), p, pick)) return true;
  }
}

double ForwardSelection::updated_ridge(const Vector& h, const Vector& f2, double residual) const {
  if (!settings_.reestimate) return lambda_;
  const Index b = settings_.bias(), m = h.size();
  const RidgeSpectrum s{h.tail(m - b), f2.tail(m - b), residual, n_rows_, static_cast<double>(b)};
  return ridge_fixed_point(s, lambda_);
}

bool ForwardSelection::add(Index id, const ConstVectorRef& k, const OrthogonalBasis::Projection& p, Index i) {
  const Index m = basis_.size(), b = settings_.bias();
  const bool by_residual = settings_.criterion == Criterion::residual;
  const bool needs_error = by_residual || settings_.stop == StopRule::loo;
  // The ridge residual is formed on the read of Q that forms the column, hence with a ridge predicted from the
  // column's projection; `residual_after` moves it to the true one along its derivative. The prediction is right to
  // about 1e-6 (where the column is nearly dependent; 1e-12 elsewhere), the result to its square.
  Matrix G(m, 0);
  double predicted = lambda_;
  const Index c = basis_.n_targets();
  if (needs_error) {
    if (settings_.reestimate) {
      Vector h(m + 1), f2(m + 1);
      h << basis_.h(), p.distance2[i];
      f2 << basis_.f().rowwise().squaredNorm(), p.f.row(i).squaredNorm();
      const double before = std::max(0.0, basis_.residual_norm2().sum() - f2[m] / h[m]);
      predicted = updated_ridge(h, f2, before);
    }
    // e = R0 + Q g, g_j = f_j lambda / (h_j (lambda + h_j)); dg_j/dlambda = f_j / (lambda + h_j)^2
    G = Matrix::Zero(m, settings_.reestimate ? 2 * c : c);
    const auto h = basis_.h().tail(m - b).array();
    const ConstMatrixRef all = basis_.f();  // a block of it, kept in `f`, refers to it
    for (Index o = 0; o < c; ++o) {
      const auto f = all.col(o).tail(m - b).array();
      G.col(o).tail(m - b) = f * (predicted / (h * (predicted + h)));
      if (settings_.reestimate) G.col(c + o).tail(m - b) = f / (predicted + h).square();
    }
  }
  if (by_residual && m * basis_.rows() >= ExpectedColumns::kWorthwhile)
    looked_at_.expected.choose(columns_, looked_at_.size2, candidates_.usable, id);
  if (!basis_.append(k, p, i, G, looked_at_.combinations, looked_at_.expected.ahead())) {
    drop(id, true);
    return false;
  }
  drop(id, false);
  chosen_.push_back(id);
  const Vector h = basis_.h(), f2 = basis_.f().rowwise().squaredNorm();
  lambda_ = updated_ridge(h, f2, basis_.residual_norm2().sum());
  if (needs_error) residual_after(predicted);
  if (running_.d.size() > 0) refresh_running();
  record(lambda_);
  return true;
}

// y - Q alpha~ with the current ridge [OROLS 25]: not the update (24), which is wrong once lambda moves.
void ForwardSelection::residual_after(double predicted) {
  const Index last = basis_.size() - 1, c = basis_.n_targets();
  Vector q(basis_.padded_rows());
  basis_.column(last, q);
  const double h = basis_.h()[last], lambda = last < settings_.bias() ? 0.0 : lambda_;
  for (Index o = 0; o < c; ++o) {
    error_.col(o) =
        basis_.residual().col(o) + looked_at_.combinations.col(o) - q * (basis_.f()(last, o) / (lambda + h));
    if (looked_at_.combinations.cols() > c) error_.col(o) += (lambda_ - predicted) * looked_at_.combinations.col(c + o);
  }
}

void ForwardSelection::note_score() {
  const auto m = static_cast<Index>(chosen_.size());
  const double score = paths_.score.back();
  if (!settings_.scored()) {
    progress_.best = m;
  } else if (score < progress_.best_score * (1.0 - settings_.tol)) {
    progress_.best_score = score;
    progress_.best = m;
    progress_.since_best = 0;
  } else if (++progress_.since_best >= settings_.patience) {
    progress_.ending = Ending::score;
  }
  if (settings_.stop == StopRule::alpha) {
    const double before = paths_.alpha[m - 1];
    // the first column has no ridge before it
    progress_.unchanged = m > 1 && std::abs(lambda_ - before) <= settings_.tol * lambda_ ? progress_.unchanged + 1 : 0;
    if (progress_.unchanged >= settings_.patience) progress_.ending = Ending::alpha;
  }
  const Vector h = basis_.h().tail(m);
  if (std::sqrt(h.maxCoeff() / h.minCoeff()) > settings_.max_condition) progress_.ending = Ending::condition;
  const double left = basis_.residual_norm2().sum();
  if (paths_.rss.back() <= settings_.error_tol * progress_.total || left <= kNothingLeft * progress_.total)
    progress_.ending = Ending::error;
}

ForwardSelection::Model ForwardSelection::model() {
  basis_.settle();
  const Index b = settings_.bias(), m = progress_.best + b, c = basis_.n_targets();
  const double lambda = paths_.alpha[progress_.best];
  Vector ridge = Vector::Constant(m, lambda);
  ridge.head(b).setZero();
  const Vector h = basis_.h().head(m);
  const Matrix f = basis_.f().topRows(m);
  const Matrix factor = basis_.U().topLeftCorner(m, m);
  const auto U = factor.triangularView<Eigen::UnitUpper>();
  Matrix weights = f.array().colwise() / (ridge + h).array();  // [OROLS 25]
  U.solveInPlace(weights);                                     // [OROLS 26]
  Model out;
  out.coef = weights.bottomRows(progress_.best);
  out.intercept = b == 1 ? Vector(weights.row(0).transpose()) : Vector(Vector::Zero(c));
  out.spread = Matrix((ridge + h).cwiseSqrt().cwiseInverse().asDiagonal());
  U.solveInPlace(out.spread);
  out.rss.resize(c);
  out.cost.resize(c);
  // the residual of the columns kept, from that of all columns
  const Index dropped = basis_.size() - m;
  for (Index o = 0; o < c; ++o) {
    const double residual = basis_.residual_norm2()[o] +
                            (basis_.f().col(o).tail(dropped).array().square() / basis_.h().tail(dropped).array()).sum();
    const Vector f2 = f.col(o).cwiseAbs2();
    const RidgeSpectrum s = spectrum(m, f2, residual);
    out.rss[o] = s.rss(lambda);
    out.cost[o] = s.cost(lambda);
    if (o == 0) out.trace = s.trace(lambda);
  }
  return out;
}

}  // namespace kernsift
