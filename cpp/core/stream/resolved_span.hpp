// A basis of rows that grows by rows it does not contain yet: the squared distance of a row to the span, with a bound
// of its rounding.
#pragma once

#include "core/kernel/dictionary.hpp"
#include "core/kernel/kernel_span.hpp"

namespace kernsift {

class ResolvedSpan {
 public:
  explicit ResolvedSpan(Kernel kernel) : dictionary_(std::move(kernel)) {}

  Index size() const { return span_.size(); }
  const Kernel& kernel() const { return dictionary_.kernel(); }
  const Dictionary& dictionary() const { return dictionary_; }
  const KernelSpan& span() const { return span_; }

  // Coordinates w = L^-1 k(x) of each row of X, a row each.
  void coordinates(const Rows& X, RowsOut out);
  // Squared distances k(x, x) - |w|^2, never negative, and what rounding may have made of them:
  // 2 eps (k(x, x) + sum_j a_j^2 k(x_j, x_j)), a = L^-T w the coefficients of the projection.
  void novelty(const Rows& X, Vector& distance, Vector& bound);
  // The row joins unless its distance is lost in rounding (is_resolved).
  bool append(const double* x);
  void remove(Index i);

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

 private:
  void prepare(const Rows& X);

  Dictionary dictionary_;
  KernelSpan span_;
  Rotations rotations_;      // workspace
  std::int64_t joined_ = 0;  // rows that ever joined: their numbers ascend
  PreparedRows rows_;        // workspace
  Matrix coordinates_;
  Matrix projection_;
};

}  // namespace kernsift
