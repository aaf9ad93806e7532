// The batch solution of a stream, in extended precision, from the log of which rows became kernels and which left: what
// the online model is measured against over long streams. Definitions only; it shares nothing with the core.
//
//   J(theta, b) = sum_i v_i (y_i - b - z_i'theta)^2 + alpha |theta|^2,   z_i = L^-1 k~_i,   K = L L'
//
// k~_i are the inner products of the stored approximation of row i with the kernels, exact when it is learned. A new
// kernel gives earlier rows the coordinate 0; deleting one deletes its column of K~. All rows so far are kept as the
// triangular factor of sqrt(V) [1 y Z], by Householder reflections of rows sorted by size and columns pivoted (Cox &
// Higham: the error of every row is small against that row). One target, kernel exp(-gamma |x - x'|^2).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

#ifdef LONG_BATCH_QUAD  // 113 bits, many times slower: how good is the other?
extern "C" {
__float128 expq(__float128);
__float128 sqrtq(__float128);
__float128 powq(__float128, __float128);
}
using Real = __float128;
Real exponential(Real x) { return expq(x); }
Real root(Real x) { return sqrtq(x); }
Real power(Real x, Real e) { return powq(x, e); }
#else
using Real = long double;
Real exponential(Real x) { return std::exp(x); }
Real root(Real x) { return std::sqrt(x); }
Real power(Real x, Real e) { return std::pow(x, e); }
#endif
Real size_of(Real x) { return x < 0 ? -x : x; }

using Column = std::vector<Real>;
using Columns = std::vector<Column>;

constexpr std::uint8_t kAdmitted = 2, kSwapped = 3;
constexpr std::size_t kWait = 5;  // a triangular factor is made when there are so many times its rows

// R of Q'A = R, with the first `pivoted` columns in the order returned, rows below dropped.
std::vector<std::size_t> triangularise(Columns& A, std::size_t pivoted) {
  const std::size_t n = A[0].size(), p = A.size();
  std::vector<std::size_t> rows(n), order(pivoted);
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(order.begin(), order.end(), 0);
  Column largest(n, 0), sorted(n);
  for (std::size_t c = 0; c < pivoted; ++c)
    for (std::size_t i = 0; i < n; ++i) largest[i] = std::max(largest[i], size_of(A[c][i]));
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t i, std::size_t j) { return largest[i] > largest[j]; });
  for (Column& a : A) {
    for (std::size_t i = 0; i < n; ++i) sorted[i] = a[rows[i]];
    a.swap(sorted);
  }
  for (std::size_t j = 0; j < pivoted; ++j) {
    Real norm = -1;
    std::size_t pivot = j;
    for (std::size_t c = j; c < pivoted; ++c) {
      const Real squares = std::inner_product(A[c].begin() + j, A[c].end(), A[c].begin() + j, Real(0));
      if (squares > norm) norm = squares, pivot = c;
    }
    if (!(norm > 0)) break;  // nothing is left
    std::swap(A[j], A[pivot]);
    std::swap(order[j], order[pivot]);
    Column v(A[j].begin() + j, A[j].end());
    const Real length = v[0] < 0 ? -root(norm) : root(norm), scale = 1 / (norm + size_of(v[0] * length));
    v[0] += length;  // |v|^2 = 2 / scale
    for (std::size_t c = j + 1; c < p; ++c) {
      Real* a = A[c].data() + j;
      const Real along = scale * std::inner_product(v.begin(), v.end(), a, Real(0));
      for (std::size_t i = 0; i < v.size(); ++i) a[i] -= along * v[i];
    }
    A[j][j] = -length;
    std::fill(A[j].begin() + j + 1, A[j].end(), Real(0));
  }
  for (Column& a : A) a.resize(std::min(n, p));
  return order;
}

class Batch {
 public:
  Batch(long d, Real gamma, Real alpha, Real forgetting, long period)
      : d_(d), period_(period), gamma_(gamma), alpha_(alpha), forgetting_(forgetting), rows_(2) {}

  // One row of weight forgetting^-(rows since the last fading); every `period` rows (0: never) all of them fade.
  void learn(const double* x, double y, std::uint8_t outcome, std::int64_t victim) {
    Column row = coordinates(x);
    const bool grows = outcome == kAdmitted || outcome == kSwapped;
    if (grows) {
      Real rest = 1;
      for (const Real z : row) rest -= z * z;
      row.push_back(root(rest));
      L_.push_back(row);
      basis_.insert(basis_.end(), x, x + d_);
      ids_.push_back(seen_);
      rows_.emplace_back(rows_[0].size(), Real(0));
    }
    const Real weight = period_ > 0 ? root(power(forgetting_, Real(-since_))) : Real(1);
    rows_[0].push_back(weight);
    rows_[1].push_back(weight * y);
    for (std::size_t c = 0; c < row.size(); ++c) rows_[2 + c].push_back(weight * row[c]);
    if (outcome == kSwapped) remove(std::find(ids_.begin(), ids_.end(), victim) - ids_.begin());
    ++seen_;
    if (period_ > 0 && ++since_ == period_) {
      const Real factor = root(power(forgetting_, Real(period_)));
      for (Column& column : rows_)
        for (Real& value : column) value *= factor;
      since_ = 0;
    }
    if (rows_[0].size() >= kWait * rows_.size()) compress();
  }

