#include "core/batch/sls_path.hpp"

#include <Eigen/Cholesky>
#include <limits>
#include <numeric>

#include "core/base/interrupt.hpp"
#include "core/batch/lssvm.hpp"
#include "core/kernel/gram.hpp"
#include "core/linalg/symmetric_inverse.hpp"
#include "core/ridge/leave_one_out.hpp"

namespace kernsift {

bool sls_path(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& v, const ConstVectorRef& part,
              double mu, bool bias, const PruningOptions& options, PruningPath& path) {
  const Index rows = X.rows(), outputs = Y.cols();
  const Vector s = v.cwiseSqrt();
  Matrix K;  // V^1/2 K V^1/2
  {
    PreparedRows prepared;
    kernel.prepare(X, prepared);
    gram_lower(kernel, prepared, K);
    K.conservativeResize(rows, rows);
    K.triangularView<Eigen::StrictlyUpper>() = K.transpose();
    K = s.asDiagonal() * K * s.asDiagonal();
  }
  const Matrix target = Y.array().colwise() * s.array();  // V^1/2 y

  SymmetricInverse N;
  Matrix a = target;
  Vector r = Vector::Zero(rows), b = Vector::Zero(outputs);
  {
    Matrix A = K;
    A.diagonal().array() += mu;
    const Eigen::LLT<MatrixRef, Eigen::Lower> factorisation(A);
    if (factorisation.info() != Eigen::Success) return false;
    factorisation.solveInPlace(a);
    N.assign(factorisation.solve(Matrix::Identity(rows, rows)));
    if (bias) {
      Vector u = s;
      factorisation.solveInPlace(u);
      const double su = s.dot(u);
      r = u / su;
      b = a.transpose() * s / su;
      a -= u * b.transpose();
      N.add_outer(u, -1.0 / su);
    }
  }

  std::vector<Index> kept(rows), removed;
  std::iota(kept.begin(), kept.end(), Index{0});
  std::vector<double> loo, cost, intercept;
  Vector column(rows);
  const auto record = [&] {
    const Index n = N.size();
    const auto diagonal = N.diagonal();
    // prediction errors of all rows, in V^1/2; then the kept ones' by mu a_i / (1 - part_i (1 - mu N_ii)), which for a
    // whole row is a_i / N_ii [MATH LOO]. The last row cannot be left out.
    Matrix errors = target - s * b.transpose();
    for (Index j = 0; j < n; ++j) errors.noalias() -= K.col(kept[j]) * a.row(j);
    for (Index j = 0; j < n; ++j) {
      const double slack = slack_of_part(mu * diagonal[j], part[kept[j]]);
      errors.row(kept[j]) = n > 1 ? (mu * a.row(j) / slack).eval() : Vector::Zero(outputs).transpose().eval();
    }
    loo.push_back(errors.squaredNorm() / sum_of(v));
    path.sizes.push_back(n);
    for (Index o = 0; o < outputs; ++o) {
      double fit = 0;  // min J = mu a'V^1/2 (y - b) over the kept rows
      for (Index j = 0; j < n; ++j) fit += a(j, o) * (target(kept[j], o) - b[o] * s[kept[j]]);
      cost.push_back(mu * fit);
      intercept.push_back(b[o]);
    }
    for (Index j = 0; j < n; ++j)
      for (Index o = 0; o < outputs; ++o) path.coef.push_back(s[kept[j]] * a(j, o));
  };

  record();
  while (N.size() > 1) {
    check_interrupt();
    const Index n = N.size();
    Vector scores = a.rowwise().squaredNorm();
    for (Index j = 0; j < n; ++j)  // by the fall of the optimum mu a_i^2 / N_ii, or by the coefficient
      scores[j] *= options.by_cost ? 1.0 / N(j, j) : v[kept[j]];
    for (const Index i : least_useful(scores, kept, pruning_step(options, n))) {
      const Index left = N.size();
      auto n_i = column.head(left);
      N.column(i, n_i);
      const Vector a_i = a.row(i).transpose() / n_i[i];
      const double r_i = r[i] / n_i[i];
      b -= r[i] * a_i;
      a -= n_i * a_i.transpose();
      r -= n_i * r_i;
      N.remove(i);  // [MATH 6.2]
      const Index below = left - 1 - i;
      a.middleRows(i, below) = a.bottomRows(below).eval();
      a.conservativeResize(left - 1, Eigen::NoChange);
      r.segment(i, below) = r.tail(below).eval();
      r.conservativeResize(left - 1);
      removed.push_back(kept[i]);
      kept.erase(kept.begin() + i);
    }
    record();
  }
  removed.push_back(kept.front());
  path.order.assign(removed.rbegin(), removed.rend());
  const Index records = static_cast<Index>(path.sizes.size());
  path.loo = Eigen::Map<const Vector>(loo.data(), records);
  path.cost = Eigen::Map<const RowMatrix>(cost.data(), records, outputs);
  path.intercept = Eigen::Map<const RowMatrix>(intercept.data(), records, outputs);
  path.alpha.assign(records, mu);
  return true;
}

bool reselected_path(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& v,
                     const ConstVectorRef& part, const ConstVectorRef& mus, double mu, bool bias,
                     const PruningOptions& options, PruningPath& path) {
  const Index rows = X.rows(), outputs = Y.cols();
  std::vector<Index> kept(rows), removed;
  std::iota(kept.begin(), kept.end(), Index{0});
  std::vector<double> loo, cost, intercept;
  RowMatrix fitted(rows, outputs);
  for (;;) {
    check_interrupt();
    const Index n = static_cast<Index>(kept.size());
    const RowMatrix x = gather(X, kept), y = gather(Y, kept);
    Vector w(n), p(n);
    for (Index j = 0; j < n; ++j) w[j] = v[kept[j]], p[j] = part[kept[j]];
    if (!removed.empty() && n > 2) {
      const Vector grid = dense_loo_grid(kernel, x, y, w, p, mus, bias);
      double least = std::numeric_limits<double>::infinity();
      for (Index k = 0; k < grid.size(); ++k)
        if (grid[k] < least) least = grid[k], mu = mus[k];
    }
    DenseSolution found;
    if (!solve_dense(kernel, x, y, w, mu, bias, found)) return false;
    const Vector slack = dense_slack(found.factor, w, mu, bias);
    const RowMatrix coef = found.alpha;
    expand_rows(kernel, x, coef, found.intercept, X, 1, fitted);
    Matrix errors = Y - fitted;
    for (Index j = 0; j < n && n > 1; ++j)  // the last row cannot be left out
      errors.row(kept[j]) = mu * coef.row(j) / w[j] / slack_of_part(slack[j], p[j]);
    path.sizes.push_back(n);
    path.alpha.push_back(mu);
    path.coef.insert(path.coef.end(), coef.data(), coef.data() + coef.size());
    loo.push_back(v.dot(errors.rowwise().squaredNorm()) / sum_of(v));
    for (Index o = 0; o < outputs; ++o) cost.push_back(found.cost[o]), intercept.push_back(found.intercept[o]);
    if (n == 1) break;
    Vector scores = coef.rowwise().squaredNorm();
    if (options.by_cost)
      scores.array() /= w.array() * slack.array();  // alpha_i^2 / [M^-1]_ii up to the common factor mu
    for (const Index i : least_useful(scores, kept, pruning_step(options, n))) {
      removed.push_back(kept[i]);
      kept.erase(kept.begin() + i);
    }
  }
  path.order = kept;
  path.order.insert(path.order.end(), removed.rbegin(), removed.rend());
  const Index records = static_cast<Index>(path.sizes.size());
  path.loo = Eigen::Map<const Vector>(loo.data(), records);
  path.cost = Eigen::Map<const RowMatrix>(cost.data(), records, outputs);
  path.intercept = Eigen::Map<const RowMatrix>(intercept.data(), records, outputs);
  return true;
}

}  // namespace kernsift
