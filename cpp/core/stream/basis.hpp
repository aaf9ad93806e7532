// The basis in which a stream's model is expressed: the dictionary and an orthonormal basis of its span (MATH 1.2),
// after the constant where the model has one. Everything that lives on it (posteriors, recent rows, traces) has
// coordinates
//   w(x) = [1; L^-1 k_m(x)]
// and follows each growth and each removal, which change the basis once.
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

  Index size() const { return span_.size(); }  // kernels
  Index offset() const { return offset_; }     // 1 once the constant has its place, the first
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

  // Kernel columns into coordinates. `W` has dimension() rows and holds k_m(x) in its last size() ones.
  void coordinates(MatrixRef W) const {
    if (offset_ > 0) W.row(0).setOnes();
    span_.coordinates(W.bottomRows(size()));  // w = L^-1 k
  }
  // Coordinates of prepared rows first, ..., first + count - 1; `W` has offset() + padded() rows at least.
  void coordinates(const PreparedRows& rows, Index first, Index count, MatrixRef W) const {
    dictionary_.block(rows, first, count, W.block(offset_, 0, dictionary_.padded(), count));
    coordinates(W.topLeftCorner(dimension(), count));
  }
  // Squared distance to the span, as it comes out: rounding may make it negative.
  double distance(const ConstVectorRef& w, double k_self) const { return k_self - w.tail(size()).squaredNorm(); }

  void seat_constant() { offset_ = 1; }
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
    offset_ = constant ? 1 : 0;
    reserve(std::max<Index>(8, dictionary_.size()));
    span_.assign(arrays.get_factor("factor", dictionary_.size()));
  }

 private:
  Dictionary dictionary_;
  KernelSpan span_;
  Rotations rotations_;
  Index offset_ = 0;
};

}  // namespace kernsift
