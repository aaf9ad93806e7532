// Columns accepted into an orthogonal basis whose orthogonal parts are formed later, several in one read of Q.
//
// For a waiting column k_w one read of Q gave s_w = Q'k_w, and subtraction gives what it needs of those that wait
// before it (i < w) and its squared distance to their span:
//
//   g_i = q_i'k_w = k_i'k_w - s_i'H^-1 s_w - sum_l<i U_li g_l
//   |q_w|^2 = |k_w|^2 - s_w'H^-1 s_w - sum_i g_i^2 / h_i
//
// A column waits only where at least half of |k|^2 remains, so that the subtraction loses no digit and one
// orthogonalisation is enough; before any other column all that wait are formed. A column that waits costs 1 + 1 /
// kMost reads of Q instead of two, and 8 M bytes for each of those that wait before it.
#pragma once

#include "core/linalg/orthogonal_basis.hpp"

namespace kernsift {

class WaitingColumns {
 public:
  static constexpr Index kMost = 8;

  Index size() const { return size_; }
  // Space for the column appended next: the basis's padded rows, zeros below its rows.
  Eigen::Ref<Vector> next(const OrthogonalBasis& basis);
  // Appends `next`, here or to the basis, unless it is dependent: then returns false and the span is unchanged.
  bool append(OrthogonalBasis& basis);
  // The last one goes.
  void pop() { --size_; }
  // All of them become columns of the basis.
  void form(OrthogonalBasis& basis);

 private:
  Matrix K_;  // the columns
  Matrix S_;  // s, a column each
  Matrix U_;  // H^-1 g, unit upper triangular
  Vector h_;  // |q|^2
  Index size_ = 0;
};

}  // namespace kernsift
