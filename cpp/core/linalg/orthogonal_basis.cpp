#include "core/linalg/orthogonal_basis.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "core/base/parallel.hpp"
#include "core/simd/column_products.hpp"

namespace kernsift {

namespace {

constexpr Index kRows = OrthogonalBasis::kRows, kColumns = OrthogonalBasis::kColumns;
// Sums over the rows are made by at most this many tasks and added in their order.
constexpr Index kMostTasks = 32;
// Below this many values of Q a read is over before a thread has started.
constexpr Index kParallelValues = 1 << 20;

// Memory for a panel. Use huge pages for large panels: with 4 KiB pages, a pass over Q spends 20 % of its time in
// page-table walks.
double* allocate(std::size_t bytes) {
  constexpr std::size_t kLargePage = std::size_t{1} << 21;
  const bool large = bytes >= 2 * kLargePage;
  const std::size_t alignment = large ? kLargePage : 64;
  void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (large) (void)madvise(p, bytes, MADV_HUGEPAGE);  // advice: whether it is taken changes nothing but time
#endif
  return static_cast<double*>(p);
}

// Block `b` of a vector of padded length.
template <class V>
auto block(V&& v, Index b) {
  return v.segment(b * kRows, kRows);
}

// The sum of the columns, one after the other.
Vector in_order(const Matrix& parts) {
  Vector total = parts.col(0);
  for (Index task = 1; task < parts.cols(); ++task) total += parts.col(task);
  return total;
}

}  // namespace

void OrthogonalBasis::Free::operator()(double* p) const { std::free(p); }

OrthogonalBasis::OrthogonalBasis(const ConstMatrixRef& targets, int threads, double rank_tol)
    : rows_(targets.rows()),
      n_blocks_(round_up(targets.rows(), kRows) / kRows),
      threads_(threads),
      rank_tol_(rank_tol) {
  residual_ = Matrix::Zero(padded_rows(), targets.cols());
  residual_.topRows(rows_) = targets;
  residual_norm2_ = residual_.colwise().squaredNorm();
  f_.resize(0, targets.cols());
}

Index OrthogonalBasis::n_tasks() const { return std::min(n_blocks_, kMostTasks); }
int OrthogonalBasis::threads_for(Index values) const { return values < kParallelValues ? 1 : threads_; }

// work(task, first block, last block); the split depends on the number of rows alone.
template <class Work>
void OrthogonalBasis::over_blocks(Index values, Work&& work) const {
  const Index tasks = n_tasks();
  parallel_for(tasks, threads_for(values),
               [&](Index task) { work(task, task * n_blocks_ / tasks, (task + 1) * n_blocks_ / tasks); });
}

void OrthogonalBasis::reserve_column() {
  const Index columns = kColumns * panels_a_chunk();
  if (size_ / columns == static_cast<Index>(chunks_.size()))
    chunks_.emplace_back(allocate(static_cast<std::size_t>(padded_rows() * columns) * sizeof(double)));
  if (U_.cols() <= size_) {
    const Index n = grown_capacity(U_.cols(), size_ + 1);
    U_.conservativeResize(n, n);
    f_.conservativeResize(n, Eigen::NoChange);
    h_.conservativeResize(n);
  }
}

// [OROLS 20] once more for the pending column, from its inner products with the others: q - Q c2 and U's column c + c2.
void OrthogonalBasis::correct(const ConstVectorRef& inner) {
  const Index last = size_ - 1;
  const auto others = h_.head(last);
  correction_ = inner.cwiseQuotient(others);
  h_[last] -= correction_.cwiseAbs2().dot(others);
  U_.col(last).head(last) += correction_;
  corrected_ = true;
}

// From inner products with the columns as they are kept, k'k and k'R0.
void OrthogonalBasis::complete(Projection& out) const {
  const Index m = size_, last = m - 1;
  // What the kept column still holds of the others is taken off its inner products.
  if (correction_.size() > 0) out.s.row(last).noalias() -= correction_.transpose() * out.s.topRows(last);
  // q'Y = k'R0, and R0 still holds the pending column's share
  if (pending_) out.f.noalias() -= out.s.row(last).transpose() * (f_.row(last) / h_[last]);
  out.distance2 = out.norm2;
  if (m > 0) out.distance2.noalias() -= (out.s.cwiseAbs2().transpose() * h_.head(m).cwiseInverse()).eval();
}

void OrthogonalBasis::project(const ConstMatrixRef& K, Projection& out) {
  const Index m = size_, r = K.cols(), c = n_targets(), last = m - 1;
  const bool correcting = pending_ && !corrected_ && last > 0;
  // per task: Q'K (m x r), then Q'q of the pending column (m), then per column k'k and k'R0
  const Index stride = m * r + m, tail = r * (1 + c), tasks = n_tasks();
  Matrix parts = Matrix::Zero(stride + tail, tasks);
  over_blocks(m * rows_, [&](Index task, Index first, Index end) {
    double* part = parts.col(task).data();
    std::vector<const double*> x(static_cast<std::size_t>(r) + 1);
    for (Index b = first; b < end; ++b) {
      for (Index i = 0; i < r; ++i) x[static_cast<std::size_t>(i)] = K.col(i).data() + b * kRows;
      if (correcting) x.back() = at(last, b);
      for (Index j = 0; j < m; j += kColumns) {
        const Index count = std::min(kColumns, m - j);
        const Index vectors = r + (correcting ? 1 : 0);
        if (r == 1)
          column_products::dots<true>(at(j, b), count, kRows, x.data(), vectors, part + j, m);
        else
          column_products::dots<false>(at(j, b), count, kRows, x.data(), vectors, part + j, m);
      }
      for (Index i = 0; i < r; ++i) {
        double* sums = part + stride + i * (1 + c);
        const auto k = block(K.col(i), b);
        sums[0] += k.squaredNorm();
        for (Index o = 0; o < c; ++o) sums[1 + o] += k.dot(block(residual_.col(o), b));
      }
    }
  });
  const Vector total = in_order(parts);
  out.s = Eigen::Map<const Matrix>(total.data(), m, r);
  if (correcting) correct(total.segment(m * r, last));
  const Eigen::Map<const Matrix> sums(total.data() + stride, 1 + c, r);
  out.norm2 = sums.row(0).transpose();
  out.f = sums.bottomRows(c).transpose();
  complete(out);
}

bool OrthogonalBasis::append(const ConstVectorRef& k, const Projection& p, Index i, const ConstMatrixRef& G,
                             Matrix& combinations, Ahead* ahead) {
  const Index m = size_, c = n_targets(), g = G.cols(), last = m - 1;
  reserve_column();
  // Coefficients of one read: the correction of the pending column, the projection of k, the caller's combinations.
  const Index by_k = correction_.size() > 0 ? 1 : 0, v = by_k + 1 + g;
  Matrix coef(v, m);
  if (m > 0) {
    if (by_k == 1) coef.row(0) << -correction_.transpose(), 0.0;
    coef.row(by_k) = -p.s.col(i).cwiseQuotient(h_.head(m)).transpose();
    coef.bottomRows(g) = G.transpose();
  }
  const Eigen::RowVectorXd share = pending_ ? Eigen::RowVectorXd(f_.row(last) / h_[last]) : Eigen::RowVectorXd();
  combinations.resize(padded_rows(), g);
  const Index before = pending_ ? last : m;  // columns already final
  // per task: q'q, q'R0, R0'R0; then, ahead, Q'q and Q'k of the columns not yet projected, and of every column q'k, k'k
  // and k'R0
  const Index r = ahead != nullptr ? ahead->size : 0, known = ahead != nullptr ? ahead->known : 0;
  const Index fresh = ahead != nullptr ? 1 + r - known : 0, own = 1 + 2 * c, per = 2 + c;
  Matrix parts = Matrix::Zero(own + m * fresh + per * r, n_tasks());
  over_blocks(m * rows_, [&](Index task, Index first, Index end) {
    Matrix sums(kRows, v);
    std::vector<const double*> x(static_cast<std::size_t>(fresh));
    double* part = parts.col(task).data();
    for (Index b = first; b < end; ++b) {
      sums.setZero();
      for (Index j = 0; j < before; j += kColumns)
        column_products::sums(at(j, b), std::min(kColumns, before - j), kRows, coef.col(j).data(), v, sums.data());
      if (pending_) {
        Eigen::Map<Vector> q(at(last, b), kRows);
        if (by_k == 1) q += sums.col(0);
        for (Index o = 0; o < c; ++o) block(residual_.col(o), b) -= share[o] * q;
        for (Index e = by_k; e < v; ++e) sums.col(e) += coef(e, last) * q;
      }
      Eigen::Map<Vector> q(at(m, b), kRows);
      q = block(k, b) + sums.col(by_k);  // [OROLS 10]
      combinations.middleRows(b * kRows, kRows) = sums.rightCols(g);
      part[0] += q.squaredNorm();
      for (Index o = 0; o < c; ++o) {
        part[1 + o] += q.dot(block(residual_.col(o), b));
        part[1 + c + o] += block(residual_.col(o), b).squaredNorm();
      }
      if (ahead == nullptr) continue;
      // these rows of Q are still in the cache
      x[0] = q.data();
      for (Index a = known; a < r; ++a) x[static_cast<std::size_t>(1 + a - known)] = ahead->K.col(a).data() + b * kRows;
      for (Index j = 0; j < m; j += kColumns)
        column_products::dots<false>(at(j, b), std::min(kColumns, m - j), kRows, x.data(), fresh, part + own + j, m);
      for (Index a = 0; a < r; ++a) {
        double* of = part + own + m * fresh + per * a;
        const auto candidate = block(ahead->K.col(a), b);
        of[0] += candidate.dot(q);
        of[1] += candidate.squaredNorm();
        for (Index o = 0; o < c; ++o) of[2 + o] += candidate.dot(block(residual_.col(o), b));
      }
    }
  });
  const Vector total = in_order(parts);
  finish();
  residual_norm2_ = total.segment(1 + c, c);
  if (!(total[0] > rank_tol_ * p.norm2[i])) return false;
  h_[m] = total[0];
  f_.row(m) = total.segment(1, c).transpose();
  U_.col(m).setZero();
  U_.row(m).setZero();
  if (m > 0) U_.col(m).head(m) = -coef.row(by_k).transpose();  // [OROLS 20]
  U_(m, m) = 1.0;
  residual_norm2_ = (residual_norm2_ - f_.row(m).transpose().cwiseAbs2() / h_[m]).cwiseMax(0.0);
  ++size_;
  pending_ = true;
  corrected_ = total[0] > kOnceIsEnough * p.norm2[i];
  if (ahead == nullptr) return true;
  const Eigen::Map<const Matrix> inner(total.data() + own, m, fresh), of(total.data() + own + m * fresh, per, r);
  if (m > 0 && !corrected_) correct(inner.col(0));
  Projection& out = ahead->p;
  out.s.conservativeResize(m + 1, r);
  out.s.topRightCorner(m, r - known) = inner.rightCols(r - known);
  out.s.row(m) = of.row(0);
  out.norm2 = of.row(1).transpose();
  out.f = of.bottomRows(c).transpose();
  complete(out);
  ahead->known = r;
  return true;
}

bool OrthogonalBasis::append(const ConstVectorRef& k) {
  Projection p;
  Matrix none;
  project(k, p);
  return append(k, p, 0, Matrix(size_, 0), none);
}

void OrthogonalBasis::settle() {
  if (!pending_) return;
  if (!corrected_) {  // its inner products, from a read
    Projection p;
    const Vector nothing = Vector::Zero(padded_rows());
    project(nothing, p);
  }
  const Index last = size_ - 1;
  const Eigen::RowVectorXd share = f_.row(last) / h_[last];
  over_blocks(size_ * rows_, [&](Index, Index first, Index end) {
    for (Index b = first; b < end; ++b) {
      Eigen::Map<Vector> q(at(last, b), kRows);
      for (Index j = 0; j < correction_.size(); ++j) q -= correction_[j] * Eigen::Map<const Vector>(at(j, b), kRows);
      for (Index o = 0; o < n_targets(); ++o) block(residual_.col(o), b) -= share[o] * q;
    }
  });
  residual_norm2_ = residual_.colwise().squaredNorm();
  finish();
}

// The pending column has been corrected, and R0 has lost its share.
void OrthogonalBasis::finish() {
  pending_ = corrected_ = false;
  correction_.resize(0);
}

void OrthogonalBasis::pop() {
  settle();
  Vector q(padded_rows());
  column(--size_, q);
  residual_.noalias() += q * (f_.row(size_) / h_[size_]);
  residual_norm2_ = residual_.colwise().squaredNorm();
}

// A further column, orthogonal and final, of squared norm h; U is the caller's.
void OrthogonalBasis::keep(const ConstVectorRef& q, double h) {
  reserve_column();
  for (Index b = 0; b < n_blocks_; ++b) Eigen::Map<Vector>(at(size_, b), kRows) = block(q, b);
  h_[size_] = h;
  f_.row(size_) = q.transpose() * residual_;
  residual_.noalias() -= q * (f_.row(size_) / h);
  residual_norm2_ = residual_.colwise().squaredNorm();
  ++size_;
}

void OrthogonalBasis::append_orthogonal(const ConstVectorRef& q, const ConstVectorRef& u) {
  settle();
  keep(q, q.squaredNorm());
  const Index last = size_ - 1;
  U_.row(last).setZero();
  U_.col(last).head(last) = u;
  U_(last, last) = 1.0;
}

void OrthogonalBasis::restore(const ConstMatrixRef& Q, const ConstVectorRef& h, const ConstMatrixRef& U) {
  Vector q = Vector::Zero(padded_rows());
  for (Index j = 0; j < Q.cols(); ++j) {
    q.head(rows_) = Q.col(j);
    keep(q, h[j]);
  }
  U_.topLeftCorner(size_, size_) = U;
}

void OrthogonalBasis::row_squares(const ConstVectorRef& w, Vector& out) const {
  out.setZero(padded_rows());
  over_blocks(size_ * rows_, [&](Index, Index first, Index end) {
    for (Index b = first; b < end; ++b) {
      auto sums = out.segment(b * kRows, kRows);
      for (Index j = 0; j < size_; ++j) sums += w[j] * Eigen::Map<const Vector>(at(j, b), kRows).cwiseAbs2();
    }
  });
}

void OrthogonalBasis::column(Index j, Eigen::Ref<Vector> out) const {
  for (Index b = 0; b < n_blocks_; ++b) block(out, b) = Eigen::Map<const Vector>(at(j, b), kRows);
}

Matrix OrthogonalBasis::pseudoinverse() {
  settle();
  // [OROLS 18] K = QU, so K^+ = U^-1 H^-1 Q': what [OROLS 17] keeps current at O(M m) a column and at the price of
  // its accuracy (MATH 8.4) is available.
  Matrix Qt(size_, padded_rows());
  Vector q(padded_rows());
  for (Index j = 0; j < size_; ++j) {
    column(j, q);
    Qt.row(j) = q.transpose() / h_[j];  // [OROLS 17]
  }
  U().triangularView<Eigen::UnitUpper>().solveInPlace(Qt);  // [OROLS 18]
  return Qt.leftCols(rows_);
}

}  // namespace kernsift
