// Rows of a table as patterns to choose a basis from: which of them, and their kernels in tiles of bounded memory.
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"
#include "core/linalg/panel_factor.hpp"

namespace kernsift {

// Prepared rows as dictionary elements, in their order.
Panels elements_of(const Kernel& kernel, const PreparedRows& rows);

class SelectableRows {
 public:
  // Pattern i is row which[i] of X.
  SelectableRows(const Kernel& kernel, const Rows& X, std::vector<Index> which);

  const Kernel& kernel() const { return kernel_; }
  Index size() const { return static_cast<Index>(which_.size()); }
  Index row(Index i) const { return which_[i]; }
  const Vector& self() const { return self_; }  // k(x_i, x_i)

  // Prepares the n patterns listed.
  void prepare(const Index* list, Index n, PreparedRows& out);
  // Prepares patterns first, first + 1, ...
  void prepare(Index first, Index n, PreparedRows& out);

 private:
  void prepare_gathered(Index n, PreparedRows& out);

  const Kernel& kernel_;
  Rows X_;
  std::vector<Index> which_;
  RowMatrix gathered_;
  Vector self_;
};

// Coordinates w(x_i) of every pattern in the span of the chosen ones, and what the span leaves of each, kept while
// the span grows by panels of elements. Memory (capacity + features) x patterns.
class SelectableCoordinates {
 public:
  SelectableCoordinates(SelectableRows& patterns, Index capacity);

  Index size() const { return size_; }
  auto of(Index i) const { return W_.col(i).head(size_); }
  const double* data(Index i) const { return W_.col(i).data(); }
  // Coordinates `first` ... of every pattern, a column each.
  auto directions(Index first, Index count) const { return W_.middleRows(first, count); }
  // E_ii = k_ii - |w_i|^2
  const Vector& residual() const { return residual_; }

  // A new element: its coordinates in the span, and its distance to it.
  void append(const Panels& element, const ConstVectorRef& w, double distance);
  // New elements, the rows size() ... of the factor L: their coordinates of every pattern, by one product.
  void append(const Panels& elements, const ConstMatrixRef& L);
  // The same with those rows arranged already. Returns sum_i scale_i w_ij^2 for each of them.
  Vector append(const Panels& elements, const std::vector<PanelFactor>& factors, const ConstVectorRef& scale);
  // The coordinates from `first` on in the basis of the span that I - 2uu' makes of theirs.
  void reflect(Index first, const ConstVectorRef& u);

 private:
  SelectableRows& patterns_;
  std::vector<PreparedRows> tiles_;
  Matrix W_;
  Vector residual_;
  Index size_ = 0;
};

}  // namespace kernsift
