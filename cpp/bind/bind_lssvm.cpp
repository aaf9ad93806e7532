// LS-SVM on batches, dense and pruned. Nothing bound here is kept by an estimator: they carry arrays.
#include <memory>
#include <numeric>

#include "bind/bind.hpp"
#include "core/batch/lssvm_problem.hpp"

namespace kernsift {

namespace {

py::dict to_dict(const PruningPath& path) {
  return py::dict("order"_a = from_indices(path.order), "n_basis"_a = from_indices(path.sizes),
                  "cost"_a = to_numpy(path.cost), "loo"_a = vector_to_numpy(path.loo),
                  "coef"_a = from_doubles(path.coef), "intercept"_a = to_numpy(path.intercept),
                  "alpha"_a = from_doubles(path.alpha));
}

// The factor as `solve` gives it.
Eigen::Map<const Matrix> lower_factor(const Array& factor, Index n) {
  rows(factor, n, "factor");
  return {factor.data(), n, n};
}

// A problem and the arrays it reads.
template <class Problem>
struct Bound {
  Array X, Y;
  std::unique_ptr<Problem> problem;
};

template <class Problem, class... More>
std::unique_ptr<Bound<Problem>> make_problem(const Kernel& kernel, const Array& X, const Array& Y,
                                             const py::object& part, const py::object& start, bool bias, More... more) {
  const auto x = rows(X, kernel.n_features(), "X");
  const auto y = rows(Y, -1, "Y");
  if (y.rows() != x.rows()) throw std::invalid_argument("Y must have one row per row of X");
  const Vector whole = Vector::Ones(x.rows());
  const Vector parts = part.is_none() ? whole : Vector(vector(part.cast<Array>(), x.rows(), "part"));
  std::vector<Index> first(x.rows());
  std::iota(first.begin(), first.end(), Index{0});
  if (!start.is_none()) first = to_indices(start.cast<Indices>(), x.rows());
  py::gil_scoped_release unlocked;
  auto problem = std::make_unique<Problem>(kernel, x, y, parts, std::move(first), bias, more...);
  return std::unique_ptr<Bound<Problem>>(new Bound<Problem>{X, Y, std::move(problem)});
}

py::dict solved(const DenseProblem& problem, const ConstVectorRef& v, double alpha, bool keep_factor) {
  DenseSolution solution;
  {
    py::gil_scoped_release unlocked;  // the problem does not change
    solution = problem.solve(v, alpha);
  }
  py::dict out("coef"_a = to_numpy(solution.alpha), "intercept"_a = vector_to_numpy(solution.intercept),
               "cost"_a = vector_to_numpy(solution.cost));
  if (keep_factor) {  // as numpy sees a row-major array, the upper factor L'
    const Index n = solution.alpha.rows();
    Array factor = array(n, n);
    rows_out(factor).transpose() = Matrix::Zero(n, n);
    rows_out(factor).transpose().triangularView<Eigen::Lower>() = solution.factor.topRows(n);
    out["factor"] = factor;
  }
  return out;
}

py::dict solved(const SparseProblem& problem, const ConstVectorRef& v, double alpha, bool) {
  SparseSolution solution;
  {
    py::gil_scoped_release unlocked;  // the problem does not change
    solution = problem.solve(v, alpha);
  }
  return py::dict("coef"_a = to_numpy(solution.beta()), "intercept"_a = vector_to_numpy(solution.intercept()),
                  "cost"_a = vector_to_numpy(solution.cost), "residual"_a = to_numpy(solution.residual),
                  "slack"_a = vector_to_numpy(solution.slack), "F"_a = to_numpy(solution.F),
                  "mean"_a = vector_to_numpy(solution.mean));
}

// What both problems have.
template <class Problem>
void bind_problem(py::class_<Bound<Problem>>& bound) {
  using Self = const Bound<Problem>;
  const py::kw_only named;
  const auto weight = py::arg("sample_weight").noconvert();
  const auto alpha = py::arg("alpha");
  const auto weights = [](Self& self, const Array& v) { return vector(v, self.problem->rows_of_x(), "sample_weight"); };
  bound
      .def("__reduce__",
           [](Self&) -> py::object { throw py::type_error("a problem is made for one fit and cannot be pickled"); })
      .def_property_readonly("rows", [](Self& self) { return from_indices(self.problem->rows()); })
      .def(
          "solve",
          [=](Self& self, const Array& v, double a, bool keep_factor) {
            return solved(*self.problem, weights(self, v), a, keep_factor);
          },
          weight, alpha, named, py::arg("keep_factor") = false)
      .def(
          "residuals",
          [=](Self& self, const Array& v, double a) {
            const auto w = weights(self, v);
            Matrix out;
            {
              py::gil_scoped_release unlocked;
              out = self.problem->residuals(w, a);
            }
            return to_numpy(out);
          },
          weight, alpha)
      .def(
          "robust_weights",
          [=](Self& self, const Array& v, double a, int rounds) {
            const auto w = weights(self, v);
            RobustWeights out;
            {
              py::gil_scoped_release unlocked;
              out = robust_weights([&](const Vector& now) { return self.problem->residuals(now, a); }, w, rounds);
            }
            return py::make_tuple(vector_to_numpy(out.factor), out.change);
          },
          weight, alpha, named, py::arg("rounds"))
      .def(
          "loo_grid",
          [=](Self& self, const Array& v, const Array& alphas) {
            const auto w = weights(self, v);
            const auto grid = vector(alphas, -1, "alphas");
            Vector out;
            {
              py::gil_scoped_release unlocked;
              out = self.problem->loo_grid(w, grid);
            }
            return vector_to_numpy(out);
          },
          weight, py::arg("alphas").noconvert())
      .def(
          "path",
          [=](Self& self, const Array& v, double a, const py::object& alphas, bool by_cost, double step,
              Index must_hit) {
            const auto w = weights(self, v);
            const Vector grid = alphas.is_none() ? Vector() : Vector(vector(alphas.cast<Array>(), -1, "alphas"));
            PruningPath out;
            {
              py::gil_scoped_release unlocked;
              out = self.problem->path(w, a, grid, {by_cost, step, must_hit});
            }
            return to_dict(out);
          },
          weight, alpha, named, py::arg("alphas") = py::none(), py::arg("by_cost"), py::arg("step"),
          py::arg("must_hit"));
}

}  // namespace

void bind_lssvm(py::module_& m) {
  const py::kw_only named;
  py::class_<Bound<DenseProblem>> dense(m, "DenseProblem");
  dense.def(py::init(&make_problem<DenseProblem>), py::arg("kernel"), named, py::arg("X").noconvert(),
            py::arg("Y").noconvert(), py::arg("part") = py::none(), py::arg("start") = py::none(),
            py::arg("fit_intercept"));
  bind_problem(dense);
  dense.def_static("memory_needed", &DenseProblem::memory_needed, named, py::arg("n"), py::arg("d"), py::arg("outputs"),
                   py::arg("alphas"));
  dense.def_static("path_memory", &DenseProblem::path_memory, named, py::arg("n"), py::arg("start"), py::arg("d"),
                   py::arg("outputs"), py::arg("step"));
  py::class_<Bound<SparseProblem>> sparse(m, "SparseProblem");
  sparse.def(py::init(&make_problem<SparseProblem, bool>), py::arg("kernel"), named, py::arg("X").noconvert(),
             py::arg("Y").noconvert(), py::arg("part") = py::none(), py::arg("start") = py::none(),
             py::arg("fit_intercept"), py::arg("pivot") = true);
  bind_problem(sparse);
  sparse
      .def_property_readonly("factor",
                             [](const Bound<SparseProblem>& self) { return to_numpy(self.problem->factor()); })
      .def_static("path_memory", &SparseProblem::path_memory, named, py::arg("n"), py::arg("start"), py::arg("d"),
                  py::arg("outputs"), py::arg("step"));
  m.attr("SETTLED") = kSettled;
  m.def(
      "dense_slack",
      [](const Array& factor, const Array& weights, double alpha, bool bias) {
        const auto v = vector(weights, -1, "sample_weight");
        const auto L = lower_factor(factor, v.size());
        Array out = array(v.size());
        auto slack = vector_out(out);
        py::gil_scoped_release unlocked;
        slack = dense_slack(L, v, alpha, bias);
        return out;
      },
      py::arg("factor").noconvert(), named, py::arg("sample_weight").noconvert(), py::arg("alpha"),
      py::arg("fit_intercept"));
  m.def(
      "dense_variance",
      [](const Kernel& kernel, const Array& vectors, const Array& factor, const Array& weights, bool bias,
         const Array& X) {
        const auto s = rows(vectors, kernel.n_features(), "vectors");
        const auto x = rows(X, kernel.n_features(), "X");
        const auto v = vector(weights, s.rows(), "sample_weight");
        const auto L = lower_factor(factor, s.rows());
        Array out = array(x.rows());
        auto variance = vector_out(out);
        py::gil_scoped_release unlocked;
        dense_variance(kernel, s, L, v, bias, x, variance);
        return out;
      },
      py::arg("kernel"), named, py::arg("vectors").noconvert(), py::arg("factor").noconvert(),
      py::arg("sample_weight").noconvert(), py::arg("fit_intercept"), py::arg("X").noconvert());
  m.def(
      "dense_covariance",
      [](const Kernel& kernel, const Array& vectors, const Array& factor, const Array& weights, double alpha, bool bias,
         const Array& X) {
        const auto s = rows(vectors, kernel.n_features(), "vectors");
        const auto x = rows(X, kernel.n_features(), "X");
        const auto v = vector(weights, s.rows(), "sample_weight");
        const auto L = lower_factor(factor, s.rows());
        Array out = array(x.rows(), x.rows());
        auto covariance = rows_out(out);
        py::gil_scoped_release unlocked;
        covariance = dense_covariance(kernel, s, L, v, alpha, bias, x);
        return out;
      },
      py::arg("kernel"), named, py::arg("vectors").noconvert(), py::arg("factor").noconvert(),
      py::arg("sample_weight").noconvert(), py::arg("alpha"), py::arg("fit_intercept"), py::arg("X").noconvert());
  m.def(
      "sparse_covariance",
      [](const Kernel& kernel, const Array& vectors, const Array& L, const Array& F, const Array& mean, double total,
         double alpha, const Array& X) {
        const auto s = rows(vectors, kernel.n_features(), "vectors");
        const auto x = rows(X, kernel.n_features(), "X");
        const Matrix l = rows(L, s.rows(), "L"), f = rows(F, s.rows(), "F");
        if (l.rows() != s.rows() || f.rows() != s.rows()) throw std::invalid_argument("L and F must be square");
        const auto centre = vector(mean, s.rows(), "mean");
        Array out = array(x.rows(), x.rows());
        auto covariance = rows_out(out);
        {
          py::gil_scoped_release unlocked;
          covariance = sparse_covariance(kernel, s, l, f, centre, total, alpha, x);
        }
        return out;
      },
      py::arg("kernel"), named, py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("F").noconvert(),
      py::arg("mean").noconvert(), py::arg("total"), py::arg("alpha"), py::arg("X").noconvert());
  m.def(
      "dense_log_det",
      [](const Array& factor, const Array& weights, double alpha, bool bias) {
        const auto v = vector(weights, -1, "sample_weight");
        const auto L = lower_factor(factor, v.size());
        py::gil_scoped_release unlocked;
        return dense_log_det(L, v, alpha, bias);
      },
      py::arg("factor").noconvert(), named, py::arg("sample_weight").noconvert(), py::arg("alpha"),
      py::arg("fit_intercept"));
  m.def(
      "sparse_variance",
      [](const Kernel& kernel, const Array& vectors, const Array& L, const Array& F, const Array& mean, double total,
         const Array& X) {
        const auto s = rows(vectors, kernel.n_features(), "vectors");
        const auto x = rows(X, kernel.n_features(), "X");
        const Matrix l = rows(L, s.rows(), "L"), f = rows(F, s.rows(), "F");
        if (l.rows() != s.rows() || f.rows() != s.rows()) throw std::invalid_argument("L and F must be square");
        const auto centre = vector(mean, s.rows(), "mean");
        Array spread = array(x.rows()), delta = array(x.rows());
        auto spread_out = vector_out(spread), delta_out = vector_out(delta);
        {
          py::gil_scoped_release unlocked;
          sparse_variance(kernel, s, l, f, centre, total, x, spread_out, delta_out);
        }
        return py::make_tuple(spread, delta);
      },
      py::arg("kernel"), named, py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("F").noconvert(),
      py::arg("mean").noconvert(), py::arg("total"), py::arg("X").noconvert());
}

}  // namespace kernsift
