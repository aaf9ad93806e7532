// Choosing a ridge, and probabilities from scores.
#include "bind/bind.hpp"
#include "core/ridge/ridge_problem.hpp"
#include "core/ridge/temperature.hpp"

namespace kernsift {

void bind_ridge(py::module_& m) {
  m.def(
      "softmax",
      [](const Array& scores, double temperature) {
        const auto f = rows(scores, -1, "scores");
        Array out = array(f.rows(), f.cols() == 1 ? 2 : f.cols());
        auto p = rows_out(out);
        py::gil_scoped_release unlocked;
        softmax(f, temperature, p);
        return out;
      },
      py::arg("scores").noconvert(), py::arg("temperature"));
  m.def(
      "fit_temperature",
      [](const Array& scores, const Indices& codes, const Array& weight) {
        const auto f = rows(scores, -1, "scores");
        const auto v = vector(weight, f.rows(), "weight");
        to_indices(codes, f.cols() == 1 ? 2 : f.cols());
        if (codes.size() != f.rows()) throw std::invalid_argument("codes must have one entry per row");
        const Eigen::Map<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>> c(codes.data(), codes.size());
        py::gil_scoped_release unlocked;
        return fit_temperature(f, c, v);
      },
      py::arg("scores").noconvert(), py::arg("codes").noconvert(), py::arg("weight").noconvert());
  m.def(
      "calibrate",
      [](const Array& scores, const Array& targets, const Array& weights, double log_t, double information) {
        const auto f = rows(scores, -1, "scores");
        Temperature t{log_t, information};
        t.learn(f, rows(targets, f.cols(), "targets"), vector(weights, f.rows(), "weights"));
        return py::make_tuple(t.log_t, t.information);
      },
      py::arg("scores").noconvert(), py::arg("targets").noconvert(), py::arg("weights").noconvert(), py::arg("log_t"),
      py::arg("information"));
}

}  // namespace kernsift
