#include <pybind11/stl.h>

#include "bind/bind.hpp"
#include "core/select/forward_selection.hpp"

namespace kernsift {

namespace {

StopRule stop_rule(const std::string& name) {
  if (name == "gcv") return StopRule::gcv;
  if (name == "alpha") return StopRule::alpha;
  if (name == "none") return StopRule::none;
  throw std::invalid_argument("stop '" + name + "' is unknown");
}

Criterion criterion(const std::string& name) {
  if (name == "residual") return Criterion::residual;
  if (name == "error-reduction") return Criterion::error_reduction;
  throw std::invalid_argument("selection '" + name + "' is unknown");
}

const char* ending_name(Ending ending) {
  switch (ending) {
    case Ending::running:
      return "running";
    case Ending::max_basis:
      return "max_basis";
    case Ending::gcv:
      return "gcv";
    case Ending::alpha:
      return "alpha";
    case Ending::error:
      return "error";
    case Ending::condition:
      return "condition";
    case Ending::exhausted:
      return "exhausted";
    case Ending::no_freedom:
      return "no_freedom";
  }
  return "";
}

Array to_numpy(const std::vector<double>& values) {
  Array out = array(static_cast<Index>(values.size()));
  std::copy(values.begin(), values.end(), out.mutable_data());
  return out;
}

using Indices = py::array_t<std::int64_t, py::array::c_style>;

py::dict forward_selection(const std::vector<Kernel>& kernels, const Array& X, const Array& Y, const Array& weights,
                           const Indices& candidates, const std::string& selection, Index n_candidates, bool reestimate,
                           double alpha, const std::string& stop, Index patience, double tol, Index max_basis,
                           double error_tol, double max_condition, bool fit_intercept, double n_given,
                           std::uint64_t seed, int threads, double cache_bytes) {
  if (kernels.empty()) throw std::invalid_argument("at least one kernel is needed");
  const auto x = rows(X, kernels[0].n_features(), "X");
  const auto y = rows(Y, -1, "Y");
  const auto v = vector(weights, x.rows(), "sample_weight");
  if (y.rows() != x.rows()) throw std::invalid_argument("Y must have one row per row of X");
  if (x.rows() < 1 || !(v.minCoeff() > 0)) throw std::invalid_argument("weights must be positive");
  std::vector<Index> allowed;
  const auto n_rows = candidates.ndim() == 1 ? candidates.shape(0) : py::ssize_t{0};
  for (std::size_t g = 0; g < kernels.size(); ++g)
    for (py::ssize_t i = 0; i < n_rows; ++i) {
      const Index row = candidates.at(i);
      if (row < 0 || row >= x.rows() || (i > 0 && row <= candidates.at(i - 1)))
        throw std::invalid_argument("candidates must be ascending row numbers");
      allowed.push_back(static_cast<Index>(g) * x.rows() + row);
    }
  SelectionSettings settings;
  settings.criterion = criterion(selection);
  settings.n_candidates = n_candidates;
  settings.reestimate = reestimate;
  settings.alpha = alpha;
  settings.stop = stop_rule(stop);
  settings.patience = patience;
  settings.tol = tol;
  settings.max_basis = max_basis;
  settings.error_tol = error_tol;
  settings.max_condition = max_condition;
  settings.fit_intercept = fit_intercept;
  settings.rows = n_given;
  settings.seed = seed;
  settings.threads = threads;

  const Vector root = v.cwiseSqrt();
  const Matrix targets = y;
  std::unique_ptr<KernelColumns> columns;
  std::unique_ptr<ForwardSelection> search;
  {
    py::gil_scoped_release unlocked;  // numpy buffers held by the caller, and objects of this call
    columns = std::make_unique<KernelColumns>(kernels, x, root, threads, static_cast<std::size_t>(cache_bytes));
    search = std::make_unique<ForwardSelection>(*columns, targets, root, std::move(allowed), settings);
  }
  for (bool more = true; more;) {
    {
      py::gil_scoped_release unlocked;  // as above
      more = search->step();
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();  // Ctrl-C between two columns
  }
  ForwardSelection::Model model;
  {
    py::gil_scoped_release unlocked;  // as above
    model = search->model();
  }
  const auto n_chosen = static_cast<py::ssize_t>(search->chosen().size());
  Indices chosen(n_chosen), width(n_chosen);
  for (py::ssize_t i = 0; i < n_chosen; ++i) {
    chosen.mutable_at(i) = search->chosen()[i] % x.rows();
    width.mutable_at(i) = search->chosen()[i] / x.rows();
  }
  py::dict out;
  out["chosen"] = chosen;
  out["width"] = width;
  out["n_basis"] = search->best();
  out["coef"] = kernsift::to_numpy(model.coef);
  out["intercept"] = vector_to_numpy(model.intercept);
  out["spread"] = kernsift::to_numpy(model.spread);
  out["rss"] = vector_to_numpy(model.rss);
  out["cost"] = vector_to_numpy(model.cost);
  out["trace"] = model.trace;
  out["rows"] = search->rows();
  out["gcv_path"] = to_numpy(search->gcv_path());
  out["alpha_path"] = to_numpy(search->alpha_path());
  out["rss_path"] = to_numpy(search->rss_path());
  out["n_dependent"] = search->n_dependent();
  out["ending"] = ending_name(search->ending());
  return out;
}

// The part by itself, for tests and for `pseudoinverse`.
Matrix padded(const OrthogonalBasis& basis, const Array& k) {
  Matrix column = Matrix::Zero(basis.padded_rows(), 1);
  column.col(0).head(basis.rows()) = vector(k, basis.rows(), "column");
  return column;
}

}  // namespace

void bind_forward(py::module_& m) {
  m.def("forward_selection", &forward_selection, py::arg("kernels"), py::arg("X").noconvert(), py::arg("Y").noconvert(),
        py::arg("sample_weight").noconvert(), py::arg("candidates").noconvert(), py::kw_only(), py::arg("selection"),
        py::arg("n_candidates"), py::arg("reestimate"), py::arg("alpha"), py::arg("stop"), py::arg("patience"),
        py::arg("tol"), py::arg("max_basis"), py::arg("error_tol"), py::arg("max_condition"), py::arg("fit_intercept"),
        py::arg("rows"), py::arg("seed"), py::arg("threads"), py::arg("cache_bytes"));

  m.def(
      "ridge_minimum",
      [](const Array& h, const Array& f2, double residual, double n_rows, double unpenalised, double start,
         double floor, int iterations, double tolerance, bool everywhere) {
        const auto hs = vector(h, -1, "h");
        const RidgeSpectrum s{hs, vector(f2, hs.size(), "f2"), residual, n_rows, unpenalised};
        return everywhere ? ridge_minimum(s, start, floor, iterations, tolerance)
                          : ridge_fixed_point(s, start, floor, iterations, tolerance);
      },
      py::arg("h").noconvert(), py::arg("f2").noconvert(), py::arg("residual"), py::arg("rows"), py::arg("unpenalised"),
      py::arg("start"), py::arg("floor"), py::arg("iterations"), py::arg("tolerance"), py::arg("everywhere"));
  m.def(
      "ridge_scores",
      [](const Array& h, const Array& f2, double residual, double n_rows, double unpenalised, double lambda) {
        const auto hs = vector(h, -1, "h");
        const RidgeSpectrum s{hs, vector(f2, hs.size(), "f2"), residual, n_rows, unpenalised};
        return py::make_tuple(s.gcv(lambda), s.rss(lambda), s.trace(lambda), s.cost(lambda), s.reestimate(lambda));
      },
      py::arg("h").noconvert(), py::arg("f2").noconvert(), py::arg("residual"), py::arg("rows"), py::arg("unpenalised"),
      py::arg("alpha"));

  py::class_<OrthogonalBasis>(m, "OrthogonalBasis")
      .def(py::init([](const Array& targets, int threads, double rank_tol) {
             return std::make_unique<OrthogonalBasis>(Matrix(rows(targets, -1, "targets")), threads, rank_tol);
           }),
           py::arg("targets").noconvert(), py::arg("threads") = 1, py::arg("rank_tol") = OrthogonalBasis::kRankTol)
      .def("__reduce__",
           [](const OrthogonalBasis&) -> py::object {
             throw py::type_error("an OrthogonalBasis cannot be pickled; it is rebuilt from its columns");
           })
      .def(
          "append", [](OrthogonalBasis& b, const Array& k) { return b.append(padded(b, k).col(0)); },
          py::arg("column").noconvert())
      .def("settle", &OrthogonalBasis::settle)
      .def_property_readonly("size", &OrthogonalBasis::size)
      .def_property_readonly("h", [](const OrthogonalBasis& b) { return vector_to_numpy(b.h()); })
      .def_property_readonly("f", [](const OrthogonalBasis& b) { return kernsift::to_numpy(Matrix(b.f())); })
      .def_property_readonly("U", [](const OrthogonalBasis& b) { return kernsift::to_numpy(Matrix(b.U())); })
      .def_property_readonly(
          "residual",
          [](const OrthogonalBasis& b) { return kernsift::to_numpy(Matrix(b.residual().topRows(b.rows()))); })
      .def_property_readonly("Q",
                             [](const OrthogonalBasis& b) {
                               Matrix Q(b.padded_rows(), b.size());
                               for (Index j = 0; j < b.size(); ++j) b.column(j, Q.col(j));
                               return kernsift::to_numpy(Matrix(Q.topRows(b.rows())));
                             })
      .def("pseudoinverse", [](OrthogonalBasis& b) { return kernsift::to_numpy(b.pseudoinverse()); });
}

}  // namespace kernsift
