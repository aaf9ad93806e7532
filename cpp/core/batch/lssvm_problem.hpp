// A batch LS-SVM as its estimators use it: one kernel, the rows of a fit, and fits for weights and a ridge. Every call
// takes the weights `v` of all rows and throws std::invalid_argument where alpha is too small for the arithmetic.
#pragma once

#include "core/batch/lssvm.hpp"
#include "core/batch/outlier_weights.hpp"
#include "core/batch/sparse_lssvm.hpp"
#include "core/select/pruning_path.hpp"

namespace kernsift {

// A kernel on every row, or on those of `start`, which are then all that is learned.
class DenseProblem {
 public:
  // part: of a row, what leaves at a time in leave-one-out. X and Y are views that outlive the problem.
  DenseProblem(Kernel kernel, const Rows& X, const Rows& Y, const ConstVectorRef& part, std::vector<Index> start,
               bool bias);

  Index rows_of_x() const { return all_X_.rows(); }
  const std::vector<Index>& rows() const { return start_; }
  DenseSolution solve(const ConstVectorRef& v, double alpha) const;
  Matrix residuals(const ConstVectorRef& v, double alpha) const;  // of all rows
  Vector loo_grid(const ConstVectorRef& v, const ConstVectorRef& alphas) const;
  // With `alphas`, the ridge is chosen among them again at every step.
  PruningPath path(const ConstVectorRef& v, double alpha, const ConstVectorRef& alphas,
                   const PruningOptions& options) const;

  // Doubles of one fit on n rows, of a choice among `alphas` ridges, and of a path down from `start` of n rows with all
  // that it records.
  static double memory_needed(Index n, Index d, Index outputs, Index alphas);
  static double path_memory(Index n, Index start, Index d, Index outputs, double step);

 private:
  bool whole() const { return static_cast<Index>(start_.size()) == all_X_.rows(); }
  Vector started(const ConstVectorRef& v) const;

  Kernel kernel_;
  Rows all_X_, all_Y_;
  std::vector<Index> start_;
  RowMatrix X_, Y_;
  Vector part_;
  bool bias_;
};

// Kernels on a first basis among the rows; the errors of all rows count.
class SparseProblem {
 public:
  SparseProblem(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& part,
                std::vector<Index> start, bool bias, bool pivot);

  Index rows_of_x() const { return Y_.rows(); }
  const std::vector<Index>& rows() const { return basis_.rows(); }
  const Matrix& factor() const { return basis_.factor(); }
  SparseSolution solve(const ConstVectorRef& v, double alpha) const;
  Matrix residuals(const ConstVectorRef& v, double alpha) const { return solve(v, alpha).residual; }
  Vector loo_grid(const ConstVectorRef& v, const ConstVectorRef& alphas) const;
  PruningPath path(const ConstVectorRef& v, double alpha, const ConstVectorRef& alphas,
                   const PruningOptions& options) const;

  static double path_memory(Index n, Index start, Index d, Index outputs, double step);

 private:
  SparseBasis basis_;
  Rows Y_;
  Vector part_;
  bool bias_;
};

}  // namespace kernsift
