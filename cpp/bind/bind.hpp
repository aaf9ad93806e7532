// What the binding files share. Bindings check shapes and own the locks; they do no arithmetic.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/arrays.hpp"
#include "core/base/types.hpp"
#include "core/kernel/warp.hpp"
#include "core/stream/model_mutex.hpp"

namespace kernsift {

namespace py = pybind11;
using namespace py::literals;  // "name"_a = value
// With .noconvert() a float32 or strided array is a TypeError, never a silent copy.
using Array = py::array_t<double, py::array::c_style>;

inline Eigen::Map<const RowMatrix> rows(const Array& a, Index columns, const char* name) {
  if (a.ndim() != 2 || (columns >= 0 && a.shape(1) != columns))
    throw std::invalid_argument(std::string(name) + " must be two-dimensional" +
                                (columns >= 0 ? " with " + std::to_string(columns) + " columns" : ""));
  return {a.data(), a.shape(0), a.shape(1)};
}

inline Eigen::Map<const Vector> vector(const Array& a, Index size, const char* name) {
  if (a.ndim() != 1 || (size >= 0 && a.shape(0) != size))
    throw std::invalid_argument(std::string(name) + " must be one-dimensional" +
                                (size >= 0 ? " of length " + std::to_string(size) : ""));
  return {a.data(), a.shape(0)};
}

inline Array array(Index n) { return Array(n); }
inline Array array(Index n, Index k) { return Array({n, k}); }
inline Eigen::Map<RowMatrix> rows_out(Array& a) { return {a.mutable_data(), a.shape(0), a.shape(1)}; }
inline Eigen::Map<Vector> vector_out(Array& a) { return {a.mutable_data(), a.shape(0)}; }

inline Array to_numpy(const Eigen::Ref<const Matrix, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>& m) {
  Array out = array(m.rows(), m.cols());
  rows_out(out) = m;
  return out;
}
inline Array vector_to_numpy(const Vector& v) {
  Array out = array(v.size());
  vector_out(out) = v;
  return out;
}

// --- rows by number ---

using Indices = py::array_t<std::int64_t, py::array::c_style>;

inline std::vector<Index> to_indices(const Indices& which, Index rows) {
  if (which.ndim() != 1) throw std::invalid_argument("row numbers must be one-dimensional");
  std::vector<Index> out(which.data(), which.data() + which.size());
  for (const Index i : out)
    if (i < 0 || i >= rows) throw std::invalid_argument("row " + std::to_string(i) + " is out of range");
  return out;
}
inline Indices from_indices(const std::vector<Index>& values) {
  Indices out(static_cast<py::ssize_t>(values.size()));
  std::copy(values.begin(), values.end(), out.mutable_data());
  return out;
}
inline Array from_doubles(const std::vector<double>& values) {
  Array out = array(static_cast<Index>(values.size()));
  std::copy(values.begin(), values.end(), out.mutable_data());
  return out;
}

// --- triangles: they may be halves of one square, beside each other: rows of any stride ---

using Strided = py::array_t<double>;
using StridedRows = Eigen::Map<const RowMatrix, 0, Eigen::OuterStride<>>;

inline Eigen::OuterStride<> stride_of(const Strided& a, const char* name) {
  constexpr auto kDouble = static_cast<py::ssize_t>(sizeof(double));
  if (a.ndim() != 2 || (a.shape(1) > 1 && a.strides(1) != kDouble) || a.strides(0) % kDouble != 0 || a.strides(0) < 0)
    throw std::invalid_argument(std::string(name) + " must be two-dimensional, with contiguous rows");
  return Eigen::OuterStride<>(a.strides(0) / kDouble);
}
inline StridedRows triangle(const Strided& a, Index size, const char* name) {
  const auto stride = stride_of(a, name);
  if (a.shape(0) != a.shape(1) || (size >= 0 && a.shape(0) != size))
    throw std::invalid_argument(std::string(name) + " must be square" +
                                (size >= 0 ? ", with " + std::to_string(size) + " rows" : ""));
  return {a.data(), a.shape(0), a.shape(1), stride};
}
// numpy's upper triangle is the lower one of column-major matrices.
inline Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> lower_of(const Strided& a, Index size, const char* name) {
  const auto rows = triangle(a, size, name);
  return {rows.data(), rows.rows(), rows.cols(), stride_of(a, name)};
}
inline Eigen::Map<Matrix, 0, Eigen::OuterStride<>> lower_to_write(Strided& a, Index size, const char* name) {
  triangle(a, size, name);
  return {a.mutable_data(), a.shape(0), a.shape(1), stride_of(a, name)};
}
// The array to write into, or a new square.
inline Strided given_or_new(const py::object& out, Index size) {
  if (out.is_none()) return array(size, size);
  if (!py::isinstance<Strided>(out)) throw std::invalid_argument("out must be an array of doubles");
  return out.cast<Strided>();  // itself: nothing is converted
}

// --- a warp: (knots, slopes), or None ---

inline Warp to_warp(const py::object& given) {
  if (given.is_none()) return {};
  if (!py::isinstance<py::sequence>(given) || py::len(given) != 2)
    throw std::invalid_argument("a warp is a pair of knots and slopes");
  const auto knots = Array::ensure(given[py::int_(0)]), slopes = Array::ensure(given[py::int_(1)]);
  if (!knots || !slopes) throw std::invalid_argument("the knots and slopes of a warp are arrays of numbers");
  return {rows(knots, -1, "the knots of a warp"), rows(slopes, -1, "the slopes of a warp")};
}
inline py::object from_warp(const Warp& warp) {
  if (warp.none()) return py::none();
  return py::make_tuple(to_numpy(warp.knots()), to_numpy(warp.slopes()));
}

inline py::dict to_dict(const Arrays& arrays) {
  py::dict out;
  for (const auto& [name, value] : arrays.items()) out[py::str(name)] = to_numpy(value);
  return out;
}
inline Arrays from_dict(const py::dict& state) {
  Arrays arrays;
  for (const auto& item : state) {
    const auto a = py::reinterpret_borrow<py::object>(item.second).cast<Array>();
    arrays.put(py::cast<std::string>(item.first), Matrix(rows(a, -1, "state array")));
  }
  return arrays;
}

// A MemoryError that says what was too large and which parameter makes it smaller.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::string in_words(double bytes) {
  return std::to_string(static_cast<std::int64_t>(bytes)) + " bytes (" + std::to_string(bytes / (1 << 30)) + " GiB)";
}

