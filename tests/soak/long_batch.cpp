// The batch solution of a stream, in extended precision, from the log of which rows became kernels and which left: what
// the online model is measured against over long streams. Definitions only; it shares nothing with the core.
//
//   J(theta, b) = sum_i v_i (y_i - b - z_i'theta)^2 + alpha |theta|^2,   z_i = L^-1 k~_i,   K = L L'
//
// k~_i are the inner products of the stored approximation of row i with the kernels, exact when it is learned. A new
// kernel gives earlier rows the coordinate 0; deleting one deletes its column of K~. All rows so far are kept as the
// triangular factor of sqrt(V) [1 Z y], by Householder reflections, and some rows that wait to join it. One target,
// kernel exp(-gamma |x - x'|^2).
//
// With a memory that fades there is no such problem: what is known of [b; theta] is a Gaussian of prior variance
// 1/alpha, of which each row is an observation, followed by a step back to the prior. Targets are measured from the
// first one.
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
}
using Real = __float128;
Real exponential(Real x) { return expq(x); }
Real root(Real x) { return sqrtq(x); }
#else
using Real = long double;
Real exponential(Real x) { return std::exp(x); }
Real root(Real x) { return std::sqrt(x); }
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

// The dictionary, and how coordinates change with it.
class Basis {
 public:
  Basis(long d, Real gamma) : d_(d), gamma_(gamma) {}

  const std::vector<std::int64_t>& ids() const { return ids_; }
  std::size_t size() const { return L_.size(); }

  // L^-1 k(x)
  Column coordinates(const double* x) const {
    Column z(L_.size());
    for (std::size_t i = 0; i < z.size(); ++i)
      z[i] = (kernel(x, &basis_[i * d_]) - std::inner_product(z.begin(), z.begin() + i, L_[i].begin(), Real(0))) / L_[i][i];
    return z;
  }

  // `row`, the coordinates of x, gains the one along the new direction.
  void append(const double* x, std::int64_t id, Column& row) {
    Real rest = 1;
    for (const Real z : row) rest -= z * z;
    row.push_back(root(rest));
    L_.push_back(row);
    basis_.insert(basis_.end(), x, x + d_);
    ids_.push_back(id);
  }

  std::size_t place(std::int64_t id) const { return std::find(ids_.begin(), ids_.end(), id) - ids_.begin(); }

  // The functional that takes theta to coefficient `which`: row `which` of L^-T.
  Column coefficient(std::size_t which) const {
    Column inverse(size());
    for (std::size_t i = which; i < size(); ++i) {
      Real rest = i == which ? 1 : 0;
      for (std::size_t j = which; j < i; ++j) rest -= L_[i][j] * inverse[j];
      inverse[i] = rest / L_[i][i];
    }
    return inverse;
  }

  // With L' the factor without kernel `gone`, and that row struck from L: Z' = Z (L'^-1 L)'. The kernels before it keep
  // their coordinates. Returns the rows and columns of L'^-1 L from `gone` on.
  Columns remove(std::size_t gone) {
    const std::size_t m = L_.size() - 1;
    const Columns old(L_.begin() + gone + 1, L_.end());
    Columns turn;
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
    return turn;
  }

 private:
  Real kernel(const double* x, const double* y) const {
    Real squares = 0;
    for (long j = 0; j < d_; ++j) squares += gamma_ * (Real(x[j]) - y[j]) * (Real(x[j]) - y[j]);
    return exponential(-squares);
  }

  long d_;
  Real gamma_;
  std::vector<double> basis_;
  std::vector<std::int64_t> ids_;
  Columns L_;  // its rows
};

// One model of the stream: b, theta by `solve`.
class Model {
 public:
  Model(long d, Real gamma, Real alpha) : alpha_(alpha), basis_(d, gamma) {}
  virtual ~Model() = default;

  void learn(const double* x, double y, std::uint8_t outcome, std::int64_t victim) {
    Column row = basis_.coordinates(x);
    if (outcome == kAdmitted || outcome == kSwapped) {
      grow();
      basis_.append(x, seen_, row);
    }
    observe(row, y);
    if (outcome == kSwapped) remove(basis_.place(victim));
    ++seen_;
    end_row();
  }
  virtual Column solve() const = 0;

  Real at(const double* x, const Column& solution) const {
    const Column z = basis_.coordinates(x);
    return std::inner_product(z.begin(), z.end(), solution.begin() + 1, solution[0]);
  }
  const std::vector<std::int64_t>& ids() const { return basis_.ids(); }

 protected:
  virtual void grow() = 0;
  virtual void observe(const Column& row, double y) = 0;
  virtual void remove(std::size_t gone) = 0;
  virtual void end_row() = 0;

  Real alpha_;
  Basis basis_;
  std::int64_t seen_ = 0;
};

class Batch : public Model {
 public:
  Batch(long d, Real gamma, Real alpha) : Model(d, gamma, alpha), rows_(2), R_(2, Column(2, 0)) {}

