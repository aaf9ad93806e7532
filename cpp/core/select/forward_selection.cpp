#include "core/select/forward_selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/limits.hpp"

namespace kernsift {

namespace {
// Rows with equal residuals compared by error reduction: as many of them as Jung & Polani (2006) draw.
constexpr std::size_t kMostTied = 59;
// So many dependent candidates in a row, and the columns chosen span the rest: each costs a read of Q, and where the
// kernels have few dimensions all rows but a few are dependent.
constexpr Index kMostRefused = 1000;
// Below this part of y'y the residual is the rounding of y.
constexpr double kNothingLeft = 1e-28;
}  // namespace

ForwardSelection::ForwardSelection(KernelColumns& columns, const ConstMatrixRef& Y, const ConstVectorRef& root_weights,
                                   std::vector<Index> allowed, const SelectionSettings& settings)
    : columns_(columns),
      settings_(settings),
      basis_(Matrix(Y.array().colwise() * root_weights.array()), settings.threads),
      inverse_root_weights_(Vector::Zero(basis_.padded_rows())),
      usable_(static_cast<std::size_t>(columns.size()), 0),
      widths_left_(static_cast<std::size_t>(columns.rows()), 0),
      pool_(std::move(allowed)),
      random_(settings.seed) {
  inverse_root_weights_.head(Y.rows()) = root_weights.cwiseInverse();
  // Weights that sum to more than the rows are repetitions; smaller ones say which rows are noisier.
  n_rows_ = std::max({root_weights.squaredNorm(), settings.rows, static_cast<double>(Y.rows())});
  for (const Index id : pool_) {
    usable_[id] = 1;
    ++widths_left_[id % columns.rows()];
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
  total_ = basis_.residual_norm2().sum();
  if (!settings_.reestimate) lambda_ = settings_.alpha;
  record(lambda_);
  best_gcv_ = gcv_path_[0];
  if (!(total_ > kNothingLeft * scale)) ending_ = Ending::error;
  if (settings_.criterion == Criterion::error_reduction && settings_.n_candidates == 0 && ending_ == Ending::running) {
    running_n_ = Matrix::Zero(columns_.size(), basis_.n_targets());
    running_d_ = Vector::Zero(columns_.size());
    for (Index g = 0; g < columns_.n_widths(); ++g) {
      Vector norms = Vector::Zero(columns_.rows());
      Matrix n = Matrix::Zero(columns_.rows(), basis_.n_targets());
      multiply(g, basis_.residual(), n, &norms);
      running_n_.middleRows(g * columns_.rows(), columns_.rows()) = n;
      running_d_.segment(g * columns_.rows(), columns_.rows()) = norms;
    }
    norms_ = running_d_;
    if (basis_.size() > 0) {
      const Matrix n = running_n_;  // r has lost the share of the bias already, the columns have not
      refresh_running();
      running_n_ = n;
    }
  }
}

// The sums of `gcv.hpp` over the penalised of the first `columns` columns.
RidgeSpectrum ForwardSelection::spectrum(Index columns, const Vector& f2, double residual) const {
  const Index b = bias();
  return {basis_.h().segment(b, columns - b), f2.segment(b, columns - b), residual, n_rows_, static_cast<double>(b)};
}

void ForwardSelection::record(double lambda) {
  const Vector f2 = basis_.f().rowwise().squaredNorm();
  const RidgeSpectrum s = spectrum(basis_.size(), f2, basis_.residual_norm2().sum());
  alpha_path_.push_back(lambda);
  gcv_path_.push_back(s.gcv(lambda));
  rss_path_.push_back(s.rss(lambda));
}

void ForwardSelection::drop(Index id, bool dependent) {
  if (!usable_[id]) return;
  usable_[id] = 0;
  --widths_left_[id % columns_.rows()];
  n_dependent_ += dependent;
  pool_.erase(std::lower_bound(pool_.begin(), pool_.end(), id));
}

bool ForwardSelection::step() {
  if (ending_ != Ending::running) return false;
  if (static_cast<Index>(chosen_.size()) >= settings_.max_basis) {
    ending_ = Ending::max_basis;
    return false;
  }
  if (basis_.size() >= basis_.rows()) {
    ending_ = Ending::no_freedom;
    return false;
  }
  Index refused = 0;
  while (!pool_.empty() && refused < kMostRefused) {
    std::vector<Index> ids;
    if (settings_.criterion == Criterion::residual) {
      ids = tied_rows();
    } else if (settings_.n_candidates == 0) {
      ids = best_running();
    } else {
      ids = pool_;
      ids.resize(static_cast<std::size_t>(draw(ids, settings_.n_candidates, random_)));
    }
    if (ids.empty()) break;
    K_.resize(columns_.padded_rows(), static_cast<Index>(ids.size()));
    columns_.columns(ids, K_);
    if (!add_one_of(ids)) {
      refused += static_cast<Index>(ids.size());
      continue;
    }
    note_score();
    return ending_ == Ending::running;
  }
  ending_ = Ending::exhausted;
  return false;
}

// Of the usable rows, those with the largest residual; all widths of each.
std::vector<Index> ForwardSelection::tied_rows() {
  const Index n = columns_.rows(), widths = columns_.n_widths();
  // of the row itself, not of its weighted equation: a row of weight two is a row seen twice
  Vector size2 = error_.col(0).head(n).cwiseAbs2();
  for (Index o = 1; o < error_.cols(); ++o) size2 += error_.col(o).head(n).cwiseAbs2();
  size2.array() *= inverse_root_weights_.head(n).array().square();
  double largest = 0;
  for (Index i = 0; i < n; ++i) {
    if (widths_left_[i] == 0) size2[i] = -1.0;
    largest = std::max(largest, size2[i]);
  }
  const double bound = largest * (1.0 - 2.0 * kTie);
  std::vector<Index> ids;
  std::size_t tied = 0;
  for (Index i = 0; i < n && tied < kMostTied; ++i) {
    if (!(size2[i] >= bound)) continue;
    ++tied;
    for (Index g = 0; g < widths; ++g)
      if (usable_[g * n + i]) ids.push_back(g * n + i);
  }
  return ids;
}

// K'Y for the candidates of width g; with few of them, for those alone.
void ForwardSelection::multiply(Index g, const ConstMatrixRef& Y, MatrixRef products, Vector* norms) {
  const Index n = columns_.rows();
  const auto first = std::lower_bound(pool_.begin(), pool_.end(), g * n);
  const auto end = std::lower_bound(first, pool_.end(), (g + 1) * n);
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
    running_d_.segment(g * n, n) -= v.col(0).cwiseAbs2() / h;
    running_n_.middleRows(g * n, n).noalias() -= v * (basis_.f().row(last) / h);
  }
}

// The candidate with the largest error reduction by the running numbers.
std::vector<Index> ForwardSelection::best_running() {
  double best = -1;
  std::vector<Index> out;
  std::vector<Index> dependent;
  for (const Index id : pool_) {
    if (!(running_d_[id] > 0.5 * OrthogonalBasis::kRankTol * norms_[id])) {
      dependent.push_back(id);
      continue;
    }
    const double score = running_n_.row(id).squaredNorm() / (lambda_ + running_d_[id]);
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
  basis_.project(K_, p);
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
    if (add(ids[pick], K_.col(pick), p, pick)) return true;
  }
}

double ForwardSelection::updated_ridge(const Vector& h, const Vector& f2, double residual) const {
  if (!settings_.reestimate) return lambda_;
  const Index b = bias(), m = h.size();
  const RidgeSpectrum s{h.tail(m - b), f2.tail(m - b), residual, n_rows_, static_cast<double>(b)};
  return ridge_fixed_point(s, lambda_);
}

bool ForwardSelection::add(Index id, const ConstVectorRef& k, const OrthogonalBasis::Projection& p, Index i) {
  const Index m = basis_.size(), b = bias();
  const bool needs_error = settings_.criterion == Criterion::residual;
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
  if (!basis_.append(k, p, i, G, combinations_)) {
    drop(id, true);
    return false;
  }
  drop(id, false);
  chosen_.push_back(id);
  const Vector h = basis_.h(), f2 = basis_.f().rowwise().squaredNorm();
  lambda_ = updated_ridge(h, f2, basis_.residual_norm2().sum());
  if (needs_error) residual_after(predicted);
  if (running_d_.size() > 0) refresh_running();
  record(lambda_);
  return true;
}

// y - Q alpha~ with the current ridge [OROLS 25]: not the update (24), which is wrong once lambda moves.
void ForwardSelection::residual_after(double predicted) {
  const Index last = basis_.size() - 1, c = basis_.n_targets();
  Vector q(basis_.padded_rows());
  basis_.column(last, q);
  const double h = basis_.h()[last], lambda = last < bias() ? 0.0 : lambda_;
  for (Index o = 0; o < c; ++o) {
    error_.col(o) = basis_.residual().col(o) + combinations_.col(o) - q * (basis_.f()(last, o) / (lambda + h));
    if (combinations_.cols() > c) error_.col(o) += (lambda_ - predicted) * combinations_.col(c + o);
  }
}

void ForwardSelection::note_score() {
  const auto m = static_cast<Index>(chosen_.size());
  const double gcv = gcv_path_.back();
  if (settings_.stop != StopRule::gcv) {
    best_ = m;
  } else if (gcv < best_gcv_ * (1.0 - settings_.tol)) {
    best_gcv_ = gcv;
    best_ = m;
    since_best_ = 0;
  } else if (++since_best_ >= settings_.patience) {
    ending_ = Ending::gcv;
  }
  if (settings_.stop == StopRule::alpha) {
    const double before = alpha_path_[m - 1];
    // the first column has no ridge before it
    unchanged_ = m > 1 && std::abs(lambda_ - before) <= settings_.tol * lambda_ ? unchanged_ + 1 : 0;
    if (unchanged_ >= settings_.patience) ending_ = Ending::alpha;
  }
  const Vector h = basis_.h().tail(m);
  if (std::sqrt(h.maxCoeff() / h.minCoeff()) > settings_.max_condition) ending_ = Ending::condition;
  const double left = basis_.residual_norm2().sum();
  if (rss_path_.back() <= settings_.error_tol * total_ || left <= kNothingLeft * total_) ending_ = Ending::error;
}

ForwardSelection::Model ForwardSelection::model() {
  basis_.settle();
  const Index b = bias(), m = best_ + b, c = basis_.n_targets();
  const double lambda = alpha_path_[best_];
  Vector ridge = Vector::Constant(m, lambda);
  ridge.head(b).setZero();
  const Vector h = basis_.h().head(m);
  const Matrix f = basis_.f().topRows(m);
  const Matrix factor = basis_.U().topLeftCorner(m, m);
  const auto U = factor.triangularView<Eigen::UnitUpper>();
  Matrix weights = f.array().colwise() / (ridge + h).array();  // [OROLS 25]
  U.solveInPlace(weights);                                     // [OROLS 26]
  Model out;
  out.coef = weights.bottomRows(best_);
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
