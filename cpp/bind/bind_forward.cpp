#include <pybind11/stl.h>

#include <algorithm>
#include <functional>

#include "bind/bind.hpp"
#include "core/base/names.hpp"
#include "core/select/forward_noise.hpp"

namespace kernsift {

namespace {

Criterion criterion(const std::string& name) {
  constexpr Named<Criterion> criteria[] = {{Criterion::residual, "residual"},
                                           {Criterion::error_reduction, "error-reduction"}};
  return value_of(criteria, "selection", name);
}

const char* ending_name(Ending ending, StopRule stop) {
  switch (ending) {
    case Ending::running:
      return "running";
    case Ending::max_basis:
      return "max_basis";
    case Ending::score:
      return stop_rule_name(stop);
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

SelectionSettings settings_from(const std::string& selection, Index n_candidates, bool reestimate, double alpha,
                                const std::string& stop, Index patience, double tol, Index max_basis, double part,
                                double error_tol, double max_condition, bool fit_intercept, double rows,
                                std::uint64_t seed, int threads) {
  SelectionSettings settings;
  settings.criterion = criterion(selection);
  settings.n_candidates = n_candidates;
  settings.reestimate = reestimate;
  settings.alpha = alpha;
  settings.stop = stop_rule(stop);
  settings.patience = patience;
  settings.tol = tol;
  settings.max_basis = max_basis;
  settings.part = part;
  settings.error_tol = error_tol;
  settings.max_condition = max_condition;
  settings.fit_intercept = fit_intercept;
  settings.rows = rows;
  settings.seed = seed;
  settings.threads = threads;
  return settings;
}

py::dict forward_selection(const std::vector<Kernel>& kernels, const Array& X, const Array& Y, const Array& weights,
                           const Indices& candidates, const std::string& selection, Index n_candidates, bool reestimate,
                           double alpha, const std::string& stop, Index patience, double tol, Index max_basis,
                           double part, double error_tol, double max_condition, bool fit_intercept, double n_given,
                           std::uint64_t seed, int threads, double cache_bytes) {
  if (kernels.empty()) throw std::invalid_argument("at least one kernel is needed");
  const auto x = rows(X, kernels[0].n_features(), "X");
  const auto y = rows(Y, -1, "Y");
  const auto v = vector(weights, x.rows(), "sample_weight");
  if (y.rows() != x.rows()) throw std::invalid_argument("Y must have one row per row of X");
  if (x.rows() < 1 || !(v.minCoeff() > 0)) throw std::invalid_argument("weights must be positive");
  const auto allowed = to_indices(candidates, x.rows());
  if (std::adjacent_find(allowed.begin(), allowed.end(), std::greater_equal<Index>()) != allowed.end())
    throw std::invalid_argument("candidates must be ascending row numbers");
  const SelectionTask task{kernels,
                           x,
                           y,
                           v,
                           allowed,
                           settings_from(selection, n_candidates, reestimate, alpha, stop, patience, tol, max_basis,
                                         part, error_tol, max_condition, fit_intercept, n_given, seed, threads),
                           static_cast<std::size_t>(cache_bytes)};
  Selected found;
  LeftOutRows left_out;
  {
    py::gil_scoped_release unlocked;  // numpy buffers held by the caller, and objects of this call
    found = select_forward(task);
    left_out = left_out_rows(task, found);
  }
  py::dict out;
  out["chosen"] = from_indices(found.chosen);
  out["width"] = from_indices(found.width);
  out["n_basis"] = found.n_basis;
  out["coef"] = to_numpy(found.model.coef);
  out["intercept"] = vector_to_numpy(found.model.intercept);
  out["spread"] = to_numpy(found.model.spread);
  out["rss"] = vector_to_numpy(found.model.rss);
  out["cost"] = vector_to_numpy(found.model.cost);
  out["noise"] = vector_to_numpy(left_out.noise);
  out["left_out_rows"] = from_indices(left_out.rows);
  out["left_out_errors"] = to_numpy(left_out.errors);
  out["left_out_model"] = vector_to_numpy(left_out.model);
  out["trace"] = found.model.trace;
  out["rows"] = found.rows;
  out["gcv_path"] = from_doubles(found.gcv_path);
  out["alpha_path"] = from_doubles(found.alpha_path);
  out["rss_path"] = from_doubles(found.rss_path);
  out["score_path"] = from_doubles(found.score_path);
  out["n_dependent"] = found.n_dependent;
  out["ending"] = ending_name(found.ending, task.settings.stop);
  return out;
}

}  // namespace

void bind_forward(py::module_& m) {
  const py::kw_only named;
  m.def("forward_selection", &forward_selection, py::arg("kernels"), named, py::arg("X").noconvert(),
        py::arg("Y").noconvert(), py::arg("sample_weight").noconvert(), py::arg("candidates").noconvert(),
        py::arg("selection"), py::arg("n_candidates"), py::arg("reestimate"), py::arg("alpha"), py::arg("stop"),
        py::arg("patience"), py::arg("tol"), py::arg("max_basis"), py::arg("part"), py::arg("error_tol"),
        py::arg("max_condition"), py::arg("fit_intercept"), py::arg("rows"), py::arg("seed"), py::arg("threads"),
        py::arg("cache_bytes"));

  m.def(
      "forward_selection_memory",
      [](const std::string& selection, Index n_candidates, Index n, Index d, Index outputs, Index candidates,
         Index widths, Index most, double cache_bytes) {
        SelectionSettings settings;
        settings.criterion = criterion(selection);
        settings.n_candidates = n_candidates;
        return select_forward_memory(settings, n, d, outputs, candidates, widths, most, cache_bytes);
      },
      named, py::arg("selection"), py::arg("n_candidates"), py::arg("n"), py::arg("d"), py::arg("outputs"),
      py::arg("candidates"), py::arg("widths"), py::arg("most"), py::arg("cache_bytes"));
}

}  // namespace kernsift
