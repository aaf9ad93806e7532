// The batch solution of a stream, in extended precision, from the log of which rows became kernels and which left: what
// the online model is measured against over long streams. Definitions only; it shares nothing with the core.
//
//   J(theta, b) = sum_i v_i (y_i - b - z_i'theta)^2 + alpha |theta|^2,   z_i = L^-1 k~_i,   K = L L'
//
// k~_i are the inner products of the stored approximation of row i with the kernels, exact when it is learned. A new
// kernel gives earlier rows the coordinate 0; deleting one deletes its column of K~. All rows so far are kept as the
// triangular factor of sqrt(V) [1 Z y], by Householder reflections, and some rows that wait to join it. One target,
// kernel exp(-gamma |x - x'|^2).
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

using Column = std::vector<Real>;
using Columns = std::vector<Column>;

constexpr std::uint8_t kAdmitted = 2, kSwapped = 3;
constexpr std::size_t kWait = 4;  // rows join the factor when there are so many times its own

Real dot(const Column& a, const Column& b) { return std::inner_product(a.begin(), a.end(), b.begin(), Real(0)); }

// The rows, and those of the upper triangle R, become R: [R; rows] = Q [R'; 0]. Both are given as columns.
void triangularise(Columns& R, Columns& rows) {
  const std::size_t p = R.size();
  for (std::size_t j = 0; j < p; ++j) {
    const Column& v = rows[j];  // under R_jj: the rest of the reflected vector
    const Real below = dot(v, v), r = R[j][j];
    if (!(below > 0)) continue;
    const Real norm = root(r * r + below), head = r < 0 ? r - norm : r + norm;
    const Real scale = 1 / (head * (r < 0 ? -norm : norm));  // 2 / |vector|^2
    R[j][j] = r < 0 ? norm : -norm;
    for (std::size_t c = j + 1; c < p; ++c) {
      const Real along = scale * (head * R[c][j] + dot(v, rows[c]));
      R[c][j] -= along * head;
      for (std::size_t i = 0; i < v.size(); ++i) rows[c][i] -= along * v[i];
    }
  }
  for (Column& column : rows) column.clear();
}

class Batch {
 public:
  Batch(long d, Real gamma, Real alpha, Real forgetting, long period)
      : d_(d), period_(period), gamma_(gamma), alpha_(alpha), forgetting_(forgetting), rows_(2), R_(2, Column(2, 0)) {}

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
      rows_.insert(rows_.end() - 1, Column(rows_[0].size(), Real(0)));
      R_.insert(R_.end() - 1, Column(R_.size(), Real(0)));
      for (Column& column : R_) column.push_back(Real(0));
    }
    const Real weight = period_ > 0 ? root(power(forgetting_, Real(-since_))) : Real(1);
    rows_.front().push_back(weight);
    for (std::size_t c = 0; c < row.size(); ++c) rows_[1 + c].push_back(weight * row[c]);
    rows_.back().push_back(weight * y);
    if (outcome == kSwapped) remove(std::find(ids_.begin(), ids_.end(), victim) - ids_.begin());
    ++seen_;
    if (period_ > 0 && ++since_ == period_) {
      const Real factor = root(power(forgetting_, Real(period_)));
      for (Columns* part : {&rows_, &R_})
        for (Column& column : *part)
          for (Real& value : column) value *= factor;
      since_ = 0;
    }
    if (rows_[0].size() >= kWait * rows_.size()) triangularise(R_, rows_);
  }

  // b, theta
  Column solve() const {
    const std::size_t m = L_.size();
    Columns R = R_, rows = rows_;
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t c = 0; c < rows.size(); ++c) rows[c].push_back(c == 1 + i ? root(alpha_) : Real(0));
    triangularise(R, rows);
    Column solution(m + 1);
    for (std::size_t i = m + 1; i-- > 0;) {
      Real rest = R[m + 1][i];
      for (std::size_t c = i + 1; c <= m; ++c) rest -= R[c][i] * solution[c];
      solution[i] = rest / R[i][i];
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
    for (std::size_t c = 0; c < R_.size(); ++c) rows_[c].insert(rows_[c].end(), R_[c].begin(), R_[c].end());
    Columns later(m - gone, Column(rows_[0].size(), Real(0)));
    for (std::size_t c = 0; c < later.size(); ++c)
      for (std::size_t i = 0; i < turn[c].size(); ++i)
        for (std::size_t r = 0; r < later[c].size(); ++r) later[c][r] += turn[c][i] * rows_[1 + gone + i][r];
    std::copy(later.begin(), later.end(), rows_.begin() + 1 + gone);
    rows_.erase(rows_.end() - 2);
    R_.assign(m + 2, Column(m + 2, Real(0)));
  }

  long d_, period_, since_ = 0;
  Real gamma_, alpha_, forgetting_;
  std::int64_t seen_ = 0;
  std::vector<double> basis_;
  std::vector<std::int64_t> ids_;
  Columns L_;     // its rows
  Columns rows_;  // sqrt(V) [1 Z y] of those that wait
  Columns R_;
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
