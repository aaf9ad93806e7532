#include "core/batch/deletion.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/interrupt.hpp"
#include "core/base/limits.hpp"
#include "core/kernel/gram.hpp"

namespace kernsift {

namespace {

constexpr Index kInverseBlock = 64;

// L <- L^-1, in place, by halves: all but small triangles are matrix products.
void invert_lower(MatrixRef L) {
  const Index n = L.rows(), h = round_up(n / 2, kPanel), rest = n - h;
  if (n <= kInverseBlock) {
    Matrix X = Matrix::Zero(n, n);
    X.diagonal().setOnes();
    L.triangularView<Eigen::Lower>().solveInPlace(X);
    for (Index j = 0; j < n; ++j) L.col(j).tail(n - j) = X.col(j).tail(n - j);
    return;
  }
  invert_lower(L.topLeftCorner(h, h));
  invert_lower(L.bottomRightCorner(rest, rest));
  auto below = L.bottomLeftCorner(rest, h);
  const Matrix half = L.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>() * below;
  below.noalias() = half * L.topLeftCorner(h, h).triangularView<Eigen::Lower>();
  below *= -1.0;
}

}  // namespace

Deletions deletion_order(MatrixRef G, MatrixRef K, Matrix z, double alpha, Index target, double fraction) {
  Index n = G.rows();
  std::vector<Index> alive(n);
  Deletions done;
  std::iota(alive.begin(), alive.end(), Index{0});
  Matrix P;
  Vector scores(n), inverse_diagonal(n);
  while (n > target) {
    check_interrupt();
    // P in units of its diagonal; a little more ridge where the elements are too alike for the factorisation.
    Matrix beta = z.topRows(n);
    Vector unit(n);
    for (double more = 0;; more = more == 0 ? 1e-14 : 10 * more) {
      P.resize(n, n);  // of which only the lower triangle is used
      for (Index j = 0; j < n; ++j)
        P.col(j).tail(n - j) = G.col(j).segment(j, n - j) + alpha * K.col(j).segment(j, n - j);
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
    for (Index i = 0; i < go; ++i) {
      gone[rank[i]] = 1;
      done.order.push_back(alive[rank[i]]);
      done.scores.push_back(scores[rank[i]]);
    }

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
  done.order.insert(done.order.end(), alive.begin(), alive.begin() + n);
  return done;
}

Deletions deletion_order(const Kernel& kernel, const Rows& vectors, const RidgeSums& sums, bool bias, double alpha,
                         Index target, double fraction) {
  const RidgeProblem problem(sums, bias, 1);
  const Index n = vectors.rows();
  Matrix G(n, n), K;
  problem.centre(G);
  PreparedRows rows;
  kernel.prepare(vectors, rows);
  gram_lower(kernel, rows, K);
  return deletion_order(G, K.topRows(n), problem.moments(), alpha, target, fraction);
}

double deletion_memory(Index n, Index d, Index outputs) {
  const double square = 1.0 * n * n;
  // G, K, P, and half of what is below the diagonal of its inverse's half; the vectors and z
  return 3.25 * square + 3.0 * n * (d + outputs + 8);
}

}  // namespace kernsift