  Column solve() const override {
    const std::size_t m = basis_.size();
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

 private:
  void grow() override {
    rows_.insert(rows_.end() - 1, Column(rows_[0].size(), Real(0)));
    R_.insert(R_.end() - 1, Column(R_.size(), Real(0)));
    for (Column& column : R_) column.push_back(Real(0));
  }
  void observe(const Column& row, double y) override {
    rows_.front().push_back(1);
    for (std::size_t c = 0; c < row.size(); ++c) rows_[1 + c].push_back(row[c]);
    rows_.back().push_back(y);
  }
  void remove(std::size_t gone) override {
    const std::size_t m = basis_.size() - 1;
    const Columns turn = basis_.remove(gone);
    for (std::size_t c = 0; c < R_.size(); ++c) rows_[c].insert(rows_[c].end(), R_[c].begin(), R_[c].end());
    Columns later(m - gone, Column(rows_[0].size(), Real(0)));
    for (std::size_t c = 0; c < later.size(); ++c)
      for (std::size_t i = 0; i < turn[c].size(); ++i)
        for (std::size_t r = 0; r < later[c].size(); ++r) later[c][r] += turn[c][i] * rows_[1 + gone + i][r];
    std::copy(later.begin(), later.end(), rows_.begin() + 1 + gone);
    rows_.erase(rows_.end() - 2);
    R_.assign(m + 2, Column(m + 2, Real(0)));
  }
  void end_row() override {
    if (rows_[0].size() >= kWait * rows_.size()) triangularise(R_, rows_);
  }

  Columns rows_;  // [1 Z y] of those that wait
  Columns R_;
};

class Memory : public Model {
 public:
  Memory(long d, Real gamma, Real alpha, Real factor) : Model(d, gamma, alpha), factor_(factor) { grow(); }

  Column solve() const override {
    Column solution = mean_;
    solution[0] += level_;
    return solution;
  }

 private:
  void grow() override {
    for (Column& row : C_) row.push_back(0);
    C_.push_back(Column(C_.size() + 1, Real(0)));
    C_.back().back() = 1 / alpha_;
    mean_.push_back(0);
  }
  // h'[b; theta] was measured: h'mean is off by `error`, and the measurement by a variance of `noise`.
  void measure(const Column& h, Real error, Real noise) {
    const std::size_t p = h.size();
    Column gain(p);
    for (std::size_t i = 0; i < p; ++i) gain[i] = dot(C_[i], h);
    const Real variance = noise + dot(h, gain);
    for (std::size_t i = 0; i < p; ++i) {
      mean_[i] += gain[i] / variance * error;
      for (std::size_t j = 0; j < p; ++j) C_[i][j] -= gain[i] * gain[j] / variance;
    }
  }
  void observe(const Column& row, double y) override {
    if (seen_ == 0) level_ = y;
    Column h = row;
    h.insert(h.begin(), Real(1));
    measure(h, y - level_ - dot(h, mean_), 1);
  }
  // Coefficient `gone` is 0, and the other coordinates turn as those of rows do.
  void remove(std::size_t gone) override {
    Column h = basis_.coefficient(gone);
    h.insert(h.begin(), Real(0));
    measure(h, -dot(h, mean_), 0);
    const Columns turn = basis_.remove(gone);
    const auto turned = [&](const Column& old) {
      Column next(old.begin(), old.begin() + 1 + gone);
      for (const Column& t : turn) next.push_back(std::inner_product(t.begin(), t.end(), old.begin() + 1 + gone, Real(0)));
      return next;
    };
    mean_ = turned(mean_);
    for (int side = 0; side < 2; ++side) {
      Columns across;
      for (const Column& row : C_) across.push_back(turned(row));
      C_.assign(across[0].size(), Column(across.size()));
      for (std::size_t i = 0; i < across.size(); ++i)
        for (std::size_t j = 0; j < across[i].size(); ++j) C_[j][i] = across[i][j];
    }
  }
  void end_row() override {
    for (std::size_t i = 0; i < C_.size(); ++i) {
      for (Real& value : C_[i]) value *= factor_;
      C_[i][i] += (1 - factor_) / alpha_;
      mean_[i] *= root(factor_);
    }
  }

  Real factor_, level_ = 0;
  Column mean_;  // of [b; theta]
  Columns C_;    // and its covariance
};

}  // namespace

extern "C" {

// memory: of 0, all rows count alike
Model* long_batch(long d, double gamma, double alpha, double memory) {
  if (memory > 0) return new Memory(d, gamma, alpha, memory);
  return new Batch(d, gamma, alpha);
}

void long_batch_free(Model* batch) { delete batch; }

void long_batch_learn(Model* batch, long n, long d, const double* X, const double* y, const std::uint8_t* outcome,
                      const std::int64_t* victim) {
  for (long i = 0; i < n; ++i) batch->learn(X + i * d, y[i], outcome[i], victim[i]);
}

long long_batch_size(const Model* batch) { return static_cast<long>(batch->ids().size()); }

void long_batch_ids(const Model* batch, std::int64_t* out) { std::copy(batch->ids().begin(), batch->ids().end(), out); }

void long_batch_predict(const Model* batch, long n, long d, const double* X, long double* out) {
  const Column solution = batch->solve();
  for (long i = 0; i < n; ++i) out[i] = static_cast<long double>(batch->at(X + i * d, solution));
}

}
