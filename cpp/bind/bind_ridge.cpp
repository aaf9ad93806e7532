// Choosing a ridge, and probabilities from scores.
#include "bind/bind.hpp"
#include "core/ridge/evidence.hpp"
#include "core/ridge/gcv.hpp"
#include "core/ridge/noise_field.hpp"
#include "core/ridge/ridge_problem.hpp"
#include "core/ridge/temperature.hpp"
#include "core/stream/set_coverage.hpp"

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
  // The state is that of learn_odds; of an older version, log T and its information.
  m.def(
      "calibrate",
      [](const Array& scores, const Array& targets, const Array& weights, const Array& state) {
        const auto f = rows(scores, -1, "scores");
        const auto t = rows(targets, f.cols(), "targets");
        const auto v = vector(weights, f.rows(), "weights");
        if (t.rows() != f.rows()) throw std::invalid_argument("targets must have one row per row of scores");
        const auto before = vector(state, -1, "state");
        if (before.size() != 2 && before.size() != 2 + SetCoverage::kNumbers)
          throw std::invalid_argument("state must be that of calibrate");
        Array out = array(f.rows() + 1, 2 + SetCoverage::kNumbers);
        auto states = rows_out(out);
        states.row(0).tail(SetCoverage::kNumbers) = SetCoverage::fresh().transpose();
        states.row(0).head(before.size()) = before.transpose();
        learn_odds(f, t, v, states);
        return out;
      },
      py::arg("scores").noconvert(), py::arg("targets").noconvert(), py::arg("weights").noconvert(),
      py::arg("state").noconvert());
  m.def(
      "noise_field",
      [](const Array& W, const Strided& L, const Array& predictions, const Array& scores, const Array& weight) {
        const auto w = rows(W, -1, "W");
        const auto f = rows(predictions, -1, "predictions");
        const auto z = rows(scores, -1, "scores");
        const auto v = vector(weight, w.rows(), "weight");
        const auto factor = triangle(L, w.cols(), "L");
        if (f.rows() != w.rows() || z.rows() != w.rows())
          throw std::invalid_argument("predictions and scores must have one row per row of W");
        NoiseField found;
        {
          py::gil_scoped_release unlocked;
          found = noise_field(w, factor, f, z, v);
        }
        return py::dict("coef"_a = to_numpy(found.coef), "slopes"_a = to_numpy(found.slopes),
                        "intercept"_a = vector_to_numpy(found.intercept), "level"_a = to_numpy(found.level),
                        "left_out"_a = to_numpy(found.left_out), "alpha"_a = found.alpha);
      },
      py::kw_only(), py::arg("W").noconvert(), py::arg("L"), py::arg("predictions").noconvert(),
      py::arg("scores").noconvert(), py::arg("weight").noconvert());
  m.def(
      "log_evidence",
      [](double n, double cost, double log_det, double sum_log_weights) {
        return log_evidence(n, cost, log_det, sum_log_weights);
      },
      py::arg("n"), py::arg("cost"), py::arg("log_det"), py::arg("sum_log_weights"));
  m.def("gcv_score", &gcv_score, py::arg("rows"), py::arg("rss"), py::arg("left"));
  m.def(
      "least_probabilities",
      [](const Array& states, double coverage) {
        const auto given = rows(states, -1, "states");
        const bool fresh = given.cols() == 0;  // of an older version
        if (!fresh && given.cols() != SetCoverage::kNumbers) throw std::invalid_argument("states must be of calibrate");
        Array out = array(given.rows());
        auto least = vector_out(out);
        for (Index r = 0; r < given.rows(); ++r)
          least[r] =
              SetCoverage(fresh ? SetCoverage::fresh() : Vector(given.row(r).transpose())).least_probability(coverage);
        return out;
      },
      py::arg("states").noconvert(), py::arg("coverage"));
}

}  // namespace kernsift
