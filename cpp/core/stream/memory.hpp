// One of the memories of a stream: what its rows say to a model that forgets at its own rate. All of them live on one
// basis, which each follows by its own numbers.
#pragma once

#include "core/stream/learned_rows.hpp"
#include "core/stream/posterior.hpp"
#include "core/stream/pruning_scores.hpp"

namespace kernsift {

// What a memory said of rows before it learned them.
struct Foretold {
  RowMatrix mean;  // rows x outputs
  RowMatrix cost;  // the cost then
  Vector Delta;    // 1/v + w'Cw
  void reserve(Index rows, Index n_outputs);
};

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
                 const ConstVectorRef& delta, Foretold& foretold, unsigned char* sound);

  // Maximum likelihood from the cost of one output.
  double noise_variance(Index output) const { return posterior.cost()[output] / std::max(effective_rows(), 1.0); }
  // The flat prior of the bias takes one of the rows.
  double effective_rows() const { return counted(learned.counted); }
  // The same before the next row of a run, all of which `learned` has counted.
  double rows_so_far() const { return counted(counted_so_far); }
  void count_row_of_run() { counted_so_far = learned.memory * counted_so_far + 1.0; }

  double counted(double rows) const { return rows - (posterior.has_bias() ? 1.0 : 0.0); }

  Posterior posterior;
  PruningScores scores;
  LearnedRows learned;
  RowScalars row{};         // of the last `look`
  double counted_so_far{};  // before the next row of a run
};

}  // namespace kernsift
