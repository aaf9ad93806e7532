// Sums over pairs of a row x_i and a landmark z_l of E(l, i) times their distance along each feature j, and their
// derivatives by the coordinates, while tiles of E arrive: what a gradient with regard to a metric is made of.
#pragma once

#include "core/kernel/kernels.hpp"

namespace kernsift {

class PairSums {
 public:
  using Coordinates = Eigen::Map<const RowMatrix>;

  // Distances are squares or absolute differences. `signs`: whether derivatives of the latter are needed too.
  PairSums(KernelSum sum, const Coordinates& Z, bool signs);

  // Adds E (landmarks, rows of X), or the sums of others with the same landmarks.
  void add(const ConstMatrixRef& E, const Coordinates& X);
  void add(const PairSums& others);
  // (d): sum over pairs of E(l, i) (x_ij - z_lj)^2, or of E(l, i) |x_ij - z_lj|.
  Vector total() const;
  // (m, d), the derivative of the total with regard to the landmarks, and (rows, d), that with regard to the rows added
  // last: of squares half of it.
  Matrix of_landmarks() const;
  RowMatrix of_rows(const ConstMatrixRef& E, const Coordinates& X) const;

 private:
  bool absolute_;
  Matrix Z_, products_;  // products: of absolute differences, the derivative itself
  Matrix signed_rows_;   // (d, rows added last)
  Vector rows_, sums_;
  bool signs_;
};

}  // namespace kernsift
