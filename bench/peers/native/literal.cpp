// The papers' algorithm as one writes it with a matrix library, row by row: K^-1 and P^-1 kept whole, every row a
// product with each; at the cap an admitted row grows both before the least useful kernel leaves both, its place taken
// by the newest. A row that would be that kernel itself is found out first, in O(m), and learned without growing. Of
// kernels that tie the oldest goes. It shares nothing with the core.
//   literal FILE N D GAMMA ALPHA TOL1 TOL2 CAP   prints CPU seconds, kernels and the prediction at the first row
#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "rows.hpp"

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// A symmetric inverse of a matrix that gains and loses rows and columns; both triangles are stored and written.
class Inverse {
 public:
  explicit Inverse(Index most) : storage_(most, most) {}
  auto now() { return storage_.topLeftCorner(size_, size_); }
  auto now() const { return storage_.topLeftCorner(size_, size_); }

  // Bordered inverse: w is the inverse times the new column, `pivot` the Schur complement.
  void border(const VectorXd& w, double pivot) {
    now().noalias() += (w / pivot) * w.transpose();
    storage_.col(size_).head(size_) = -w / pivot;
    storage_.row(size_).head(size_) = -w.transpose() / pivot;
    storage_(size_, size_) = 1.0 / pivot;
    ++size_;
  }

  // Element i goes; the last takes its place.
  void strike(Index i) {
    const VectorXd u = now().col(i);
    now().noalias() -= (u / u[i]) * u.transpose();
    const Index last = --size_;
    if (i == last) return;
    storage_.col(i).head(last) = storage_.col(last).head(last).eval();
    storage_(i, i) = storage_(last, last);
    storage_.row(i).head(last) = storage_.col(i).head(last).transpose();
  }

 private:
  MatrixXd storage_;
  Index size_ = 0;
};

}  // namespace

int main(int, char** argv) {
  const Samples s = read_samples(argv[1], std::atol(argv[2]), std::atol(argv[3]));
  const double gamma = std::atof(argv[4]), alpha = std::atof(argv[5]);
  const double novelty_tol = std::atof(argv[6]), usefulness_tol = std::atof(argv[7]);
  const Index cap = std::atol(argv[8]);
  const Eigen::Map<const MatrixXd> X(s.x.data(), s.d, s.n);  // a row of the file is a column

  const double begin = cpu_seconds();
  MatrixXd basis(s.d, cap + 1);
  Inverse K(cap + 1), P(cap + 1);
  VectorXd beta(cap + 1), norms(cap + 1), k, a, g, scores;
  std::vector<Index> born(cap + 1);
  Index m = 0;
  double mean = 0, squares = 0;
  const auto kernel = [&](Index t) {
    k.noalias() = 2.0 * basis.leftCols(m).transpose() * X.col(t);
    k = (gamma * (k.array() - norms.head(m).array() - X.col(t).squaredNorm())).exp();
  };
  for (Index t = 0; t < s.n; ++t) {
    kernel(t);
    a.noalias() = K.now() * k;
    g.noalias() = P.now() * k;
    const double delta = 1.0 - k.dot(a), Delta = 1.0 + k.dot(g), rho = s.y[t] - k.dot(beta.head(m));
    const double before = s.y[t] - mean;
    mean += before / static_cast<double>(t + 1);
    squares += before * (s.y[t] - mean);

    const double usefulness = delta * rho * rho / (Delta * (delta + alpha * Delta));
    bool grows = delta > novelty_tol && delta * usefulness > usefulness_tol * squares / static_cast<double>(t + 1);
    const double kappa = rho / (delta + alpha * Delta), pivot = delta * (delta / Delta + alpha);
    if (grows && m == cap) {  // the scores as they would be after growth, that of the newcomer its usefulness
      const auto border = a + (delta / Delta) * g;
      scores = (beta.head(m) + kappa * (alpha * g - a)).array().square() /
               (P.now().diagonal().array() - g.array().square() / Delta + border.array().square() / pivot);
      grows = scores.minCoeff() <= usefulness * (1 + 1e-9);
    }
    P.now().noalias() -= (g / Delta) * g.transpose();
    if (!grows) {
      beta.head(m) += (rho / Delta) * g;
      continue;
    }
    beta.head(m) += kappa * (alpha * g - a);
    beta[m] = kappa;
    P.border(a + (delta / Delta) * g, pivot);
    K.border(a, delta);
    born[m] = t;
    norms[m] = X.col(t).squaredNorm();
    basis.col(m++) = X.col(t);
    if (m <= cap) continue;

    scores = beta.head(m).array().square() / P.now().diagonal().array();
    const double lowest = scores.minCoeff() * (1 + 1e-9);
    Index victim = cap;
    for (Index i = 0; i < m; ++i)
      if (scores[i] <= lowest && born[i] < born[victim]) victim = i;
    const VectorXd u = P.now().col(victim);
    beta.head(m) -= (beta[victim] / u[victim]) * u;
    P.strike(victim);
    K.strike(victim);
    --m;
    beta[victim] = beta[m];
    born[victim] = born[m];
    norms[victim] = norms[m];
    basis.col(victim) = basis.col(m);
  }
  const double seconds = cpu_seconds() - begin;
  kernel(0);
  std::printf("%.6f %ld %.17g\n", seconds, static_cast<long>(m), k.dot(beta.head(m)));
}
