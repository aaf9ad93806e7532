// Learning widths: a short-lived object over the rows it tunes on.
#include <memory>

#include "bind/bind.hpp"
#include "core/batch/width_gradient.hpp"

namespace kernsift {

namespace {

struct BoundWidths {
  WidthProblem problem;
  std::mutex lock;
};

std::unique_ptr<BoundWidths> make_widths(const std::string& kernel, const Array& X, const Array& landmarks,
                                         const Array& Y, const Array& weight, const Array& within, bool fit_intercept,
                                         double jitter, const py::object& warp, double prior, int threads) {
  const auto x = rows(X, -1, "X");
  const auto z = rows(landmarks, x.cols(), "landmarks");
  const auto y = rows(Y, -1, "Y");
  if (y.rows() != x.rows()) throw std::invalid_argument("X and Y must have as many rows as each other");
  const auto v = vector(weight, x.rows(), "weight"), s = vector(within, x.rows(), "within");
  return std::unique_ptr<BoundWidths>(new BoundWidths{
      WidthProblem(kernel_kind(kernel), x, z, y, v, s, fit_intercept, jitter, to_warp(warp), prior, threads), {}});
}

// (value, d/d log gamma, d/d log alpha, d/d landmarks or None); the value is None where the numbers break.
py::tuple evaluate(BoundWidths& self, const Array& gamma, double alpha, const std::string& criterion, double toll,
                   bool gradient, const py::object& landmarks) {
  const Vector g = vector(gamma, self.problem.n_widths(), "gamma");
  const WidthCriterion what = width_criterion(criterion);
  const bool move = !landmarks.is_none();
  RowMatrix z;
  if (move) {
    const auto given = landmarks.cast<Array>();
    z = rows(given, self.problem.n_features(), "landmarks");
  }
  WidthValue out;
  {
    py::gil_scoped_release unlocked;
    const std::lock_guard<std::mutex> guard(self.lock);
    if (move) self.problem.set_landmarks(std::move(z));
    out = self.problem.evaluate(g, alpha, what, toll, gradient, move);
  }
  if (!out.sound) return py::make_tuple(py::none(), py::none(), py::none(), py::none());
  if (!gradient) return py::make_tuple(out.value, py::none(), py::none(), py::none());
  py::object moved = py::none();
  if (out.landmarks.size() > 0) moved = to_numpy(out.landmarks);
  return py::make_tuple(out.value, vector_to_numpy(out.log_gamma), out.log_alpha, moved);
}

// The criterion of a search at a point, and its gradient if requested.
py::object objective(BoundWidths& self, const Array& point, const std::string& criterion, double toll, bool gradient) {
  const auto x = vector(point, -1, "point");
  const WidthCriterion what = width_criterion(criterion);
  double value;
  Vector slope;
  {
    py::gil_scoped_release unlocked;
    const std::lock_guard<std::mutex> guard(self.lock);
    value = self.problem.objective(x, what, toll, gradient ? &slope : nullptr);
  }
  if (!gradient) return py::float_(value);
  return py::make_tuple(value, vector_to_numpy(slope));
}

double error_on(BoundWidths& self, const Array& point, const Array& X, const Array& Y, const Array& weight,
                const Array& within) {
  const auto p = vector(point, self.problem.n_widths() + 1, "point");
  const auto x = rows(X, self.problem.n_features(), "X");
  const auto y = rows(Y, -1, "Y");
  const auto v = vector(weight, x.rows(), "weight"), s = vector(within, x.rows(), "within");
  if (y.rows() != x.rows()) throw std::invalid_argument("X and Y must have as many rows as each other");
  py::gil_scoped_release unlocked;
  const std::lock_guard<std::mutex> guard(self.lock);
  return self.problem.error_on(p, x, y, v, s);
}

}  // namespace

void bind_widths(py::module_& m) {
  const py::kw_only named;
  py::class_<BoundWidths>(m, "WidthProblem")
      .def(py::init(&make_widths), py::arg("kernel"), named, py::arg("X").noconvert(), py::arg("landmarks").noconvert(),
           py::arg("Y").noconvert(), py::arg("weight").noconvert(), py::arg("within").noconvert(),
           py::arg("fit_intercept"), py::arg("jitter"), py::arg("warp") = py::none(), py::arg("prior") = 0.0,
           py::arg("threads") = 1)
      .def("__reduce__",
           [](const BoundWidths&) -> py::object {
             throw py::type_error("a WidthProblem is made for one search and is not stored");
           })
      .def("evaluate", &evaluate, py::arg("gamma").noconvert(), py::arg("alpha"), named, py::arg("criterion") = "loo",
           py::arg("toll") = 1.0, py::arg("gradient") = true, py::arg("landmarks") = py::none())
      .def("objective", &objective, py::arg("point").noconvert(), named, py::arg("criterion"), py::arg("toll"),
           py::arg("gradient"))
      .def("error_on", &error_on, py::arg("point").noconvert(), named, py::arg("X").noconvert(),
           py::arg("Y").noconvert(), py::arg("weight").noconvert(), py::arg("within").noconvert())
      .def_static("memory_needed", &WidthProblem::memory_needed, named, py::arg("n"), py::arg("m"), py::arg("d"),
                  py::arg("problems") = 1);
}

}  // namespace kernsift
