// Eigen's loops behind the products and triangular solves of matrices of doubles, compiled once (base/products.cpp)
// instead of in each of the forty files that use them. Products and solves of other forms are compiled where they
// are used, as are all in programs that include the core's headers, and with other versions of Eigen, whose loops have
// other names.
#pragma once

#include <Eigen/Core>

#if defined(KERNSIFT_PRODUCTS_ONCE) && EIGEN_VERSION_AT_LEAST(3, 4, 0) && !EIGEN_VERSION_AT_LEAST(3, 4, 90)

namespace Eigen {
namespace internal {

using ByColumns = const_blas_data_mapper<double, Index, ColMajor>;
using ByRows = const_blas_data_mapper<double, Index, RowMajor>;
using Result = blas_data_mapper<double, Index, ColMajor, 0, 1>;
using Tile = gebp_traits<double, double>;

#define KERNSIFT_PRODUCTS(EXTERN)                                                                                      \
  EXTERN template struct gebp_kernel<double, double, Index, Result, Tile::mr, Tile::nr, false, false>;                 \
  EXTERN template struct gemm_pack_lhs<double, Index, ByColumns, Tile::mr, Tile::LhsProgress, Tile::LhsPacket4Packing, \
                                       ColMajor>;                                                                      \
  EXTERN template struct gemm_pack_lhs<double, Index, ByRows, Tile::mr, Tile::LhsProgress, Tile::LhsPacket4Packing,    \
                                       RowMajor>;                                                                      \
  EXTERN template struct gemm_pack_rhs<double, Index, ByColumns, Tile::nr, ColMajor>;                                  \
  EXTERN template struct gemm_pack_rhs<double, Index, ByRows, Tile::nr, RowMajor>;                                     \
  EXTERN template struct gemm_pack_rhs<double, Index, Result, Tile::nr, ColMajor, false, true>;                        \
  EXTERN template struct general_matrix_vector_product<Index, double, ByRows, RowMajor, false, double, ByColumns,      \
                                                       false>;                                                         \
  EXTERN template struct general_matrix_vector_product<Index, double, ByColumns, ColMajor, false, double, ByRows,      \
                                                       false>;                                                         \
  EXTERN template struct general_matrix_vector_product<Index, double, ByColumns, ColMajor, false, double, ByColumns,   \
                                                       false>;                                                         \
  EXTERN template struct general_matrix_matrix_product<Index, double, ColMajor, false, double, ColMajor, false,        \
                                                       ColMajor, 1>;                                                   \
  EXTERN template struct general_matrix_matrix_product<Index, double, ColMajor, false, double, RowMajor, false,        \
                                                       ColMajor, 1>;                                                   \
  EXTERN template struct general_matrix_matrix_product<Index, double, RowMajor, false, double, ColMajor, false,        \
                                                       ColMajor, 1>;                                                   \
  EXTERN template struct general_matrix_matrix_product<Index, double, RowMajor, false, double, RowMajor, false,        \
                                                       ColMajor, 1>;                                                   \
  EXTERN template struct gemm_pack_lhs<double, Index, Result, Tile::mr, Tile::LhsProgress, Tile::LhsPacket4Packing,    \
                                       ColMajor>;                                                                      \
  EXTERN template struct triangular_solve_matrix<double, Index, OnTheLeft, Lower, false, ColMajor, ColMajor, 1>;       \
  EXTERN template struct triangular_solve_matrix<double, Index, OnTheLeft, Upper, false, ColMajor, ColMajor, 1>;       \
  EXTERN template struct triangular_solve_matrix<double, Index, OnTheLeft, Upper, false, RowMajor, ColMajor, 1>;       \
  EXTERN template struct triangular_solve_matrix<double, Index, OnTheRight, Upper, false, RowMajor, ColMajor, 1>;      \
  EXTERN template struct general_matrix_matrix_triangular_product<Index, double, ColMajor, false, double, RowMajor,    \
                                                                  false, ColMajor, 1, Lower>;                          \
  EXTERN template void evaluateProductBlockingSizesHeuristic<double, double, 1, Index>(Index&, Index&, Index&, Index); \
  EXTERN template void evaluateProductBlockingSizesHeuristic<double, double, 4, Index>(Index&, Index&, Index&, Index);

KERNSIFT_PRODUCTS(extern)

}  // namespace internal
}  // namespace Eigen

#endif
