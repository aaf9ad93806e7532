// A solution, an outer product and a product of one size, again and again, in buffers that stay. Eigen allocates its
// buffers in each call. Where malloc returns memory to the system at once (MALLOC_TRIM_THRESHOLD_, which Dask sets for
// its workers), the page faults of that take as long as the arithmetic. The results are the bits of Eigen's own calls.
#pragma once

#include "core/base/multiply.hpp"

namespace kernsift {

#if EIGEN_VERSION_AT_LEAST(3, 4, 0) && !EIGEN_VERSION_AT_LEAST(3, 4, 90)

// The buffers of a product, or of a solution, of at most this size.
template <int KcFactor = 1>
class RepeatedBuffers {
 public:
  RepeatedBuffers(const RepeatedBuffers&) = delete;  // Eigen's buffers would be freed twice
  RepeatedBuffers& operator=(const RepeatedBuffers&) = delete;
  RepeatedBuffers(Index rows, Index columns, Index depth, bool third_cache)
      : space_(rows, columns, depth, 1, third_cache) {}

  void allocate() { space_.allocateAll(); }
  double numbers() const {
    return 1.0 * static_cast<double>(space_.kc()) * static_cast<double>(space_.mc() + space_.nc());
  }

 protected:
  Eigen::internal::gemm_blocking_space<Eigen::ColMajor, double, double, Eigen::Dynamic, Eigen::Dynamic, Eigen::Dynamic,
                                       KcFactor>
      space_;
};

// W <- L^-1 W for L (size, size) and W (size, columns), or fewer columns.
class RepeatedSolve : public RepeatedBuffers<4> {
 public:
  RepeatedSolve(Index size, Index columns) : RepeatedBuffers(size, columns, size, false), columns_(columns) {}

  void operator()(const Rows& L, MatrixRef W) {
    if (W.cols() != columns_) {
      L.triangularView<Eigen::Lower>().solveInPlace(W);
      return;
    }
    Eigen::internal::triangular_solve_matrix<double, Index, Eigen::OnTheLeft, Eigen::Lower, false, Eigen::RowMajor,
                                             Eigen::ColMajor, 1>::run(W.rows(), W.cols(), L.data(), L.outerStride(),
                                                                      W.data(), 1, W.outerStride(), space_);
  }

 private:
  Index columns_;
};

// A <- A + W W' for A (size, size), whose lower triangle alone is written, and W (size, columns), or fewer columns.
class RepeatedOuter : public RepeatedBuffers<> {
 public:
  RepeatedOuter(Index size, Index columns) : RepeatedBuffers(size, size, columns, false), columns_(columns) {}

  void operator()(const ConstMatrixRef& W, MatrixRef A) {
    if (W.cols() != columns_) {
      A.selfadjointView<Eigen::Lower>().rankUpdate(W);
      return;
    }
    Eigen::internal::general_matrix_matrix_triangular_product<Index, double, Eigen::ColMajor, false, double,
                                                              Eigen::RowMajor, false, Eigen::ColMajor, 1,
                                                              Eigen::Lower>::run(A.cols(), W.cols(), W.data(),
                                                                                 W.outerStride(), W.data(),
                                                                                 W.outerStride(), A.data(), 1,
                                                                                 A.outerStride(), 1.0, space_);
  }

 private:
  Index columns_;
};

// C <- C + A B for A (size, depth) and B (depth, columns), of 2 columns or more, or fewer rows of B.
class RepeatedProduct : public RepeatedBuffers<> {
 public:
  RepeatedProduct(Index size, Index depth, Index columns)
      : RepeatedBuffers(size, columns, depth, true), depth_(depth) {}

  void operator()(const ConstMatrixRef& A, const ConstMatrixRef& B, MatrixRef C) {
    if (A.cols() != depth_) {
      add_product(1.0, A, B, C);
      return;
    }
    Eigen::internal::general_matrix_matrix_product<Index, double, Eigen::ColMajor, false, double, Eigen::ColMajor,
                                                   false, Eigen::ColMajor, 1>::run(C.rows(), C.cols(), A.cols(),
                                                                                   A.data(), A.outerStride(), B.data(),
                                                                                   B.outerStride(), C.data(), 1,
                                                                                   C.outerStride(), 1.0, space_);
  }

 private:
  Index depth_;
};

#else  // other versions of Eigen have other names

class RepeatedBuffers {
 public:
  void allocate() {}
  double numbers() const { return 0.0; }
};

class RepeatedSolve : public RepeatedBuffers {
 public:
  RepeatedSolve(Index, Index) {}
  void operator()(const Rows& L, MatrixRef W) { L.triangularView<Eigen::Lower>().solveInPlace(W); }
};

class RepeatedOuter : public RepeatedBuffers {
 public:
  RepeatedOuter(Index, Index) {}
  void operator()(const ConstMatrixRef& W, MatrixRef A) { A.selfadjointView<Eigen::Lower>().rankUpdate(W); }
};

class RepeatedProduct : public RepeatedBuffers {
 public:
  RepeatedProduct(Index, Index, Index) {}
  void operator()(const ConstMatrixRef& A, const ConstMatrixRef& B, MatrixRef C) { add_product(1.0, A, B, C); }
};

#endif

}  // namespace kernsift
