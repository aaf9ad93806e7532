// Columns sqrt(v) k_g(X, x_i) of the design, computed on first use: candidates are pairs (row i, width g), numbered
// g * rows + i. The matrix of all of them is never formed; up to a fixed number of bytes of its blocks are kept.
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"

namespace kernsift {

class KernelColumns {
 public:
  // X is kept by reference. root_weights has X.rows() entries.
  // `cache_bytes` bounds the kernel values kept between two calls of `products`.
  KernelColumns(std::vector<Kernel> kernels, const Rows& X, const ConstVectorRef& root_weights, int threads,
                std::size_t cache_bytes = 0);

  Index rows() const { return X_.rows(); }
  Index padded_rows() const { return padded_; }
  Index n_widths() const { return static_cast<Index>(kernels_.size()); }
  Index size() const { return rows() * n_widths(); }

  // out is padded_rows() x ids.size(); zero below rows().
  void columns(const std::vector<Index>& ids, MatrixRef out) const;

  // For all candidates of width g: products(i, o) += k_i'Y_o and, unless null, norms(i) += k_i'k_i, with k_i the
  // weighted column and Y padded_rows() x c. The kernel values are made and used block by block, each off-diagonal
  // block for both its rows and its columns.
  void products(Index g, const ConstMatrixRef& Y, MatrixRef products, Vector* norms);

  // The same for some rows only, given ascending; the others' sums stay as they are. Better when they are few.
  void products_of(const std::vector<Index>& rows, Index g, const ConstMatrixRef& Y, MatrixRef products, Vector* norms);

 private:
  static constexpr Index kChunk = 512, kTile = 64;
  std::vector<Kernel> kernels_;
  Eigen::Map<const RowMatrix, 0, Eigen::OuterStride<>> X_;
  Index padded_;
  int threads_;
  Vector root_weights_;
  bool unweighted_;
  std::vector<std::vector<Panels>> chunks_;  // [width][chunk of kChunk rows]
  std::vector<Matrix> kept_;                 // kernel values of the first blocks: [width * pairs + pair], or empty
  Index room_;                               // blocks that may be kept
};

}  // namespace kernsift
