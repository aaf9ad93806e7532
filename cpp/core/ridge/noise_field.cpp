#include "core/ridge/noise_field.hpp"

#include <cmath>
#include <limits>

#include "core/base/multiply.hpp"
#include "core/base/products.hpp"
#include "core/ridge/leave_one_out.hpp"
#include "core/ridge/ridge_problem.hpp"

namespace kernsift {

NoiseField noise_field(const Rows& W, const Rows& L, const Rows& predictions, const Rows& scores,
                       const ConstVectorRef& weights) {
  // copies: sums over memory of another's alignment would be rounded in another order
  const Vector weight = weights;
  const Matrix f = predictions;
  const Index n = W.rows(), m = W.cols(), outputs = scores.cols(), all = m + f.cols();
  const double total = weight.sum();
  const Matrix squares = scores.cwiseAbs2();
  const Vector mean = (weight.transpose() * squares).transpose() / total;
  Matrix t(n, outputs);
  for (Index o = 0; o < outputs; ++o) t.col(o) = squares.col(o).cwiseMax(kLeastSquare * mean[o]).array().log();

  Matrix Z(all, n);
  Z.topRows(m) = W.transpose();
  Vector middle(f.cols()), unit(f.cols());
  for (Index k = 0; k < f.cols(); ++k) {
    middle[k] = weight.dot(f.col(k)) / total;
    const Vector from = f.col(k).array() - middle[k];
    const double sd = std::sqrt(weight.dot(from.cwiseAbs2()) / total);
    unit[k] = sd > 0 ? 1.0 / sd : 0.0;
    Z.row(m + k) = unit[k] * from.transpose();
  }
  const Matrix weighted = Z * weight.asDiagonal();
  Matrix M(all, all);
  M.triangularView<Eigen::Lower>() = weighted * Z.transpose();
  const Matrix z = product(weighted, t);
  const Vector s = Z * weight, y = t.transpose() * weight, yy = t.cwiseAbs2().transpose() * weight;
  const Vector none = Vector::Zero(outputs);
  const double precision = std::numeric_limits<double>::epsilon() * static_cast<double>(all);
  RidgeProblem problem({M, z, s, y, yy, none, total, static_cast<double>(n), precision}, true, 1);

  NoiseField out;
  out.alpha = problem.best_gcv();
  Matrix U, along;
  double alpha = out.alpha;
  for (int round = 0;; ++round) {
    U = Z;
    problem.standardise(alpha, U);
    out.intercept = t.transpose() * weight / total;
    along = product(U, Matrix(weight.asDiagonal() * (t.rowwise() - out.intercept.transpose())));
    out.level = product(U.transpose(), along).rowwise() + out.intercept.transpose();
    if (round == kNoiseRounds) break;
    if (round == 0) {
      out.level.array() += kLogSquare;
      alpha *= kLessNoise;
    }
    t = out.level.array() + (squares.array() * (-out.level.array()).exp()).min(kMostSquares) - 1.0;  // [MATH 6.4]
  }
  const Vector h = U.colwise().squaredNorm().transpose().array() + problem.bias_leverage();
  const Vector slack = (1.0 - weight.array().min(1.0) * h.array()).max(kLeastSlack);
  out.left_out = t - ((t - out.level).array().colwise() / slack.array()).matrix();  // [MATH LOO]
  along.array().colwise() /= (problem.values().array() + alpha).sqrt();
  const Matrix theta = product(problem.vectors(), along);
  out.intercept -= theta.transpose() * problem.mean();
  out.coef = theta.topRows(m);
  L.transpose().triangularView<Eigen::Upper>().solveInPlace(out.coef);
  out.slopes = unit.asDiagonal() * theta.bottomRows(f.cols());
  out.intercept -= out.slopes.transpose() * middle;
  return out;
}

double noise_field_memory(Index m, Index rows, Index outputs) {
  return 2.0 * rows * m + 6.0 * rows * outputs + RidgeProblem::memory_needed(m, outputs, true, 0) + 2.0 * m * m;
}

}  // namespace kernsift
