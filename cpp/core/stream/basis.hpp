// The basis in which a stream's model is expressed: the dictionary and an orthonormal basis of its span (MATH 1.2),
// after the leading coordinates where the model has some. Everything that lives on it (posteriors, recent rows, traces)
// has coordinates
//   w(x) = [1; L^-1 k_m(x)]  or, with a linear part,  w(x) = [1; scale (x - centre); L^-1 k_m(x)]
// and follows each growth and each removal, which change the basis once; the leading coordinates stay.
//
// Invariant: the dictionary and the span have the same elements in the same order.
#pragma once

#include "core/kernel/dictionary.hpp"
#include "core/kernel/kernel_span.hpp"
#include "core/stream/admission.hpp"

namespace kernsift {

class Basis {
 public:
  explicit Basis(Kernel kernel) : dictionary_(std::move(kernel)) {}
  // With leading coordinates from the first: a constant, and a linear part of that scale, one number a feature or none.
  Basis(Kernel kernel, bool constant, Vector scale)
      : dictionary_(std::move(kernel)),
        scale_(std::move(scale)),
        leading_(scale_.size() + (constant ? 1 : 0)),
        offset_(leading_) {}

  Index size() const { return span_.size(); }  // kernels
  Index offset() const { return offset_; }     // leading coordinates; 1 once a constant without them has its place
  Index dimension() const { return offset_ + size(); }
  const Dictionary& dictionary() const { return dictionary_; }
  const Kernel& kernel() const { return dictionary_.kernel(); }
  const KernelSpan& span() const { return span_; }
  // The change of basis of the last `remove`, for kernel coordinates; the coordinate it leaves last is gone.
  const Rotations& rotations() const { return rotations_; }

  void reserve(Index kernels) {
    span_.reserve(kernels);
    rotations_.chain.reserve(static_cast<std::size_t>(kernels));
  }

  // Kernel columns into coordinates. `W` has dimension() rows and holds k_m(x) in its last size() ones; X: the rows as
  // given, read where there is a linear part.
  void coordinates(const Rows& X, MatrixRef W) const {
    const Index linear = scale_.size();
    if (offset_ > linear) W.row(0).setOnes();
    for (Index r = 0; linear > 0 && r < W.cols(); ++r)
      W.col(r).segment(offset_ - linear, linear) =
          scale_.cwiseProduct(X.row(r).transpose() - dictionary_.kernel().centre());
    span_.coordinates(W.bottomRows(size()));  // w = L^-1 k
  }
  // Coordinates of prepared rows first, ..., the rows X as given; `W` has offset() + padded() rows at least.
  void coordinates(const PreparedRows& rows, Index first, const Rows& X, MatrixRef W) const {
    dictionary_.block(rows, first, X.rows(), W.block(offset_, 0, dictionary_.padded(), X.rows()));
    coordinates(X, W.topLeftCorner(dimension(), X.rows()));
  }
  // Squared distance to the span, as it comes out: rounding may make it negative.
  double distance(const ConstVectorRef& w, double k_self) const { return k_self - w.tail(size()).squaredNorm(); }

  void seat_constant() { offset_ = 1; }
  // Of the coefficients of the leading coordinates: the slope of each feature, of none without a linear part, and the
  // constant.
  void slopes(const ConstMatrixRef& leading, MatrixRef out) const {
    out = leading.bottomRows(scale_.size()).array().colwise() * scale_.array();
  }
  void intercept(const ConstMatrixRef& leading, const ConstMatrixRef& slopes, VectorRef out) const {
    for (Index o = 0; o < leading.cols(); ++o) {
      out[o] = offset_ > scale_.size() ? leading(0, o) : 0.0;
      if (scale_.size() > 0) out[o] -= slopes.col(o).dot(dictionary_.kernel().centre());
    }
  }
  // `x` is the sample as given, `rows`/`row` the same sample prepared; w its coordinates, s > 0 its distance.
  void append(const double* x, const PreparedRows& rows, Index row, std::int64_t id, const ConstVectorRef& w,
              double s) {
    span_.append(w.tail(size()), s);
    dictionary_.append(x, rows, row, id);
  }
  void remove(Index i) {
    span_.remove(i, rotations_);
    dictionary_.remove(i);
  }

  void save(Arrays& arrays) const {
    arrays.put("factor", Matrix(span_.factor()));
    dictionary_.save(arrays);
  }
  void load(const Arrays& arrays, bool constant) {
    dictionary_.load(arrays);
    offset_ = leading_ + (constant ? 1 : 0);
    reserve(std::max<Index>(8, dictionary_.size()));
    span_.assign(arrays.get_factor("factor", dictionary_.size()));
  }

 private:
  Dictionary dictionary_;
  KernelSpan span_;
  Rotations rotations_;
  Vector scale_;
  Index leading_ = 0, offset_ = 0;
};

}  // namespace kernsift
