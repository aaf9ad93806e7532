#include "core/batch/subset.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "core/base/interrupt.hpp"
#include "core/base/multiply.hpp"
#include "core/base/parallel.hpp"
#include "core/linalg/blocked_triangles.hpp"
#include "core/linalg/repeated.hpp"
#include "core/ridge/joint_variance.hpp"
#include "core/ridge/leave_one_out.hpp"

namespace kernsift {

namespace {

constexpr Index kTile = 256;
// Threads share parts of the rows where the sums are small enough for each to have its own, else every tile. Which of
// the two, and the parts, follow from the sizes alone: the same bits for any number of threads.
constexpr Index kLarge = 1024;
constexpr Index kRowsOfPart = 4096, kRowsOfTask = 128;

// Products and solutions of a tile, whose buffers serve all tiles.
struct Repeated {
  Repeated(Index m, bool whitened, Index outputs, int threads)
      : square(m < kLarge ? m : 0, kTile), product(m, kTile, outputs + 1) {
    const Index parts = threads > 1 ? kTile / kRowsOfTask : 1;  // of a tile, which may go to several threads
    for (Index part = 0; whitened && part < parts; ++part) solve.emplace_back(m, kRowsOfTask);
  }

  void allocate() {
    square.allocate();
    product.allocate();
    for (auto& part : solve) part.allocate();
  }

  double numbers() const {
    double sum = square.numbers() + product.numbers();
    for (const auto& part : solve) sum += part.numbers();
    return sum;
  }

  RepeatedOuter square;
  RepeatedProduct product;
  std::deque<RepeatedSolve> solve;
};

// What a tile needs, for one thread or for all that share it.
struct Tile {
  Tile(const Panels& elements, bool whitened, Index outputs, int threads)
      : K(elements.padded(), kTile),
        targets(kTile, outputs + 1),
        products(elements.size(), outputs + 1),
        add(elements.size(), whitened, outputs, threads) {
    add.allocate();
  }

  Matrix K, targets, products;
  Repeated add;
};

// Tile after tile. A task, which no one may stop, has one thread.
void add_rows(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, const Rows& Y,
              const ConstVectorRef& weight, const ConstVectorRef& offset, int threads, bool task, Tile& tile,
              NormalSums& sums) {
  const Index m = elements.size(), c = Y.cols();
  Matrix &K = tile.K, &targets = tile.targets, &products = tile.products;
  products.setZero();
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
      if (L.rows() > 0) tile.add.solve[part % tile.add.solve.size()](L, W);
      if (weighted) W.array().rowwise() *= root.segment(begin, n).transpose().array();
    });
    const auto W = K.topLeftCorner(m, count);
    auto t = targets.topRows(count);
    t.col(c).setOnes();
    t.leftCols(c) = Y.middleRows(first, count).rowwise() - offset.transpose();
    sums.y.noalias() += t.leftCols(c).transpose() * v;
    sums.yy.noalias() += t.leftCols(c).cwiseAbs2().transpose() * v;
    sums.weight += sum_of(v);
    if (weighted) t.array().colwise() *= root.array();
    tile.add.product(W, t, products);
    if (m < kLarge) {
      tile.add.square(W, sums.M);  // [MATH 1.11]
    } else {
      add_outer(W, 1.0, threads, sums.M);
    }
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
  const bool whitened = L.rows() > 0;
  if (m >= kLarge || n <= kRowsOfPart) {
    Tile tile(elements, whitened, Y.cols(), threads);
    return add_rows(kernel, elements, L, X, Y, weight, offset, threads, false, tile, sums);
  }
  const Index together = std::min<Index>(threads, (n + kRowsOfPart - 1) / kRowsOfPart);
  std::vector<Matrix> squares(together, Matrix(m, m));
  std::deque<Tile> tiles;
  for (Index i = 0; i < together; ++i) tiles.emplace_back(elements, whitened, Y.cols(), 1);
  for (Index first = 0; first < n; first += together * kRowsOfPart) {
    check_interrupt();
    const Index parts = std::min(together, (n - first + kRowsOfPart - 1) / kRowsOfPart);
    std::vector<NormalSums> found;
    for (Index i = 0; i < parts; ++i) found.emplace_back(squares[i], Y.cols());
    parallel_for(parts, threads, [&](Index i) {
      const Index begin = first + i * kRowsOfPart, count = std::min(kRowsOfPart, n - begin);
      add_rows(kernel, elements, L, X.middleRows(begin, count), Y.middleRows(begin, count),
               weight.segment(begin, count), offset, 1, true, tiles[i], found[i]);
    });
    for (const NormalSums& part : found) sums.add(part);
  }
}