// Work with a model; where memory runs out, `words` describes the model.
template <class Work, class Words>
auto or_out_of_memory(Work&& work, Words&& words) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(words());
  }
}

// Whether a model is whole: a change that ends in an exception (memory ran out) may have been made by half, and from
// then on nothing is answered. All of it with the model's lock held.
class Wholeness {
 public:
  void check() const {
    if (torn_)
      throw std::runtime_error(
          "memory ran out while this model was learning and left it half changed: load a saved copy, or fit it again");
  }
  template <class Work>
  void change(Work&& work) {
    check();
    torn_ = true;
    work();
    torn_ = false;
  }

 private:
  bool torn_ = false;
};

// Rows learned between two checks for Ctrl-C.
constexpr Index kRowsBetweenSignals = 1024;

void bind_config(py::module_& m);
void bind_forward(py::module_& m);
void bind_kernel(py::module_& m);
void bind_lssvm(py::module_& m);
void bind_lstd(py::module_& m);
void bind_blocks_columns(py::module_& m);
void bind_blocks_inverse(py::module_& m);
void bind_blocks_kernel(py::module_& m);
void bind_blocks_rls(py::module_& m);
void bind_literal_model(py::module_& m);
void bind_online_model(py::module_& m);
void bind_ridge(py::module_& m);
void bind_select(py::module_& m);
void bind_subset(py::module_& m);
void bind_widths(py::module_& m);

}  // namespace kernsift
