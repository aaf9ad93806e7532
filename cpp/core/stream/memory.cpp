#include "core/stream/memory.hpp"

#include <algorithm>

namespace kernsift {

void Memory::learn_run(const KernelSpan& span, const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v,
                       const ConstVectorRef& delta, RowsOut apriori, unsigned char* sound) {
  constexpr Index kShortRun = 4;  // a run shorter than this is learned row by row
  const Index n = W.cols();
  if (n >= kShortRun && posterior.learn_run(W, Y, v, apriori)) return scores.run(span, posterior, n);
  for (Index r = 0; r < n; ++r) {
    scores.begin_row();
    row = posterior.look(W.col(r), std::max(0.0, delta[r]), Y.row(r).data(), v[r]);
    apriori.row(r) = Y.row(r) - posterior.residual().transpose();
    if (row.sound())
      normal(span, W.col(r));
    else
      sound[r] = 0;
    fade();
  }
}

}  // namespace kernsift
