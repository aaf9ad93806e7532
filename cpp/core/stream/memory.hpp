// One of the memories of a stream: what its rows say to a model that forgets at its own rate. All of them live on one
// basis, which each follows by its own numbers.
#pragma once

#include "core/stream/learned_rows.hpp"
#include "core/stream/posterior.hpp"
#include "core/stream/pruning_scores.hpp"

namespace kernsift {

struct Memory {
  Memory(double alpha, Index n_outputs, bool bias, Index leading, double factor)
      : posterior(alpha, n_outputs, bias, leading, factor), scores(n_outputs), learned(n_outputs, factor) {}

  void normal(const KernelSpan& span, const ConstVectorRef& w) {
    posterior.normal(w, row);
    scores.normal(span, posterior, row);
  }
  void grow(const KernelSpan& span, const ConstVectorRef& w) {
    scores.grow(span, posterior, w, row);
    posterior.grow(w, row);
  }
  // The step that follows each row.
  void fade() {
    posterior.fade();
    scores.fade(posterior);
  }
  // A run of rows that stay outside, at distances delta; `sound` gets 0 where a row was refused. Rows that cannot be
  // learned together are learned one by one.
  void learn_run(const KernelSpan& span, const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v,
                 const ConstVectorRef& delta, RowsOut apriori, unsigned char* sound);

  // Maximum likelihood from the cost of one output.
  double noise_variance(Index output) const { return posterior.cost()[output] / std::max(effective_rows(), 1.0); }
  // The flat prior of the bias takes one of the rows.
  double effective_rows() const { return learned.counted - (posterior.has_bias() ? 1.0 : 0.0); }

  Posterior posterior;
  PruningScores scores;
  LearnedRows learned;
  RowScalars row{};  // of the last `look`
};

}  // namespace kernsift
