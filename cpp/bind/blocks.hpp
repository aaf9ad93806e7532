// What the bindings of `kernsift.blocks` share: arguments in any form of numbers, and the lock of a block.
#pragma once

#include <cmath>
#include <utility>

#include "bind/bind.hpp"

namespace kernsift {

// A number, a vector or rows of numbers: contiguous float64 where it is, anything else as a converted copy held here.
class Doubles {
 public:
  Doubles(py::handle given, const char* name) : name_(name) {
    static const py::handle kDouble = py::dtype::of<double>().release();  // one object for the life of the process
    constexpr int kPlain = py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    PyObject* p = given.ptr();
    const auto& api = py::detail::npy_api::get();
    const bool plain = api.PyArray_Check_(p) && py::detail::array_proxy(p)->descr == kDouble.ptr() &&
                       (py::detail::array_proxy(p)->flags & kPlain) == kPlain;
    if (!plain) {
      held_ = converted(given);
      p = held_.ptr();
    }
    const auto* array = py::detail::array_proxy(p);
    dims_ = array->nd;
    for (int i = 0; i < 2 && i < dims_; ++i) shape_[i] = array->dimensions[i];
    data_ = reinterpret_cast<const double*>(array->data);
    if (dims_ > 2) fail("must have at most two dimensions");
  }

  int dims() const { return dims_; }
  // One row where there is one dimension.
  Index n_rows() const { return dims_ == 2 ? shape_[0] : 1; }
  Index n_columns() const { return dims_ == 2 ? shape_[1] : dims_ == 1 ? shape_[0] : 1; }
  Eigen::Map<const Vector> vector(Index size) const {
    if (dims_ != 1 || (size >= 0 && shape_[0] != size))
      fail("must be one-dimensional" + (size >= 0 ? " of length " + std::to_string(size) : ""));
    const Eigen::Map<const Vector> out(data_, shape_[0]);
    check(out);
    return out;
  }
  // Rows of so many columns; one row may come as a vector.
  Eigen::Map<const RowMatrix> rows(Index columns) const {
    if (dims_ == 0 || (columns >= 0 && n_columns() != columns))
      fail("must have rows" + (columns >= 0 ? " of " + std::to_string(columns) + " numbers" : ""));
    const Eigen::Map<const RowMatrix> out(data_, n_rows(), n_columns());
    check(Eigen::Map<const Vector>(data_, out.size()));
    return out;
  }
  Eigen::Map<const RowMatrix> square() const {
    if (dims_ != 2 || shape_[0] != shape_[1]) fail("must be square");
    return rows(-1);
  }
  double number() const {
    if (dims_ != 0 || !std::isfinite(*data_)) fail("must be a finite number");
    return *data_;
  }
  // A column for each of `columns` outputs: a vector of `n` numbers, or n rows.
  Eigen::Map<const RowMatrix> targets(Index n, Index columns = -1) const {
    const Index wide = dims_ == 2 ? shape_[1] : 1;
    if (dims_ == 0 || shape_[0] != n || (columns >= 0 && wide != columns))
      fail("must have " + std::to_string(n) + " rows" +
           (columns > 1 ? " of " + std::to_string(columns) + " numbers" : ""));
    const Eigen::Map<const RowMatrix> out(data_, n, wide);
    check(Eigen::Map<const Vector>(data_, out.size()));
    return out;
  }
  [[noreturn]] void fail(const std::string& what) const {
    std::string shape;
    for (int i = 0; i < std::min(dims_, 2); ++i) shape += (i > 0 ? ", " : "") + std::to_string(shape_[i]);
    throw std::invalid_argument(std::string(name_) + " " + what + "; got shape (" + shape +
                                (dims_ == 1  ? ",)"
                                 : dims_ > 2 ? ", ...)"
                                             : ")"));
  }

