// A basis of rows that grows by rows it does not contain yet: the squared distance of a row to the span, with a bound
// of its rounding.
#pragma once

#include "core/stream/basis.hpp"

namespace kernsift {

class ResolvedSpan {
 public:
  explicit ResolvedSpan(Kernel kernel) : basis_(std::move(kernel)) {}

  Index size() const { return basis_.size(); }
  const Kernel& kernel() const { return basis_.kernel(); }
  const Dictionary& dictionary() const { return basis_.dictionary(); }
  const KernelSpan& span() const { return basis_.span(); }
  const Rotations& rotations() const { return basis_.rotations(); }

  // Coordinates w = L^-1 k(x) of each row of X, a row each.
  void coordinates(const Rows& X, RowsOut out);
  // Squared distances k(x, x) - |w|^2, never negative, and what rounding may have made of them:
  // 2 eps (k(x, x) + sum_j a_j^2 k(x_j, x_j)), a = L^-T w the coefficients of the projection.
  void novelty(const Rows& X, Vector& distance, Vector& bound);
  // The row joins unless its distance is lost in rounding (is_resolved).
  bool append(const double* x);
  void remove(Index i) { basis_.remove(i); }

  void save(Arrays& arrays) const { basis_.save(arrays); }
  void load(const Arrays& arrays) { basis_.load(arrays, false); }

 private:
  void prepare(const Rows& X);

  Basis basis_;
  std::int64_t joined_ = 0;  // rows that ever joined: their numbers ascend
  PreparedRows rows_;        // workspace
  Matrix coordinates_;
  Matrix projection_;
};

}  // namespace kernsift
