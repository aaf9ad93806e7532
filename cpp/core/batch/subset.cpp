#include "core/batch/subset.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/interrupt.hpp"
#include "core/base/limits.hpp"
#include "core/base/parallel.hpp"
#include "core/linalg/blocked_triangles.hpp"

namespace kernsift {

namespace {

constexpr Index kTile = 256;
constexpr Index kInverseBlock = 64;

// L <- L^-1, in place, by halves: all but small triangles are matrix products.
void invert_lower(MatrixRef L) {
  const Index n = L.rows(), h = round_up(n / 2, kPanel), rest = n - h;
  if (n <= kInverseBlock) {
    Matrix X = Matrix::Identity(n, n);
    L.triangularView<Eigen::Lower>().solveInPlace(X);
    L.triangularView<Eigen::Lower>() = X;
    return;
  }
  invert_lower(L.topLeftCorner(h, h));
  invert_lower(L.bottomRightCorner(rest, rest));
  auto below = L.bottomLeftCorner(rest, h);
  const Matrix half = L.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>() * below;
  below.noalias() = half * L.topLeftCorner(h, h).triangularView<Eigen::Lower>();
  below *= -1.0;
}

// Threads share parts of the rows where the sums are small enough for each to have its own, else every tile. Which of
// the two, and the parts, follow from the sizes alone: the same bits for any number of threads.
constexpr Index kLarge = 1024;
constexpr Index kRowsOfPart = 4096, kRowsOfTask = 128;

// Tile after tile. A task, which no one may stop, has one thread.
void add_rows(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, const Rows& Y,
              const ConstVectorRef& weight, const ConstVectorRef& offset, int threads, bool task, NormalSums& sums) {
  const Index m = elements.size(), c = Y.cols();
  Matrix K(elements.padded(), kTile), targets(kTile, c + 1), products = Matrix::Zero(m, c + 1);
  for (Index first = 0; first < X.rows(); first += kTile) {
    if (!task) check_interrupt();
    const Index count = std::min(kTile, X.rows() - first);
    const auto v = weight.segment(first, count);
    const bool weighted = (v.array() != 1.0).any();
    const Vector root = v.cwiseSqrt();
    parallel_for((count + kRowsOfTask - 1) / kRowsOfTask, threads, [&](Index part) {
      const Index begin = part * kRowsOfTask, n = std::min(kRowsOfTask, count - begin);
      PreparedRows rows;
      kernel.prepare(X.middleRows(first + begin, n), rows);
      kernel.block(elements, rows, 0, n, K.middleCols(begin, n));
      auto W = K.block(0, begin, m, n);
      if (L.rows() > 0) L.triangularView<Eigen::Lower>().solveInPlace(W);
      if (weighted) W.array().rowwise() *= root.segment(begin, n).transpose().array();
    });
    const auto W = K.topLeftCorner(m, count);
    auto t = targets.topRows(count);
    t.col(c).setOnes();
    t.leftCols(c) = Y.middleRows(first, count).rowwise() - offset.transpose();
    sums.y.noalias() += t.leftCols(c).transpose() * v;
    sums.yy.noalias() += t.leftCols(c).cwiseAbs2().transpose() * v;
    sums.weight += v.sum();
    if (weighted) t.array().colwise() *= root.array();
    products.noalias() += W * t;
    add_outer(W, 1.0, threads, sums.M);  // [MATH 1.11]
  }
  sums.z += products.leftCols(c);  // [MATH 1.11]
  sums.s += products.col(c);       // [MATH 1.11]
}

}  // namespace

NormalSums::NormalSums(MatrixRef where, Index outputs)
    : M(where),
      z(Matrix::Zero(M.rows(), outputs)),
      s(Vector::Zero(M.rows())),
      y(Vector::Zero(outputs)),
      yy(Vector::Zero(outputs)) {
  M.triangularView<Eigen::Lower>().setZero();
}

void NormalSums::add(const NormalSums& other) {
  M.triangularView<Eigen::Lower>() += other.M;
  z += other.z;
  s += other.s;
  y += other.y;
  yy += other.yy;
  weight += other.weight;
}

void accumulate(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, const Rows& Y,
                const ConstVectorRef& weight, const ConstVectorRef& offset, int threads, NormalSums& sums) {
  const Index m = elements.size(), n = X.rows();
  if (m >= kLarge || n <= kRowsOfPart) return add_rows(kernel, elements, L, X, Y, weight, offset, threads, false, sums);
  const Index together = std::min<Index>(threads, (n + kRowsOfPart - 1) / kRowsOfPart);
  std::vector<Matrix> squares(together, Matrix(m, m));
  for (Index first = 0; first < n; first += together * kRowsOfPart) {
    check_interrupt();
    const Index parts = std::min(together, (n - first + kRowsOfPart - 1) / kRowsOfPart);
    std::vector<NormalSums> found;
    for (Index i = 0; i < parts; ++i) found.emplace_back(squares[i], Y.cols());
    parallel_for(parts, threads, [&](Index i) {
      const Index begin = first + i * kRowsOfPart, count = std::min(kRowsOfPart, n - begin);
      add_rows(kernel, elements, L, X.middleRows(begin, count), Y.middleRows(begin, count),
               weight.segment(begin, count), offset, 1, true, found[i]);
    });
    for (const NormalSums& part : found) sums.add(part);
  }
}

void whiten(const Rows& L, int threads, NormalSums& sums) {
  const auto factor = L.triangularView<Eigen::Lower>();
  congruence(L, threads, sums.M);
  factor.solveInPlace(sums.z);
  factor.solveInPlace(sums.s);
}

double whitening_growth(const Rows& L) {
  // Power iterations for the largest eigenvalues of K and of K^-1; twenty give them within a factor of two.
  const auto factor = L.triangularView<Eigen::Lower>();
  const auto largest = [&](auto&& apply) {
    Vector x = Vector::Ones(L.rows());
    for (Index i = 0; i < x.size(); ++i) x[i] += static_cast<double>(i * 7 % 11) / 11.0 * (i % 2 ? -1 : 1);
    double norm = 0;
    for (int i = 0; i < 20; ++i) {
      x /= x.norm();
      apply(x);
      norm = x.norm();
    }
    return norm;
  };
  Vector t;
  const double top = largest([&](Vector& x) {
    t.noalias() = factor.transpose() * x;
    x.noalias() = factor * t;
  });
  return top * largest([&](Vector& x) {
           factor.solveInPlace(x);
           factor.transpose().solveInPlace(x);
         });
}

Spectrum spectrum(const ConstMatrixRef& M, const ConstMatrixRef& z) {
  Eigen::SelfAdjointEigenSolver<Matrix> solver(M);
  return {solver.eigenvalues().cwiseMax(0.0), solver.eigenvectors(), solver.eigenvectors().transpose() * z};
}

bool factor_ridge(MatrixRef A, const ConstVectorRef& s, double weight, double alpha, int threads) {
  if (weight > 0) A.selfadjointView<Eigen::Lower>().rankUpdate(s, -1.0 / weight);
  A.diagonal().array() += alpha;
  return cholesky(A, threads);
}

namespace {

// Walks the rows in tiles with the coordinates u in which the ridge is diagonal.
template <class Take>
void diagonal_tiles(const LeaveOneOut& loo, const Kernel& kernel, const Panels& elements, const Rows& X, Take&& take) {
  const Index m = elements.size();
  Matrix K(elements.padded(), kTile), U(loo.T.rows(), kTile);
  PreparedRows rows;
  for (Index first = 0; first < X.rows(); first += kTile) {
    check_interrupt();
    const Index count = std::min(kTile, X.rows() - first);
    kernel.prepare(X.middleRows(first, count), rows);
    kernel.block(elements, rows, 0, count, K);
    auto u = U.leftCols(count);
    u.noalias() = loo.T * K.topLeftCorner(m, count);
    u.colwise() -= loo.shift;
    take(first, count, u);
  }
}

// The part of a row that leaves, times its leverage; kept off 1, where the row alone carries a direction.
double left_out(double v, double leverage) { return std::min(std::min(v, 1.0) * leverage, 1.0 - 1e-12); }

}  // namespace

Vector LeaveOneOut::errors(const Kernel& kernel, const Panels& elements, const Rows& X, const Rows& Y,
                           const ConstVectorRef& weight, const ConstVectorRef& alphas) const {
  const Index a = alphas.size(), c = Y.cols();
  Matrix shrink(values.size(), a), theta(values.size(), a * c);
  for (Index i = 0; i < a; ++i) {
    shrink.col(i) = (values.array() + alphas[i]).inverse();
    theta.middleCols(i * c, c) = shrink.col(i).asDiagonal() * projected;
  }
  Vector sums = Vector::Zero(a);
  Matrix leverage, fit;
  diagonal_tiles(*this, kernel, elements, X, [&](Index first, Index count, const auto& u) {
    leverage.noalias() = u.cwiseAbs2().transpose() * shrink;
    fit.noalias() = u.transpose() * theta;
    for (Index i = 0; i < a; ++i)
      for (Index r = 0; r < count; ++r) {
        const double v = weight[first + r], h = left_out(v, bias_leverage + leverage(r, i));
        double e2 = 0;
        for (Index o = 0; o < c; ++o) e2 += std::pow(Y(first + r, o) - mean_y[o] - fit(r, i * c + o), 2);
        sums[i] += v * e2 / ((1 - h) * (1 - h));  // [MATH LOO]
      }
  });
  return sums;
}

void basis_coordinates(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, RowsOut out) {
  const Index m = elements.size();
  Matrix K(elements.padded(), kTile);
  PreparedRows rows;
  for (Index first = 0; first < X.rows(); first += kTile) {
    check_interrupt();
    const Index count = std::min(kTile, X.rows() - first);
    kernel.prepare(X.middleRows(first, count), rows);
    kernel.block(elements, rows, 0, count, K);
    auto W = K.topLeftCorner(m, count);
    L.triangularView<Eigen::Lower>().solveInPlace(W);
    out.middleRows(first, count) = W.transpose();
  }
}

std::vector<Index> deletion_order(MatrixRef G, MatrixRef K, Matrix z, double alpha, Index target, double fraction) {
  Index n = G.rows();
  std::vector<Index> alive(n), order;
  std::iota(alive.begin(), alive.end(), Index{0});
  Matrix P;
  Vector scores(n), inverse_diagonal(n);
  while (n > target) {
    check_interrupt();
    // P in units of its diagonal; a little more ridge where the elements are too alike for the factorisation.
    Matrix beta = z.topRows(n);
    Vector unit(n);
    for (double more = 0;; more = more == 0 ? 1e-14 : 10 * more) {
      P = (G.topLeftCorner(n, n) + alpha * K.topLeftCorner(n, n)).triangularView<Eigen::Lower>();
      for (Index i = 0; i < n; ++i) unit[i] = P(i, i) > 0 ? 1.0 / std::sqrt(P(i, i)) : 1.0;
      for (Index j = 0; j < n; ++j) P.col(j).tail(n - j).array() *= unit[j] * unit.tail(n - j).array();
      P.diagonal().array() += more;
      Eigen::LLT<Eigen::Ref<Matrix>> factor(P);  // in place
      if (factor.info() == Eigen::Success || more > 1) break;
    }
    beta = unit.asDiagonal() * beta;
    P.triangularView<Eigen::Lower>().solveInPlace(beta);
    P.triangularView<Eigen::Lower>().transpose().solveInPlace(beta);
    invert_lower(P);
    for (Index i = 0; i < n; ++i) inverse_diagonal[i] = P.col(i).tail(n - i).squaredNorm();
    for (Index i = 0; i < n; ++i) scores[i] = beta.row(i).squaredNorm() / inverse_diagonal[i];  // [BEYOND B4]

    const Index go = std::min(n - target, std::max<Index>(1, static_cast<Index>(std::ceil(fraction * n))));
    std::vector<Index> rank(n);
    std::iota(rank.begin(), rank.end(), Index{0});
    std::stable_sort(rank.begin(), rank.end(), [&](Index a, Index b) { return scores[a] < scores[b]; });
    for (Index first = 0, end = 0; first < n; first = end) {  // of equal scores the first element
      const double tied = scores[rank[first]] * (1.0 + kTie);
      for (end = first + 1; end < n && scores[rank[end]] <= tied;) ++end;
      std::sort(rank.begin() + first, rank.begin() + end);
    }
    std::vector<char> gone(n, 0);
    for (Index i = 0; i < go; ++i) gone[rank[i]] = 1, order.push_back(alive[rank[i]]);

    std::vector<Index> keep;
    for (Index i = 0; i < n; ++i)
      if (!gone[i]) keep.push_back(i);
    const Index left = n - go;
    for (Index j = 0; j < left; ++j) {
      for (Index i = j; i < left; ++i) {
        G(i, j) = G(keep[i], keep[j]);
        K(i, j) = K(keep[i], keep[j]);
      }
      alive[j] = alive[keep[j]];
      for (Index o = 0; o < z.cols(); ++o) z(j, o) = z(keep[j], o);
    }
    n = left;
  }
  order.insert(order.end(), alive.begin(), alive.begin() + n);
  return order;
}

}  // namespace kernsift
