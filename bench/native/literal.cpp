// The papers' algorithm as they write it, row by row, on the parts of the core: explicit K^-1 and P^-1, and at the cap
// every admitted row grows the model before the least useful kernel leaves.
//   literal FILE N D GAMMA ALPHA TOL1 TOL2 CAP   prints CPU seconds, kernels and the prediction at the first row
#include <limits>

#include "core/admission.hpp"
#include "core/dictionary.hpp"
#include "core/inverse_state.hpp"
#include "rows.hpp"

using namespace kernsift;

int main(int, char** argv) {
  const Samples s = read_samples(argv[1], std::atol(argv[2]), std::atol(argv[3]));
  const double gamma = std::atof(argv[4]), alpha = std::atof(argv[5]);
  const Admission admission{Rule::product, std::atof(argv[6]), std::atof(argv[7])};
  const Index cap = std::atol(argv[8]);
  const Eigen::Map<const RowMatrix> X(s.x.data(), s.n, s.d);

  const double begin = cpu_seconds();
  Dictionary dictionary(
      Kernel(KernelKind::rbf, Vector::Constant(s.d, gamma), 3, 1.0, X.row(0).transpose()));
  InverseState state(alpha, 1, false);
  TargetMoments moments(1);
  PreparedRows row;
  Vector k(8), scores(cap + 1);
  for (Index t = 0; t < s.n; ++t) {
    dictionary.kernel().prepare(X.middleRows(t, 1), row);
    if (k.size() < dictionary.padded()) k.resize(2 * dictionary.padded());
    dictionary.block(row, 0, 1, Eigen::Map<Matrix>(k.data(), dictionary.padded(), 1));
    const Look look = state.look(k.head(dictionary.size()), 1.0, &s.y[t], 1.0);
    moments.add(&s.y[t], 1.0);
    const Outcome outcome =
        admission.judge(look.delta, 1.0, look.usefulness, static_cast<double>(t + 1), moments.variance());
    if (outcome != Outcome::admitted) {
      state.normal(look);
      continue;
    }
    state.grow(look);
    dictionary.append(X.row(t).data(), row, 0, t);
    if (dictionary.size() > cap) {
      state.scores(scores);
      const Index victim = weakest(scores, std::numeric_limits<double>::infinity());
      state.remove(victim);
      dictionary.remove(victim);
    }
  }
  const double seconds = cpu_seconds() - begin;
  dictionary.kernel().prepare(X.topRows(1), row);
  dictionary.block(row, 0, 1, Eigen::Map<Matrix>(k.data(), dictionary.padded(), 1));
  Vector f(1);
  state.predict(k.head(dictionary.size()), f);
  std::printf("%.6f %ld %.17g\n", seconds, static_cast<long>(dictionary.size()), f[0]);
}