double accumulate_memory(Index m, Index n, Index d, Index outputs, int threads) {
  const double parts = m < kLarge && n > kRowsOfPart ? std::min<double>(threads, std::ceil(1.0 * n / kRowsOfPart)) : 0;
  const Repeated buffers(m, true, outputs, parts > 0 ? 1 : threads);
  // an M for each thread; for each K of a tile and its products; the vectors, what is prepared of them, z and products
  return 1.0 * m * (parts * m + 2.0 * kTile * std::max(parts, 1.0) + 4.0 * (d + outputs)) +
         std::max(parts, 1.0) * buffers.numbers();
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

namespace {

// Walks the rows in tiles with their kernel values, (m, rows of the tile).
template <class Take>
void kernel_tiles(const Kernel& kernel, const Panels& elements, const Rows& X, Take&& take) {
  Matrix K(elements.padded(), kTile);
  PreparedRows rows;
  for (Index first = 0; first < X.rows(); first += kTile) {
    check_interrupt();
    const Index count = std::min(kTile, X.rows() - first);
    kernel.prepare(X.middleRows(first, count), rows);
    kernel.block(elements, rows, 0, count, K);
    take(first, count, K.topLeftCorner(elements.size(), count), rows);
  }
}

}  // namespace

Vector left_out_errors(RidgeProblem& problem, const Kernel& kernel, const Panels& elements, const Rows& L,
                       const Rows& X, const Rows& Y, const ConstVectorRef& weight, const ConstVectorRef& alphas) {
  // u = Q'(w - mean) = (L^-T Q)'k - Q'mean
  Matrix T = problem.vectors(), u(elements.size(), kTile);
  L.transpose().triangularView<Eigen::Upper>().solveInPlace(T);
  const Vector shift = problem.vectors().transpose() * problem.mean(), leaves = weight.unaryExpr(&leaving);
  LeaveOneOutGrid grid(problem.values(), problem.projected(), alphas, problem.bias_leverage());
  kernel_tiles(kernel, elements, X, [&](Index first, Index count, const auto& K, const PreparedRows&) {
    auto tile = u.leftCols(count);
    multiply(T.transpose(), K, tile);
    tile.colwise() -= shift;
    const Matrix y = Y.middleRows(first, count).rowwise() - problem.mean_y().transpose();
    grid.add(tile, y, weight.segment(first, count), leaves.segment(first, count));
  });
  return grid.sums();
}

void leave_out(RidgeProblem& problem, const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X,
               const Rows& Y, const ConstVectorRef& leaves, const std::vector<Index>& own, double alpha, RowsOut errors,
               VectorRef variance) {
  problem.prepare(alpha);
  const Matrix f = problem.standardised(alpha);
  Matrix C(elements.size(), kTile);
  kernel_tiles(kernel, elements, X, [&](Index first, Index count, auto&& U, const PreparedRows& rows) {
    L.triangularView<Eigen::Lower>().solveInPlace(U);
    Vector delta = -U.colwise().squaredNorm().transpose();
    for (Index r = 0; r < count; ++r) delta[r] += kernel.self(rows, r);
    problem.standardise(alpha, U);
    // c = L^-1 e_i is the direction of the coordinates that coefficient i moves along; without kernel i it is out of
    // reach, u loses its part along A^-1/2 c, and what the others do not span at x_i is 1/|c|^2.
    auto c = C.leftCols(count);
    c.setZero();
    for (Index r = 0; r < count; ++r)
      if (own[first + r] >= 0) c(own[first + r], r) = 1.0;
    L.triangularView<Eigen::Lower>().solveInPlace(c);
    for (Index r = 0; r < count; ++r)
      if (own[first + r] >= 0) delta[r] = 1.0 / c.col(r).squaredNorm();
    c.colwise() += problem.mean();
    problem.standardise(alpha, c);
    for (Index r = 0; r < count; ++r) {
      auto u = U.col(r);
      if (own[first + r] >= 0) u -= c.col(r) * (c.col(r).dot(u) / c.col(r).squaredNorm());
      const double h = u.squaredNorm() + problem.bias_leverage();
      const double slack = std::max(1.0 - leaves[first + r] * h, kLeastSlack);
      errors.row(first + r) =
          (Y.row(first + r) - problem.mean_y().transpose() - u.transpose() * f) / slack;  // [MATH LOO]
      variance[first + r] = h / slack + (alpha > 0 ? std::max(delta[r], 0.0) / alpha : 0.0);
    }
  });
}

void relative_variance(RidgeProblem& problem, const Kernel& kernel, const Panels& elements, const Rows& L,
                       const Rows& X, double alpha, int threads, VectorRef out) {
  problem.prepare(alpha);
  parallel_for((X.rows() + kTile - 1) / kTile, threads, [&](Index task) {
    const Index first = task * kTile, count = std::min(kTile, X.rows() - first);
    PreparedRows rows;
    kernel.prepare(X.middleRows(first, count), rows);
    Matrix K(elements.padded(), count);
    kernel.block(elements, rows, 0, count, K);
    auto W = K.topRows(elements.size());
    L.triangularView<Eigen::Lower>().solveInPlace(W);
    const Vector known = W.colwise().squaredNorm();
    problem.standardise(alpha, W);
    for (Index r = 0; r < count; ++r) {
      const double delta = std::max(kernel.self(rows, r) - known[r], 0.0);
      out[first + r] = 1.0 + W.col(r).squaredNorm() + problem.bias_leverage() + delta / alpha;  // [MATH 1.9]
    }
  });
}

Matrix relative_covariance(RidgeProblem& problem, const Kernel& kernel, const Panels& elements, const Rows& L,
                           const Rows& X, double alpha) {
  problem.prepare(alpha);
  PreparedRows rows;
  kernel.prepare(X, rows);
  Matrix K(elements.padded(), X.rows());
  kernel.block(elements, rows, 0, X.rows(), K);
  Matrix W = K.topRows(elements.size());
  L.triangularView<Eigen::Lower>().solveInPlace(W);
  Matrix U = W;
  problem.standardise(alpha, U);
  Matrix out = product(U.transpose(), U).array() + problem.bias_leverage();
  add_beyond_span(kernel, X, W, alpha, out);
  return out;
}

void basis_coordinates(const Kernel& kernel, const Panels& elements, const Rows& L, const Rows& X, RowsOut out) {
  kernel_tiles(kernel, elements, X, [&](Index first, Index count, auto&& W, const PreparedRows&) {
    L.triangularView<Eigen::Lower>().solveInPlace(W);
    out.middleRows(first, count) = W.transpose();
  });
}

double basis_coordinates_memory(Index m) { return 2.0 * kTile * m; }

}  // namespace kernsift