  // b, theta
  Column solve() const {
    const std::size_t m = L_.size();
    Columns A{rows_[0]};
    A.insert(A.end(), rows_.begin() + 2, rows_.end());
    A.push_back(rows_[1]);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t c = 0; c < A.size(); ++c) A[c].push_back(c == 1 + i ? root(alpha_) : Real(0));
    const std::vector<std::size_t> order = triangularise(A, m + 1);
    Column solution(m + 1), sorted(m + 1);
    for (std::size_t i = m + 1; i-- > 0;) {
      Real rest = A[m + 1][i];
      for (std::size_t c = i + 1; c <= m; ++c) rest -= A[c][i] * sorted[c];
      sorted[i] = rest / A[i][i];
      solution[order[i]] = sorted[i];
    }
    return solution;
  }

  Real at(const double* x, const Column& solution) const {
    const Column z = coordinates(x);
    return std::inner_product(z.begin(), z.end(), solution.begin() + 1, solution[0]);
  }

  const std::vector<std::int64_t>& ids() const { return ids_; }

 private:
  Real kernel(const double* x, const double* y) const {
    Real squares = 0;
    for (long j = 0; j < d_; ++j) squares += gamma_ * (Real(x[j]) - y[j]) * (Real(x[j]) - y[j]);
    return exponential(-squares);
  }

  // L^-1 k(x)
  Column coordinates(const double* x) const {
    Column z(L_.size());
    for (std::size_t i = 0; i < z.size(); ++i)
      z[i] = (kernel(x, &basis_[i * d_]) - std::inner_product(z.begin(), z.begin() + i, L_[i].begin(), Real(0))) / L_[i][i];
    return z;
  }

  // With L' the factor without kernel `gone`, and that row struck from L: Z' = Z (L'^-1 L)'. The kernels before it keep
  // their coordinates.
  void remove(std::size_t gone) {
    const std::size_t m = L_.size() - 1;
    const Columns old(L_.begin() + gone + 1, L_.end());
    Columns turn;  // rows of L'^-1 L from `gone` on, and columns too
    L_.resize(gone);
    ids_.erase(ids_.begin() + gone);
    basis_.erase(basis_.begin() + gone * d_, basis_.begin() + (gone + 1) * d_);
    for (std::size_t r = gone; r < m; ++r) {
      Column factor = coordinates(&basis_[r * d_]), t = old[r - gone];
      Real rest = 1;
      for (const Real z : factor) rest -= z * z;
      factor.push_back(root(rest));
      t.resize(m + 1);
      t.erase(t.begin(), t.begin() + gone);
      for (std::size_t c = gone; c < r; ++c)
        for (std::size_t i = 0; i < t.size(); ++i) t[i] -= factor[c] * turn[c - gone][i];
      for (Real& value : t) value /= factor.back();
      turn.push_back(t);
      L_.push_back(factor);
    }
    Columns later(m - gone, Column(rows_[0].size(), Real(0)));
    for (std::size_t c = 0; c < later.size(); ++c)
      for (std::size_t i = 0; i < turn[c].size(); ++i)
        for (std::size_t r = 0; r < later[c].size(); ++r) later[c][r] += turn[c][i] * rows_[2 + gone + i][r];
    rows_.resize(2 + gone);
    rows_.insert(rows_.end(), later.begin(), later.end());
  }

  void compress() {
    const std::vector<std::size_t> order = triangularise(rows_, rows_.size());
    Columns sorted(rows_.size());
    for (std::size_t c = 0; c < order.size(); ++c) sorted[order[c]].swap(rows_[c]);
    rows_.swap(sorted);
  }

  long d_, period_, since_ = 0;
  Real gamma_, alpha_, forgetting_;
  std::int64_t seen_ = 0;
  std::vector<double> basis_;
  std::vector<std::int64_t> ids_;
  Columns L_;     // its rows
  Columns rows_;  // sqrt(V) [1 y Z]
};

}  // namespace

extern "C" {

Batch* long_batch(long d, double gamma, double alpha, double forgetting, long period) {
  return new Batch(d, gamma, alpha, forgetting, period);
}

void long_batch_free(Batch* batch) { delete batch; }

void long_batch_learn(Batch* batch, long n, long d, const double* X, const double* y, const std::uint8_t* outcome,
                      const std::int64_t* victim) {
  for (long i = 0; i < n; ++i) batch->learn(X + i * d, y[i], outcome[i], victim[i]);
}

long long_batch_size(const Batch* batch) { return static_cast<long>(batch->ids().size()); }

void long_batch_ids(const Batch* batch, std::int64_t* out) { std::copy(batch->ids().begin(), batch->ids().end(), out); }

void long_batch_predict(const Batch* batch, long n, long d, const double* X, long double* out) {
  const Column solution = batch->solve();
  for (long i = 0; i < n; ++i) out[i] = static_cast<long double>(batch->at(X + i * d, solution));
}

}
