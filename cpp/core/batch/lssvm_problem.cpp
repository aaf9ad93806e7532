#include "core/batch/lssvm_problem.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>

#include "core/batch/sls_path.hpp"
#include "core/kernel/gram.hpp"

namespace kernsift {

namespace {

void need(bool solved, double alpha, Index n) {
  if (solved) return;
  std::ostringstream words;
  words << "alpha=" << alpha << " is too small for these " << n
        << " rows: the system is singular to working precision; raise alpha, or let alpha='loo' choose it";
  throw std::invalid_argument(words.str());
}

// Coefficients of all models of a path that starts from n kernels, as they grow and as they are given back.
double recorded(Index n, Index outputs, double step) {
  const double models = step < 1 ? std::floor(n / step) + n : std::floor(0.5 * n * (n + 1.0));
  return 2.0 * models * outputs;
}

}  // namespace

DenseProblem::DenseProblem(Kernel kernel, const Rows& X, const Rows& Y, const ConstVectorRef& part,
                           std::vector<Index> start, bool bias)
    : kernel_(std::move(kernel)),
      all_X_(X),
      all_Y_(Y),
      start_(std::move(start)),
      X_(gather(X, start_)),
      Y_(gather(Y, start_)),
      part_(started(part)),
      bias_(bias) {}

Vector DenseProblem::started(const ConstVectorRef& v) const {
  Vector out(start_.size());
  for (Index i = 0; i < out.size(); ++i) out[i] = v[start_[i]];
  return out;
}

DenseSolution DenseProblem::solve(const ConstVectorRef& v, double alpha) const {
  DenseSolution out;
  need(solve_dense(kernel_, X_, Y_, started(v), alpha, bias_, out), alpha, X_.rows());
  return out;
}

Matrix DenseProblem::residuals(const ConstVectorRef& v, double alpha) const {
  const DenseSolution found = solve(v, alpha);
  if (whole())
    return alpha * (found.alpha.array().colwise() / started(v).array()).matrix();  // [MATH 6.1] e = mu V^-1 alpha
  RowMatrix fitted(all_X_.rows(), Y_.cols());
  const RowMatrix coef = found.alpha;
  expand_rows(kernel_, X_, coef, found.intercept, all_X_, 1, fitted);
  return all_Y_ - fitted;
}

Vector DenseProblem::loo_grid(const ConstVectorRef& v, const ConstVectorRef& alphas) const {
  return dense_loo_grid(kernel_, X_, Y_, started(v), part_, alphas, bias_);
}

PruningPath DenseProblem::path(const ConstVectorRef& v, double alpha, const ConstVectorRef& alphas,
                               const PruningOptions& options) const {
  PruningPath out;
  const Vector w = started(v);
  need(alphas.size() > 0 ? reselected_path(kernel_, X_, Y_, w, part_, alphas, alpha, bias_, options, out)
                         : sls_path(kernel_, X_, Y_, w, part_, alpha, bias_, options, out),
       alpha, X_.rows());
  return out;
}

double DenseProblem::memory_needed(Index n, Index d, Index outputs, Index alphas) {
  // A, which becomes its factor; or, of a grid, K, which becomes its eigenvectors, two squares for the decomposition
  // (later one, of their squares), and some columns for each alpha. The rows and what is prepared of them.
  return n * ((alphas > 0 ? 3.0 : 1.0) * n + 3.0 * alphas + 4.0 * (outputs + d));
}

double DenseProblem::path_memory(Index n, Index start, Index d, Index outputs, double step) {
  return 4.0 * start * start + recorded(start, outputs, step) + n * (8.0 * outputs + d);  // K, A, its inverse twice
}

SparseProblem::SparseProblem(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& part,
                             std::vector<Index> start, bool bias, bool pivot)
    : basis_(kernel, X, std::move(start), pivot), Y_(Y), part_(part), bias_(bias) {}

SparseSolution SparseProblem::solve(const ConstVectorRef& v, double alpha) const {
  SparseSolution out;
  need(solve_sparse(basis_, Y_, v, alpha, bias_, out), alpha, Y_.rows());
  return out;
}

Vector SparseProblem::loo_grid(const ConstVectorRef& v, const ConstVectorRef& alphas) const {
  return sparse_loo_grid(basis_, Y_, v, part_, alphas, bias_);
}

PruningPath SparseProblem::path(const ConstVectorRef& v, double alpha, const ConstVectorRef&,
                                const PruningOptions& options) const {
  PruningPath out = isls_path(basis_, solve(v, alpha), v, part_, options);
  out.alpha.assign(out.sizes.size(), alpha);
  return out;
}

double SparseProblem::path_memory(Index n, Index start, Index d, Index outputs, double step) {
  const double m = static_cast<double>(start);
  // Z and the directions of all rows, a tile of kernel values and what is made of them; L, M, F and the span that takes
  // its place
  return m * (2.0 * n + 512.0 + 4.0 * m) + recorded(start, outputs, step) + n * (8.0 * outputs + d);
}

}  // namespace kernsift
