#include "bind/bind.hpp"
#include "core/kernel/expand_single.hpp"
#include "core/kernel/gram.hpp"
#include "core/kernel/kernels.hpp"

namespace kernsift {

namespace {

PreparedRows prepare(const Kernel& kernel, const Rows& X) {
  PreparedRows rows;
  kernel.prepare(X, rows);
  return rows;
}

Array matrix(const Kernel& kernel, const Array& X, const Array& Y) {
  const auto x = rows(X, kernel.n_features(), "X");
  const auto y = rows(Y, kernel.n_features(), "Y");
  Array out = array(x.rows(), y.rows());
  auto result = rows_out(out);
  py::gil_scoped_release unlocked;  // only the buffers above are touched
  const PreparedRows left = prepare(kernel, x), right = prepare(kernel, y);
  Panels elements(kernel.n_features());
  elements.reserve(y.rows());
  for (Index i = 0; i < y.rows(); ++i) elements.append(right.coordinates(i), right.norm(i));
  constexpr Index kTile = 256;
  Matrix K(elements.padded(), std::min(kTile, x.rows()));
  for (Index first = 0; first < x.rows(); first += kTile) {
    const Index count = std::min(kTile, x.rows() - first);
    kernel.block(elements, left, first, count, K);
    result.middleRows(first, count) = K.topLeftCorner(y.rows(), count).transpose();
  }
  return out;
}

// f(x) = intercept + sum_i coef_i k(vectors_i, x) for each row of X, without an n x m matrix.
Array expand(const Kernel& kernel, const Array& vectors, const Array& coef, const Array& intercept, const Array& X,
             int threads) {
  const auto v = rows(vectors, kernel.n_features(), "vectors");
  const auto c = rows(coef, -1, "coef");
  const auto b = vector(intercept, c.cols(), "intercept");
  const auto x = rows(X, kernel.n_features(), "X");
  if (c.rows() != v.rows()) throw std::invalid_argument("coef must have one row per vector");
  Array out = array(x.rows(), c.cols());
  auto result = rows_out(out);
  py::gil_scoped_release unlocked;  // only the buffers above are touched
  expand_rows(kernel, v, c, b, x, threads, result);
  return out;
}

using SingleArray = py::array_t<float, py::array::c_style>;

// The same for rows in single precision, answered in it.
SingleArray expand_single(const Kernel& kernel, const Array& vectors, const Array& coef, const Array& intercept,
                          const SingleArray& X, Index threads) {
  const auto v = rows(vectors, kernel.n_features(), "vectors");
  const auto c = rows(coef, -1, "coef");
  const auto b = vector(intercept, c.cols(), "intercept");
  if (c.rows() != v.rows()) throw std::invalid_argument("coef must have one row per vector");
  if (X.ndim() != 2 || X.shape(1) != kernel.n_features()) throw std::invalid_argument("X has the wrong shape");
  SingleArray out({X.shape(0), static_cast<py::ssize_t>(c.cols())});
  using Single = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Single> x(X.data(), X.shape(0), X.shape(1));
  Eigen::Map<Single> result(out.mutable_data(), out.shape(0), out.shape(1));
  py::gil_scoped_release unlocked;  // only the buffers above are touched
  SingleExpansion(kernel, v, c, b).evaluate(x, result, threads);
  return out;
}

Array diagonal(const Kernel& kernel, const Array& X) {
  const auto x = rows(X, kernel.n_features(), "X");
  const PreparedRows prepared = prepare(kernel, x);
  Array out = array(x.rows());
  for (Index i = 0; i < x.rows(); ++i) out.mutable_at(i) = kernel.self(prepared, i);
  return out;
}

}  // namespace

void bind_kernel(py::module_& m) {
  m.def("kernel_table", [] {
    py::dict out;
    for (const KernelRow& row : kernel_table()) {
      py::dict facts;
      facts["stationary"] = row.stationary();
      facts["gamma"] = row.gamma;
      facts["slope"] = row.slope != nullptr;
      facts["smooth"] = row.smooth;
      facts["single"] = row.single != nullptr;
      facts["onnx"] = row.onnx;
      facts["c"] = row.c;
      facts["libsvm"] = row.libsvm;
      out[row.name] = facts;
    }
    return out;
  });
  py::class_<Kernel>(m, "Kernel")
      .def(py::init([](const std::string& name, const Array& gamma, int degree, double coef0, const Array& centre,
                       const py::object& warp) {
             return Kernel(kernel_kind(name), vector(gamma, -1, "gamma"), degree, coef0,
                           vector(centre, gamma.size(), "centre"), to_warp(warp));
           }),
           py::arg("name"), py::arg("gamma").noconvert(), py::arg("degree"), py::arg("coef0"),
           py::arg("centre").noconvert(), py::arg("warp") = py::none())
      .def("__reduce__",
           [](const Kernel& k) {
             py::tuple arguments = py::make_tuple(k.row().name, vector_to_numpy(k.gamma()), k.degree(), k.coef0(),
                                                  vector_to_numpy(k.centre()));
             if (!k.warp().none()) arguments = arguments + py::make_tuple(from_warp(k.warp()));
             return py::make_tuple(py::type::of<Kernel>(), arguments);
           })
      .def_property_readonly("warp", [](const Kernel& k) { return from_warp(k.warp()); })
      .def_property_readonly("name", [](const Kernel& k) { return k.row().name; })
      .def_property_readonly("stationary", &Kernel::stationary)
      .def_property_readonly("gamma", [](const Kernel& k) { return vector_to_numpy(k.gamma()); })
      .def_property_readonly("centre", [](const Kernel& k) { return vector_to_numpy(k.centre()); })
      .def_property_readonly("degree", &Kernel::degree)
      .def_property_readonly("coef0", &Kernel::coef0)
      .def("matrix", &matrix, py::arg("X").noconvert(), py::arg("Y").noconvert())
      .def("expand", &expand, py::arg("vectors").noconvert(), py::arg("coef").noconvert(),
           py::arg("intercept").noconvert(), py::arg("X").noconvert(), py::arg("threads") = 1)
      .def("expand_single", &expand_single, py::arg("vectors").noconvert(), py::arg("coef").noconvert(),
           py::arg("intercept").noconvert(), py::arg("X").noconvert(), py::arg("threads") = 1)
      .def("diagonal", &diagonal, py::arg("X").noconvert());
}

}  // namespace kernsift
