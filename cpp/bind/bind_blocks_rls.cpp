// kernsift.blocks: RecursiveLeastSquares.
#include <pybind11/stl.h>

#include "bind/blocks.hpp"
#include "core/base/limits.hpp"
#include "core/stream/least_squares_bank.hpp"

namespace kernsift {

template <>
Index size_of(const LeastSquaresBank& part) {
  return part.n_features();
}

namespace {

using Least = Block<LeastSquaresBank>;

double work_of(const Least& s) {
  const auto n = static_cast<double>(s.part.n_features());
  return n * n;
}

void check_range(const Least& s, double weight, const ConstVectorRef& y) {
  const double size = std::abs(weight);
  if (weight < 0 && s.part.forgets())
    throw std::invalid_argument("a row cannot be taken back where rows are forgotten: weight must not be negative");
  if (weight != 0 && !(size >= kSmallest && size <= kLargest))
    throw std::invalid_argument("weight must be 0 or between 1e-100 and 1e100 in size");
  if (y.size() > 0 && !(y.cwiseAbs().maxCoeff() <= kLargest))
    throw std::invalid_argument("y must be at most 1e100 in size");
}

template <class Read>
Array outputs_of(Least& s, Read&& read) {
  return vector_to_numpy(s.locked(10 * work_of(s), [&] { return Vector(read(s.part)); }));
}

}  // namespace

void bind_blocks_rls(py::module_& m) {
  py::class_<Least>(m, "RecursiveLeastSquares")
      .def(py::init([](Index n_features, Index n_outputs, double alpha, bool fit_intercept,
                       const std::vector<double>& forgetting) {
             if (n_features < 0 || n_outputs < 1) throw std::invalid_argument("n_features must not be negative");
             if (!(alpha >= kSmallest && alpha <= kLargest))
               throw std::invalid_argument("alpha must be positive, between 1e-100 and 1e100");
             if (forgetting.empty()) throw std::invalid_argument("forgetting must name one memory at least");
             for (const double each : forgetting)
               if (!(each > 0 && each <= 1)) throw std::invalid_argument("forgetting must be in (0, 1]");
             return std::make_unique<Least>(n_features, n_outputs, alpha, fit_intercept, forgetting);
           }),
           py::arg("n_features"), py::arg("n_outputs"), py::arg("alpha"), py::arg("fit_intercept"),
           py::arg("forgetting"))
      .def_property_readonly("n_features", [](const Least& s) { return s.part.n_features(); })
      .def_property_readonly("n_outputs", [](const Least& s) { return s.part.n_outputs(); })
      .def_property_readonly("rows", [](const Least& s) { return s.part.rows_seen(); })
      .def_property_readonly("n_refused", [](const Least& s) { return s.n_refused; })
      .def(
          "update",
          [](Least& s, const py::handle& x, const py::handle& y, double weight) {
            const Doubles row(x, "x");
            const auto values = row.vector(s.size());
            const Index outputs = s.part.n_outputs();
            if (outputs == 1 && PyFloat_Check(y.ptr())) {
              const double target = finite(PyFloat_AS_DOUBLE(y.ptr()), "y");
              check_range(s, weight, Eigen::Map<const Vector>(&target, 1));
              return weight == 0 ||
                     s.changed(work_of(s), [&] { return s.part.update(values.data(), &target, weight); });
            }
            const Doubles given(y, "y");
            if (given.dims() > 1 || given.n_columns() != outputs)
              given.fail("must be " + std::to_string(outputs) + " numbers");
            const auto targets = given.dims() == 0 ? given.rows(1).row(0) : given.rows(outputs).row(0);
            check_range(s, weight, targets.transpose());
            return weight == 0 ||
                   s.changed(work_of(s), [&] { return s.part.update(values.data(), targets.data(), weight); });
          },
          py::arg("x"), py::arg("y"), py::arg("weight") = 1.0)
      .def(
          "update_block",
          [](Least& s, const py::handle& X, const py::handle& y, const py::object& weights) {
            const Doubles given(X, "X"), targets(y, "y");
            const auto rows = given.rows(s.size());
            const auto Y = targets.targets(rows.rows(), s.part.n_outputs());
            const Vector v = weights_of(weights, rows.rows());
            for (const double weight : v) check_range(s, weight, Vector());
            check_range(s, 1.0, Eigen::Map<const Vector>(Y.data(), Y.size()));
            return s.locked(work_of(s) * static_cast<double>(rows.rows()), [&] {
              const Index refused = s.part.update_block(rows, Y, v);
              s.n_refused += refused;
              return refused;
            });
          },
          py::arg("X"), py::arg("y"), py::arg("weights") = py::none())
      .def(
          "grow",
          [](Least& s, Index features) {
            if (features < 1) throw std::invalid_argument("features must be at least 1");
            s.locked(work_of(s) * static_cast<double>(features), [&] { s.part.grow(features); });
          },
          py::arg("features") = 1)
      .def(
          "delete",
          [](Least& s, Index i) {
            i = index_of(i, s.size());
            s.locked(work_of(s), [&] { s.part.remove(i); });
          },
          py::arg("i"))
      .def(
          "predict",
          [](Least& s, const py::handle& X) {
            const Doubles given(X, "X");
            const auto rows = given.rows(s.size());
            Array out = array(rows.rows(), s.part.n_outputs());
            auto result = rows_out(out);
            s.locked(static_cast<double>(rows.size()), [&] { s.part.predict(rows, result); });
            return out;
          },
          py::arg("X"))
      .def(
          "predict_one",
          [](Least& s, const py::handle& x) -> py::object {
            const Doubles given(x, "x");
            const auto values = given.vector(s.size());
            const Eigen::Map<const RowMatrix> row(values.data(), 1, values.size());
            if (s.part.n_outputs() == 1) {
              RowMatrix out(1, 1);
              s.locked(0, [&] { s.part.predict(row, out); });
              return py::float_(out(0, 0));
            }
            Array out = array(s.part.n_outputs());
            s.locked(0, [&] { s.part.predict(row, rows_of(out, 1)); });
            return std::move(out);
          },
          py::arg("x"))
      .def(
          "variance",
          [](Least& s, const py::handle& X) {
            const Doubles given(X, "X");
            const auto rows = given.rows(s.size());
            const RowMatrix out =
                s.locked(work_of(s) * static_cast<double>(rows.rows()), [&] { return s.part.variance(rows); });
            return to_numpy(out);
          },
          py::arg("X"))
      .def("deletion_scores",
           [](Least& s) { return outputs_of(s, [](LeastSquaresBank& p) { return p.heaviest().deletion_scores(); }); })
      .def("coefficients",
           [](Least& s) { return to_numpy(s.locked(work_of(s), [&] { return s.part.coefficients(); })); })
      .def("intercept", [](Least& s) { return outputs_of(s, [](LeastSquaresBank& p) { return p.intercept(); }); })
      .def("cost", [](Least& s) { return outputs_of(s, [](LeastSquaresBank& p) { return p.heaviest().cost(); }); })
      .def("noise_variance",
           [](Least& s) { return outputs_of(s, [](LeastSquaresBank& p) { return p.heaviest().noise_variance(); }); })
      .def("memories",
           [](Least& s) {
             const auto [weights, errors] =
                 s.locked(0, [&] { return std::make_pair(s.part.weights(), s.part.errors()); });
             return py::make_tuple(vector_to_numpy(weights), to_numpy(errors));
           })
      .def_property_readonly("forgets", [](const Least& s) { return s.part.forgets(); })
      .def("gcv", [](Least& s) { return outputs_of(s, [](LeastSquaresBank& p) { return p.heaviest().gcv(); }); })
      .def("evidence",
           [](Least& s) { return outputs_of(s, [](LeastSquaresBank& p) { return p.heaviest().log_evidence(); }); })
      .def("dof", [](Least& s) { return s.locked(work_of(s), [&] { return s.part.heaviest().dof(); }); })
      .def("covariance",
           [](Least& s) { return to_numpy(s.locked(work_of(s), [&] { return s.part.heaviest().covariance(); })); })
      .def("state",
           [](Least& s) {
             Arrays arrays;
             s.locked(work_of(s), [&] { s.part.save(arrays); });
             return to_dict(arrays);
           })
      .def(
          "restore",
          [](Least& s, const py::dict& state, Index n_refused) {
            const Arrays arrays = from_dict(state);
            s.locked(0, [&] {
              s.part.load(arrays);
              s.n_refused = n_refused;
            });
          },
          py::arg("state"), py::arg("n_refused"));
}

}  // namespace kernsift
