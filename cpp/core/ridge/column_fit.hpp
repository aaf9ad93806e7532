// Least squares on columns that arrive one at a time, with a ridge in the orthogonal basis of the columns:
//
//   min_a  sum_i v_i |y_i - (K a)_i|^2 + ridge |a~|^2,   V^1/2 K = Q U,  a~ = U a
//
// The first `unpenalised` columns carry no penalty.
#pragma once

#include "core/linalg/waiting_columns.hpp"
#include "core/ridge/gcv.hpp"

namespace kernsift {

class ColumnFit {
 public:
  // weights: rows() positive numbers, or none.
  ColumnFit(Index rows, const ConstVectorRef& weights, Index unpenalised, int threads, double rank_tol);

  Index rows() const { return basis_.rows(); }
  Index size() const { return basis_.size() + waiting_.size(); }
  Index unpenalised() const { return unpenalised_; }
  const Vector& root_weights() const { return root_; }  // empty without weights

  // False where the column depends on those before it: nothing has changed.
  bool append(const ConstVectorRef& column);
  void pop();

  Matrix solve(const ConstMatrixRef& Y, double ridge);       // a, size() x outputs
  Matrix residual(const ConstMatrixRef& Y, double ridge);    // Y - K a
  double gcv(const ConstMatrixRef& Y, double ridge);         // summed over the outputs
  double best_ridge(const ConstMatrixRef& Y);                // of the smallest GCV: ridge_minimum
  double reestimate(const ConstMatrixRef& Y, double ridge);  // RidgeSpectrum::reestimate
  // By how much the cost falls when a candidate is appended: (q'y)^2 / (q'q + ridge) for the part q of each column
  // that is orthogonal to those before, over the outputs; 0 for a dependent one.
  Vector error_reductions(const ConstMatrixRef& candidates, const ConstMatrixRef& Y, double ridge);

  OrthogonalBasis& basis();  // of all columns, settled
  Matrix pseudoinverse();    // K^+ such that a = K^+ y without a ridge

 private:
  const Matrix& weighted(const ConstMatrixRef& K);   // V^1/2 K, padded, until the next call
  const Matrix& projected(const ConstMatrixRef& Y);  // Q'V^1/2 Y, until the next call
  Matrix shrunk(const ConstMatrixRef& f, double ridge);
  Matrix left(const ConstMatrixRef& shrunk);
  template <class Work>
  double of_spectrum(const ConstMatrixRef& Y, Work&& work);

  OrthogonalBasis basis_;
  WaitingColumns waiting_;
  Vector root_;
  double counted_;
  Index unpenalised_;
  Matrix padded_;  // workspace
  OrthogonalBasis::Projection projection_;
};

}  // namespace kernsift
