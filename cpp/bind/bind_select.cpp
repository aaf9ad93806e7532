// Choosing the rows to put kernels on.
#include <cmath>

#include "bind/bind.hpp"
#include "core/base/names.hpp"
#include "core/select/feature_vectors.hpp"
#include "core/select/pivoted_selection.hpp"
#include "core/select/row_keys.hpp"
#include "core/select/side_information.hpp"

namespace kernsift {

namespace {

py::array_t<std::uint64_t> row_keys(const Array& X, std::uint64_t seed) {
  const auto x = rows(X, -1, "X");
  py::array_t<std::uint64_t> out(x.rows());
  std::uint64_t* keys = out.mutable_data();
  py::gil_scoped_release unlocked;
  for (Index i = 0; i < x.rows(); ++i) keys[i] = row_key(x.data() + i * x.cols(), x.cols(), seed);
  return out;
}

py::tuple feature_vectors(const Kernel& kernel, const Array& X, const Indices& which, const Array& weight,
                          const FeatureVectorSettings& settings) {
  const auto x = rows(X, kernel.n_features(), "X");
  const auto v = vector(weight, which.size(), "weight");
  auto list = to_indices(which, x.rows());
  FeatureVectors result;
  {
    py::gil_scoped_release unlocked;
    SelectableRows patterns(kernel, x, std::move(list));
    result = select_feature_vectors(patterns, v, settings);
  }
  Array error = array(static_cast<Index>(result.error.size()));
  std::copy(result.error.begin(), result.error.end(), error.mutable_data());
  return py::make_tuple(from_indices(result.chosen), error);
}

Indices side_information(const Kernel& kernel, const Array& X, const Indices& which, const Array& Y,
                         const Array& weight, const SideInformationSettings& settings) {
  const auto x = rows(X, kernel.n_features(), "X");
  const auto y = rows(Y, -1, "Y");
  const auto v = vector(weight, which.size(), "weight");
  if (y.rows() != which.size()) throw std::invalid_argument("Y must have a row for each of `which`");
  if (settings.ahead < 1) throw std::invalid_argument("ahead must be positive");
  auto list = to_indices(which, x.rows());
  std::vector<Index> chosen;
  {
    py::gil_scoped_release unlocked;
    SelectableRows patterns(kernel, x, std::move(list));
    chosen = side_information_pivots(patterns, v, y.transpose(), settings);
  }
  return from_indices(chosen);
}

SelectionForm form_of(const std::string& name) {
  constexpr Named<SelectionForm> forms[] = {
      {SelectionForm::dense, "dense"}, {SelectionForm::cached, "cached"}, {SelectionForm::lazy, "lazy"}};
  return value_of(forms, "form", name);
}

template <class Choose>
py::tuple pivots(const Kernel& kernel, const Array& X, const Indices& which, Choose&& choose) {
  const auto x = rows(X, kernel.n_features(), "X");
  auto list = to_indices(which, x.rows());
  PivotedBasis result;
  {
    py::gil_scoped_release unlocked;
    SelectableRows patterns(kernel, x, std::move(list));
    result = choose(patterns);
  }
  return py::make_tuple(from_indices(result.chosen), to_numpy(result.L));
}

// The rows that are independent of those before them, and the factor of their kernel matrix: into `out` (rows of it),
// or a new square.
py::tuple select_independent(const Kernel& kernel, const Array& X, const Indices& which, double tol, Index max_basis,
                             const py::object& out, int threads) {
  const auto x = rows(X, kernel.n_features(), "X");
  auto list = to_indices(which, x.rows());
  const Index most = std::min<Index>(max_basis, static_cast<Index>(list.size()));
  Strided square = given_or_new(out, most);
  const auto stride = stride_of(square, "out");
  if (square.shape(0) != square.shape(1)) throw std::invalid_argument("out must be square");
  Eigen::Map<RowMatrix, 0, Eigen::OuterStride<>> L(square.mutable_data(), square.shape(0), square.shape(1), stride);
  std::vector<Index> chosen;
  {
    py::gil_scoped_release unlocked;
    SelectableRows patterns(kernel, x, std::move(list));
    if (out.is_none()) L.triangularView<Eigen::StrictlyUpper>().setZero();
    chosen = independent_rows(patterns, tol, threads, L);
  }
  const auto m = static_cast<Index>(chosen.size());
  const py::slice taken(py::ssize_t{0}, static_cast<py::ssize_t>(m), py::ssize_t{1});
  py::object corner = m == L.rows() ? py::object(square) : py::object(square[py::make_tuple(taken, taken)]);
  if (out.is_none() && m < L.rows()) corner = corner.attr("copy")();
  return py::make_tuple(from_indices(chosen), corner);
}

}  // namespace

void bind_select(py::module_& m) {
  const py::kw_only named;
  m.def("row_keys", &row_keys, py::arg("X").noconvert(), py::arg("seed"));
  m.def(
      "select_feature_vectors",
      [](const Kernel& kernel, const Array& X, const Indices& which, const Array& weight, Index n_candidates,
         Index n_eval, Index max_basis, double candidate_tol, double reconstruction_tol, std::uint64_t seed,
         const std::string& form) {
        return feature_vectors(
            kernel, X, which, weight,
            {n_candidates, n_eval, max_basis, candidate_tol, reconstruction_tol, seed, form_of(form)});
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("which").noconvert(), named, py::arg("weight").noconvert(),
      py::arg("n_candidates"), py::arg("n_eval"), py::arg("max_basis"), py::arg("candidate_tol"),
      py::arg("reconstruction_tol"), py::arg("seed"), py::arg("form"));
  m.def(
      "feature_vectors_memory",
      [](Index n, Index d, Index n_candidates, Index n_eval, Index max_basis, const std::string& form) {
        return feature_vectors_memory(n, d, {n_candidates, n_eval, max_basis, 0, 0, 0, form_of(form)});
      },
      named, py::arg("n"), py::arg("d"), py::arg("n_candidates"), py::arg("n_eval"), py::arg("max_basis"),
      py::arg("form"));
  m.def("select_independent", &select_independent, py::arg("kernel"), py::arg("X").noconvert(),
        py::arg("which").noconvert(), named, py::arg("tol"), py::arg("max_basis"), py::arg("out") = py::none(),
        py::arg("threads") = 1);
  m.def("independent_memory", &independent_rows_memory, named, py::arg("max_basis"), py::arg("d"));
  m.def(
      "select_greedy",
      [](const Kernel& kernel, const Array& X, const Indices& which, double tol, Index max_basis) {
        return pivots(kernel, X, which, [&](SelectableRows& p) { return greedy_pivots(p, tol, max_basis); });
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("which").noconvert(), named, py::arg("tol"),
      py::arg("max_basis"));
  m.def(
      "select_rpcholesky",
      [](const Kernel& kernel, const Array& X, const Indices& which, const Array& weight, double tol, Index max_basis,
         Index block, std::uint64_t seed) {
        const auto v = vector(weight, which.size(), "weight");
        if (block < 1) throw std::invalid_argument("block must be positive");
        return pivots(kernel, X, which,
                      [&](SelectableRows& p) { return random_pivots(p, v, tol, max_basis, block, seed); });
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("which").noconvert(), named, py::arg("weight").noconvert(),
      py::arg("tol"), py::arg("max_basis"), py::arg("block"), py::arg("seed"));
  m.def(
      "select_side_information",
      [](const Kernel& kernel, const Array& X, const Indices& which, const Array& Y, const Array& weight, double tol,
         Index max_basis, Index ahead, double balance, bool fit_intercept) {
        return side_information(kernel, X, which, Y, weight, {max_basis, ahead, balance, tol, fit_intercept});
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("which").noconvert(), named, py::arg("Y").noconvert(),
      py::arg("weight").noconvert(), py::arg("tol"), py::arg("max_basis"), py::arg("ahead"), py::arg("balance"),
      py::arg("fit_intercept"));
  m.def(
      "side_information_memory",
      [](Index n, Index outputs, Index d, Index max_basis, Index ahead) {
        return side_information_memory(n, outputs, d, {max_basis, ahead, 0, 0, true});
      },
      named, py::arg("rows"), py::arg("outputs"), py::arg("d"), py::arg("max_basis"), py::arg("ahead"));
  m.def("pivoted_memory", &pivoted_memory, named, py::arg("rows"), py::arg("max_basis"), py::arg("d"),
        py::arg("block"));
}

}  // namespace kernsift
