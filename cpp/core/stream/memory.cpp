#include "core/stream/memory.hpp"

#include <algorithm>

namespace kernsift {

void Foretold::reserve(Index rows, Index n_outputs) {
  if (mean.rows() >= rows) return;
  mean.resize(grown_capacity(mean.rows(), rows), n_outputs);
  cost.resize(mean.rows(), n_outputs);
  Delta.resize(mean.rows());
}

void Memory::learn_run(const KernelSpan& span, const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v,
                       const ConstVectorRef& delta, Foretold& foretold, unsigned char* sound) {
  constexpr Index kShortRun = 4;  // a run shorter than this is learned row by row
  const Index n = W.cols();
  foretold.reserve(n, Y.cols());
  if (n >= kShortRun && posterior.learn_run(W, Y, v, foretold.mean.topRows(n))) {
    foretold.cost.topRows(n) = posterior.run_costs(n);
    foretold.Delta.head(n) = posterior.run_deltas(n);
    return scores.run(span, posterior, n);
  }
  for (Index r = 0; r < n; ++r) {
    scores.begin_row();
    row = posterior.look(W.col(r), std::max(0.0, delta[r]), Y.row(r).data(), v[r]);
    foretold.mean.row(r) = Y.row(r) - posterior.residual().transpose();
    foretold.cost.row(r) = posterior.cost().transpose();
    foretold.Delta[r] = row.Delta;
    if (row.sound())
      normal(span, W.col(r));
    else
      sound[r] = 0;
    fade();
  }
}

}  // namespace kernsift
