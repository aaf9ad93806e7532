// The orthogonal decomposition K_m = Q U of a design whose columns arrive one at a time (Andelic et al. 2007,
// section 2).
//
//   K_m = [k_1 .. k_m]   M x m    the columns appended
//   Q                    M x m    orthogonal, NOT normalised, so that U has ones on its diagonal
//   h_j = q_j'q_j                 U upper triangular, m x m         f = Q'Y, m x c, for the targets Y (M x c)
//   R0  = Y - Q H^-1 f            the residual without a ridge
//
// Gram-Schmidt twice (once is enough where at least half of |k|^2 remains), in two reads of Q a column instead of the
// four of its definition. The second orthogonalisation of a column is delayed until the next one arrives: its inner
// products are formed in the read that projects the next column (`project`), its subtraction in the read that forms it
// (`append`), which also forms any further combinations Q G the caller wants (the ridge residual). Same sums as
// Gram-Schmidt twice; the last column alone is orthogonal only to rounding / sqrt(kRankTol) until `settle` or the next
// column. Two reads are the least possible: k - Q H^-1 Q'k needs all of Q'k first.
//
// Cost of a column: 16 M m bytes read (8 M m of one expected), 4 M m flops (8 M m with one output's residual), Q takes
// 8 M m bytes.
//
// Storage: panels of kColumns columns, inside them blocks of kRows rows, inside them whole columns: appending never
// moves Q, and both reads are sequential. Rows are padded with zeros to whole blocks.
//
// Invariants: columns before `pending` are orthogonal to rounding; h, U and f are of the final columns, except the last
// column's while it is pending; R0 lacks the share of the pending column.
#pragma once

#include <memory>
#include <vector>

#include "core/base/types.hpp"

namespace kernsift {

class OrthogonalBasis {
 public:
  static constexpr Index kRows = 256, kColumns = 32;
  // A column whose squared distance to the span is below this fraction of its squared norm is dependent.
  static constexpr double kRankTol = 1e-10;
  // A column that keeps more than this part of its squared norm has lost no digit to the subtraction, and is orthogonal
  // at once: rounding is 1.4 times as large beside it as beside the column given.
  static constexpr double kOnceIsEnough = 0.5;

  // `targets` is rows x c.
  OrthogonalBasis(const ConstMatrixRef& targets, int threads, double rank_tol = kRankTol);

  Index rows() const { return rows_; }
  Index padded_rows() const { return n_blocks_ * kRows; }
  Index size() const { return size_; }
  Index n_targets() const { return residual_.cols(); }
  int threads() const { return threads_; }
  double rank_tol() const { return rank_tol_; }

  // Candidate columns and what one read of Q tells about them.
  struct Projection {
    Matrix s;      // Q'K, m x r
    Vector norm2;  // k'k
    Vector
        distance2;  // squared distance to the span, by subtraction: relative error up to rounding * norm2 / distance2
    Matrix f;       // q'Y of what each column would become, r x c
  };
  // K is padded_rows() x r with zeros below rows().
  void project(const ConstMatrixRef& K, Projection& out);

  // Columns that may be appended next. `append` brings their projections along in the read that forms its own column.
  struct Ahead {
    Matrix K;         // padded_rows() x at least `size`
    Index size = 0;   // columns in use
    Index known = 0;  // `p` is current for this number of them
    Projection p;
  };

  // Appends the column k whose projection is column `i` of `p` (made since the last append), unless it is dependent:
  // then returns false and the span is unchanged. Also forms `combinations` = Q G for the columns before this one,
  // G size() x r (padded_rows() x r), and the projections `ahead` of a column that is appended.
  bool append(const ConstVectorRef& k, const Projection& p, Index i, const ConstMatrixRef& G, Matrix& combinations,
              Ahead* ahead = nullptr);
  bool append(const ConstVectorRef& k);
  // Appends q (padded_rows()), orthogonal to the columns already, and its column of U above the diagonal.
  void append_orthogonal(const ConstVectorRef& q, const ConstVectorRef& u);

  // Orthogonalises the last column for the second time, now.
  void settle();
  // The last column goes, as if it had never been appended.
  void pop();
  // Columns that another basis had, settled: Q is rows() x n. This one must be empty.
  void restore(const ConstMatrixRef& Q, const ConstVectorRef& h, const ConstMatrixRef& U);

  Eigen::Map<const Vector> h() const { return {h_.data(), size_}; }
  ConstMatrixRef f() const { return f_.topRows(size_); }
  ConstMatrixRef U() const { return U_.topLeftCorner(size_, size_); }
  // Squared norm of R0 per target, the share of every column taken off.
  const Vector& residual_norm2() const { return residual_norm2_; }
  // R0 without the share of the pending column, padded_rows() x c; and that column's share f_j / h_j.
  const Matrix& residual() const { return residual_; }
  bool pending() const { return pending_; }

  // sum_j w_j q_ij^2 of each row, from the columns as kept, into `out` (padded_rows()).
  void row_squares(const ConstVectorRef& w, Vector& out) const;
  // Column j of Q as kept, into `out` (padded_rows()).
  void column(Index j, Eigen::Ref<Vector> out) const;
  // K^+ = U^-1 H^-1 Q', m x M; settles first.
  Matrix pseudoinverse();

 private:
  struct Free {
    void operator()(double* p) const;
  };
  double* at(Index column, Index block) const {
    const Index panel = column / kColumns, in_chunk = panel % panels_a_chunk();
    return chunks_[panel / panels_a_chunk()].get() +
           ((in_chunk * n_blocks_ + block) * kColumns + column % kColumns) * kRows;
  }
  // Panels that are allocated together: memory comes in large pages, a panel of which alone would fill two in part.
  Index panels_a_chunk() const { return n_blocks_ < 16 || n_blocks_ > 64 ? 1 : 4; }
  void reserve_column();
  void keep(const ConstVectorRef& q, double h);
  void correct(const ConstVectorRef& inner);
  void finish();
  void complete(Projection& out) const;
  Index n_tasks() const;
  int threads_for(Index values) const;
  template <class Work>
  void over_blocks(Index values, Work&& work) const;

  std::vector<std::unique_ptr<double, Free>> chunks_;
  Index rows_, n_blocks_, size_ = 0;
  int threads_;
  double rank_tol_;
  Vector h_;
  Matrix f_, U_, residual_;
  Vector residual_norm2_;
  bool pending_ = false;    // the last column awaits its second orthogonalisation
  bool corrected_ = false;  // and its inner products with the others are already in correction_, h_ and U_
  Vector correction_;       // H^-1 Q'q of the pending column, no numbers unless they are needed
};

}  // namespace kernsift