 private:
  void check(const Eigen::Map<const Vector>& values) const {
    if ((values.array() * 0.0).sum() == 0.0) return;
    for (Index i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        throw std::invalid_argument(
            std::string(name_) + " has NaN or infinity " +
            (dims_ == 2 ? "in row " + std::to_string(i / shape_[1]) + ", column " + std::to_string(i % shape_[1])
                        : "at place " + std::to_string(i)) +
            "; give finite numbers");
  }
  Array converted(py::handle given) const {
    const py::array any = py::array::ensure(given);
    const char kind = any ? any.dtype().kind() : 'O';
    if (!any) PyErr_Clear();
    if (kind != 'f' && kind != 'i' && kind != 'u' && kind != 'b')
      throw std::invalid_argument(std::string(name_) + " must be an array of real numbers");
    return py::array_t<double, py::array::c_style | py::array::forcecast>(any);
  }

  const char* name_;
  py::object held_;
  const double* data_ = nullptr;
  int dims_ = 0;
  Index shape_[2] = {1, 1};
};

// Weights of n rows; ones where none are given.
inline Vector weights_of(const py::object& given, Index n) {
  if (given.is_none()) return Vector::Ones(n);
  return Doubles(given, "weights").vector(n);
}
inline double finite(double value, const char* name) {
  if (!std::isfinite(value)) throw std::invalid_argument(std::string(name) + " must be a finite number");
  return value;
}
inline double positive(double value, const char* name) {
  if (!(value > 0 && std::isfinite(value))) throw std::invalid_argument(std::string(name) + " must be positive");
  return value;
}
inline double not_negative(double value, const char* name) {
  if (!(value >= 0 && std::isfinite(value))) throw std::invalid_argument(std::string(name) + " must not be negative");
  return value;
}
// An index in Python's manner: negative ones count from the end.
inline Index index_of(Index i, Index size) {
  if (i < -size || i >= size)
    throw std::invalid_argument("index " + std::to_string(i) + " is out of range: the size is " + std::to_string(size));
  return i < 0 ? i + size : i;
}
// A vector where one row was given, else rows.
inline Array like(const Doubles& given, Index columns) {
  return given.dims() == 2 ? array(given.n_rows(), columns) : array(columns);
}
inline Eigen::Map<RowMatrix> rows_of(Array& out, Index rows) {
  return {out.mutable_data(), rows, rows > 0 ? out.size() / rows : 0};
}

// What the arguments of a call must fit.
template <class Part>
Index size_of(const Part& part) {
  return part.size();
}

// A part of the core behind a lock. Short work keeps the GIL where the lock is free: releasing it costs as much as a
// product with 50 x 50 numbers.
template <class Part>
struct Block {
  Part part;
  Index n_refused = 0;
  ModelMutex mutex;

  template <class... A>
  explicit Block(A&&... a) : part(std::forward<A>(a)...) {}

  // The size that the arguments of this call are checked against: work begins only if it is still that.
  Index size() const {
    checked() = {this, size_of(part)};
    return checked().size;
  }
  template <class Work>
  auto locked(double flops, Work&& work) {
    constexpr double kShort = 1e5;
    if (flops < kShort) {
      const std::unique_lock<ModelMutex> lock(mutex, std::try_to_lock);
      if (lock.owns_lock()) {
        check();
        return work();
      }
    }
    py::gil_scoped_release unlocked;  // `work` touches the part and numpy buffers held by the caller only
    const std::lock_guard<ModelMutex> lock(mutex);
    check();
    return work();
  }
  // Of a change that can be refused: counted.
  template <class Work>
  bool changed(double flops, Work&& work) {
    return locked(flops, [&] {
      const bool done = work();
      if (!done) ++n_refused;
      return done;
    });
  }

 private:
  struct Checked {
    const void* block = nullptr;
    Index size = 0;
  };
  static Checked& checked() {
    thread_local Checked last;
    return last;
  }
  void check() const {
    const Checked last = std::exchange(checked(), Checked{});
    if (last.block == this && last.size != size_of(part))
      throw std::runtime_error("another thread changed the size of this block during the call: call again");
  }
};

}  // namespace kernsift
