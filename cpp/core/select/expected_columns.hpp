// The candidates that forward selection by residuals is likely to take next: those of the rows with the largest
// residuals before the column in hand was added. Their projections come along with each column, so that a step whose
// candidate was expected reads Q once. Which are kept decides about time, not about results.
#pragma once

#include <vector>

#include "core/kernel/kernel_columns.hpp"
#include "core/linalg/orthogonal_basis.hpp"

namespace kernsift {

class ExpectedColumns {
 public:
  // Below this many values of Q the second read is from a cache, and expecting costs more than it saves.
  static constexpr Index kWorthwhile = 1 << 20;

  // Keeps the columns of the rows whose squared residuals `size2` are the largest (negative: not a candidate), without
  // the row of the candidate `picked`, and makes those that are new.
  void choose(const KernelColumns& columns, const Vector& size2, const std::vector<unsigned char>& usable,
              Index picked);
  // True where all of `ids` were expected: then K and p are theirs.
  bool find(const std::vector<Index>& ids, Matrix& K, OrthogonalBasis::Projection& p) const;

  OrthogonalBasis::Ahead* ahead() { return ids_.empty() ? nullptr : &ahead_; }

 private:
  void forget(Index i);
  Index place(Index id) const;

  std::vector<Index> ids_;
  OrthogonalBasis::Ahead ahead_;
};

}  // namespace kernsift
