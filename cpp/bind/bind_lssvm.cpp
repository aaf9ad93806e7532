// LS-SVM on batches, dense and pruned. Nothing bound here is kept by an estimator: they carry arrays.
#include "bind/bind.hpp"
#include "core/batch/lssvm.hpp"
#include "core/batch/sls_path.hpp"
#include "core/batch/sparse_lssvm.hpp"

namespace kernsift {

namespace {

std::vector<Index> indices(const py::array_t<std::int64_t, py::array::c_style>& a, Index below) {
  if (a.ndim() != 1) throw std::invalid_argument("row numbers must be one-dimensional");
  std::vector<Index> out(a.data(), a.data() + a.shape(0));
  for (const Index i : out)
    if (i < 0 || i >= below) throw std::invalid_argument("a row number is out of range");
  return out;
}

py::array_t<std::int64_t> index_array(const std::vector<Index>& v) {
  py::array_t<std::int64_t> out(static_cast<py::ssize_t>(v.size()));
  std::copy(v.begin(), v.end(), out.mutable_data());
  return out;
}

Eigen::Map<const RowMatrix> targets(const Array& Y, Index n) {
  const auto y = rows(Y, -1, "Y");
  if (y.rows() != n) throw std::invalid_argument("Y must have one row per row of X");
  return y;
}

py::dict to_dict(const PruningPath& path) {
  py::dict out;
  out["order"] = index_array(path.order);
  out["n_basis"] = index_array(path.sizes);
  out["cost"] = to_numpy(path.cost);
  out["loo"] = vector_to_numpy(path.loo);
  Array coef = array(static_cast<Index>(path.coef.size()));
  std::copy(path.coef.begin(), path.coef.end(), coef.mutable_data());
  out["coef"] = coef;
  out["intercept"] = to_numpy(path.intercept);
  return out;
}

py::object dense_solve(const Kernel& kernel, const Array& X, const Array& Y, const Array& weights, double alpha,
                       bool bias, bool keep_factor) {
  const auto x = rows(X, kernel.n_features(), "X");
  const auto y = targets(Y, x.rows());
  const auto v = vector(weights, x.rows(), "sample_weight");
  DenseSolution solution;
  bool solved;
  {
    py::gil_scoped_release unlocked;  // only the buffers above are touched
    solved = solve_dense(kernel, x, y, v, alpha, bias, solution);
  }
  if (!solved) return py::none();
  py::dict out;
  out["coef"] = to_numpy(solution.alpha);
  out["intercept"] = vector_to_numpy(solution.intercept);
  out["cost"] = vector_to_numpy(solution.cost);
  if (keep_factor) {  // as numpy sees a row-major array, the upper factor L'
    Array factor = array(x.rows(), x.rows());
    rows_out(factor).transpose() = Matrix::Zero(x.rows(), x.rows());
    rows_out(factor).transpose().triangularView<Eigen::Lower>() = solution.factor.topRows(x.rows());
    out["factor"] = factor;
  }
  return out;
}

// The factor as `dense_solve` gives it.
Eigen::Map<const Matrix> lower_factor(const Array& factor, Index n) {
  rows(factor, n, "factor");
  return {factor.data(), n, n};
}

struct Start {
  SparseBasis basis;
  Index rows_of_x;
};

}  // namespace

void bind_lssvm(py::module_& m) {
  m.def("dense_solve", &dense_solve, py::arg("kernel"), py::arg("X").noconvert(), py::arg("Y").noconvert(),
        py::arg("sample_weight").noconvert(), py::arg("alpha"), py::arg("fit_intercept"),
        py::arg("keep_factor") = false);
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
      py::arg("factor").noconvert(), py::arg("sample_weight").noconvert(), py::arg("alpha"),
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
      py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("factor").noconvert(),
      py::arg("sample_weight").noconvert(), py::arg("fit_intercept"), py::arg("X").noconvert());
  m.def(
      "dense_loo_grid",
      [](const Kernel& kernel, const Array& X, const Array& Y, const Array& weights, const Array& parts, const Array& alphas,
         bool bias) {
        const auto x = rows(X, kernel.n_features(), "X");
        const auto y = targets(Y, x.rows());
        const auto v = vector(weights, x.rows(), "sample_weight");
        const auto part = vector(parts, x.rows(), "part");
        const auto grid = vector(alphas, -1, "alphas");
        Array out = array(grid.size());
        auto errors = vector_out(out);
        py::gil_scoped_release unlocked;
        errors = dense_loo_grid(kernel, x, y, v, part, grid, bias);
        return out;
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("Y").noconvert(), py::arg("sample_weight").noconvert(),
      py::arg("part").noconvert(), py::arg("alphas").noconvert(), py::arg("fit_intercept"));
  m.def(
      "sls_path",
      [](const Kernel& kernel, const Array& X, const Array& Y, const Array& weights, const Array& parts, double alpha,
         bool bias, bool by_cost, double step, Index must_hit) -> py::object {
        const auto x = rows(X, kernel.n_features(), "X");
        const auto y = targets(Y, x.rows());
        const auto v = vector(weights, x.rows(), "sample_weight");
        const auto part = vector(parts, x.rows(), "part");
        PruningPath path;
        bool solved;
        {
          py::gil_scoped_release unlocked;
          solved = sls_path(kernel, x, y, v, part, alpha, bias, {by_cost, step, must_hit}, path);
        }
        if (!solved) return py::none();
        return to_dict(path);
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("Y").noconvert(), py::arg("sample_weight").noconvert(),
      py::arg("part").noconvert(), py::arg("alpha"), py::arg("fit_intercept"), py::arg("by_cost"), py::arg("step"), py::arg("must_hit"));
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
      py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("F").noconvert(),
      py::arg("mean").noconvert(), py::arg("total"), py::arg("X").noconvert());

  py::class_<Start>(m, "SparseBasis")
      .def(py::init([](const Kernel& kernel, const Array& X,
                       const py::array_t<std::int64_t, py::array::c_style>& candidates, bool pivot) {
             const auto x = rows(X, kernel.n_features(), "X");
             auto chosen = indices(candidates, x.rows());
             py::gil_scoped_release unlocked;
             return Start{SparseBasis(kernel, x, std::move(chosen), pivot), x.rows()};
           }),
           py::arg("kernel"), py::arg("X").noconvert(), py::arg("candidates"), py::arg("pivot"))
      // Its only way out of a process is to be made again.
      .def("__reduce__",
           [](const Start&) -> py::object { throw py::type_error("a SparseBasis cannot be pickled"); })
      .def_property_readonly("rows", [](const Start& self) { return index_array(self.basis.rows()); })
      .def_property_readonly("factor", [](const Start& self) { return to_numpy(self.basis.factor()); })
      .def(
          "solve",
          [](const Start& self, const Array& Y, const Array& weights, double alpha, bool bias) -> py::object {
            const auto y = targets(Y, self.rows_of_x);
            const auto v = vector(weights, self.rows_of_x, "sample_weight");
            SparseSolution solution;
            bool solved;
            {
              py::gil_scoped_release unlocked;
              solved = solve_sparse(self.basis, y, v, alpha, bias, solution);
            }
            if (!solved) return py::none();
            py::dict out;
            out["coef"] = to_numpy(solution.beta());
            out["intercept"] = vector_to_numpy(solution.intercept());
            out["cost"] = vector_to_numpy(solution.cost);
            out["residual"] = to_numpy(solution.residual);
            out["slack"] = vector_to_numpy(solution.slack);
            out["F"] = to_numpy(solution.F);
            out["mean"] = vector_to_numpy(solution.mean);
            return out;
          },
          py::arg("Y").noconvert(), py::arg("sample_weight").noconvert(), py::arg("alpha"), py::arg("fit_intercept"))
      .def(
          "loo_grid",
          [](const Start& self, const Array& Y, const Array& weights, const Array& parts, const Array& alphas,
         bool bias) {
            const auto y = targets(Y, self.rows_of_x);
            const auto v = vector(weights, self.rows_of_x, "sample_weight");
            const auto part = vector(parts, self.rows_of_x, "part");
            const auto grid = vector(alphas, -1, "alphas");
            Array out = array(grid.size());
            auto errors = vector_out(out);
            py::gil_scoped_release unlocked;
            errors = sparse_loo_grid(self.basis, y, v, part, grid, bias);
            return out;
          },
          py::arg("Y").noconvert(), py::arg("sample_weight").noconvert(), py::arg("part").noconvert(),
          py::arg("alphas").noconvert(), py::arg("fit_intercept"))
      .def(
          "path",
          [](const Start& self, const Array& Y, const Array& weights, const Array& parts, double alpha, bool bias,
             bool by_cost, double step, Index must_hit) -> py::object {
            const auto y = targets(Y, self.rows_of_x);
            const auto v = vector(weights, self.rows_of_x, "sample_weight");
            const auto part = vector(parts, self.rows_of_x, "part");
            SparseSolution solution;
            PruningPath path;
            bool solved;
            {
              py::gil_scoped_release unlocked;
              solved = solve_sparse(self.basis, y, v, alpha, bias, solution);
              if (solved) path = isls_path(self.basis, std::move(solution), v, part, {by_cost, step, must_hit});
            }
            if (!solved) return py::none();
            return to_dict(path);
          },
          py::arg("Y").noconvert(), py::arg("sample_weight").noconvert(), py::arg("part").noconvert(),
          py::arg("alpha"), py::arg("fit_intercept"), py::arg("by_cost"), py::arg("step"), py::arg("must_hit"));
}

}  // namespace kernsift
