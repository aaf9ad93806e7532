// Kernels between prepared samples, evaluated on panels of eight dictionary elements.
//
//   name        k(x, x')                                        with r2 = sum_j gamma_j (x_j - x'_j)^2
//   rbf         exp(-r2)
//   laplacian   exp(-sum_j gamma_j |x_j - x'_j|)
//   matern32    (1 + s) exp(-s),            s = sqrt(3 r2)
//   matern52    (1 + s + s^2/3) exp(-s),    s = sqrt(5 r2)
//   polynomial  (sum_j gamma_j x_j x'_j + coef0)^degree
//   linear      x . x'
//
// Stationary kernels may measure w_j(x_j), monotone functions of the features (warp.hpp), in the place of x_j.
//
// Contract (each sentence has a test in tests/base/test_kernels.py or cpp/tests):
// * A value depends on the two samples only: not on its place in a vector, the block, or the thread. Every pair is
//   summed over the features in the same order by the same instructions, and panels are padded to whole packets,
//   because a packet exp and its scalar tail differ in the last bit.
// * k(x, x) is exactly 1 for the stationary kernels; values below exp(-708) are exactly 0.
// * Stationary kernels are evaluated as |x|^2 + |x'|^2 - 2 x.x' on coordinates measured from `centre` (any fixed
//   point near the data; the first row seen), so that a column of 1e6 loses nothing; a sample further than
//   sqrt(kFarNorm) from the centre, where that form would cancel, is compared by direct differences instead.
#pragma once

#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "core/kernel/warp.hpp"

namespace kernsift {

enum class KernelKind { rbf, laplacian, matern32, matern52, polynomial, linear };

class Kernel;
class PreparedRows;
class Panels;

// What a kernel makes its value of, over the features: products, squares of differences, absolute differences.
enum class KernelSum { products, squares, absolutes };

// All that the library knows of one kernel. A new one is a row in the table of kernels.cpp: what it lacks is refused
// wherever it is needed.
struct KernelRow {
  using Block = void (*)(const Kernel&, const Panels&, const PreparedRows&, Index first, Index count, MatrixRef out);
  using Expand = void (*)(const Kernel&, const Panels&, const ConstMatrixRef& coef, const ConstVectorRef& intercept,
                          const PreparedRows&, Index first, Index count, RowsOut out);
  using Single = void (*)(const Kernel&, Eigen::ArrayXXf& sums);

  KernelKind kind;
  const char* name;
  KernelSum sum;         // stationary unless it is of products
  bool gamma;            // whether it has widths
  Block block;           // its values
  Expand expand;         // and an expansion in them
  Block slope;           // null: its widths cannot be learned
  bool smooth;           // at distance 0: its centres can be moved
  Single single;         // its values of sums, in place; null: rows in single precision are predicted in double
  bool onnx, c, libsvm;  // where it can be exported
  bool stationary() const { return sum != KernelSum::products; }
};
const std::vector<KernelRow>& kernel_table();

// Throws std::invalid_argument for an unknown name.
KernelKind kernel_kind(const std::string& name);

// Dictionary elements a panel holds, side by side: one AVX-512 register, two AVX, four SSE.
constexpr Index kPanel = 8;

// Rows prepared for a kernel: coordinates (row-major), squared norm, and whether the row is far from the centre.
class PreparedRows {
 public:
  Index size() const { return size_; }
  const double* coordinates(Index row) const { return coordinates_.data() + row * stride_; }
  double norm(Index row) const { return norms_[row]; }
  bool far(Index row) const { return far_[row] != 0; }

 private:
  friend class Kernel;
  void resize(Index rows, Index features);
  std::vector<double> coordinates_;
  Vector norms_;
  std::vector<unsigned char> far_;
  Index size_ = 0, stride_ = 0;
};

// Prepared dictionary elements, feature-major inside panels of kPanel: element i is lane i % 8 of panel i / 8.
class Panels {
 public:
  explicit Panels(Index n_features = 0) : n_features_(n_features) {}
  Index size() const { return size_; }
  Index padded() const { return round_up(size_, kPanel); }
  Index n_panels() const { return padded() / kPanel; }
  const double* panel(Index p) const { return coordinates_.data() + p * kPanel * n_features_; }
  const double* norms(Index p) const { return norms_.data() + p * kPanel; }
  Index n_features() const { return n_features_; }
  double coordinate(Index i, Index j) const {
    return coordinates_[(i / kPanel * n_features_ + j) * kPanel + i % kPanel];
  }
  double norm(Index i) const { return norms_[i]; }

  void reserve(Index n);
  void append(const double* coordinates, double norm);
  void set(Index i, const double* coordinates, double norm);
  void remove(Index i);  // later elements move up: the order is kept
  void clear() { size_ = 0; }

 private:
  double& at(Index i, Index j) { return coordinates_[(i / kPanel * n_features_ + j) * kPanel + i % kPanel]; }
  std::vector<double> coordinates_;
  std::vector<double> norms_;
  Index n_features_, size_ = 0;
};

class Kernel {
 public:
  // gamma, centre: (d,). Throws std::invalid_argument where a parameter is out of range for the kernel.
  Kernel(KernelKind kind, Vector gamma, int degree, double coef0, Vector centre, Warp warp = {});

  const KernelRow& row() const { return *row_; }
  KernelKind kind() const { return row_->kind; }
  const Vector& gamma() const { return gamma_; }
  const Vector& centre() const { return centre_; }
  const Warp& warp() const { return warp_; }  // none() without one
  int degree() const { return degree_; }
  double coef0() const { return coef0_; }
  Index n_features() const { return gamma_.size(); }
  bool stationary() const { return row_->stationary(); }

  // Rows into the coordinates the kernel works in. Allocates only when `out` has to grow.
  void prepare(const Rows& X, PreparedRows& out) const;

  // k(x, x) of a prepared row, or of its squared norm.
  double self(const PreparedRows& rows, Index row) const { return self(rows.norm(row)); }
  double self(double norm) const;

  // out(i, r) = k(element i, row first + r) for i < elements.padded(): the padding holds numbers without meaning.
  // `out` is column-major with outer stride >= elements.padded().
  void block(const Panels& elements, const PreparedRows& rows, Index first, Index count, MatrixRef out) const {
    row_->block(*this, elements, rows, first, count, out);
  }

  // Minus the derivative of `block` with regard to r2 (the sum in the exponent for laplacian), laid out like it:
  // what the gradient of anything with regard to gamma is made of. Throws where the table has none.
  void slope(const Panels& elements, const PreparedRows& rows, Index first, Index count, MatrixRef out) const;

  // out(r, o) = intercept(o) + sum_i coef(i, o) k(element i, row first + r), without keeping the kernel values.
  // coef has elements.padded() rows, zero in the padding.
  void expand(const Panels& elements, const ConstMatrixRef& coef, const ConstVectorRef& intercept,
              const PreparedRows& rows, Index first, Index count, RowsOut out) const {
    row_->expand(*this, elements, coef, intercept, rows, first, count, out);
  }

 private:
  const KernelRow* row_;
  Vector gamma_, centre_, scale_, origin_;  // origin: the centre as it is measured
  Warp warp_;
  int degree_;
  double coef0_;
};

}  // namespace kernsift
