// Choosing a basis, and least squares on it from sums over the rows. Plain functions: the state lives in Python as
// arrays.
#include <cmath>

#include "bind/bind.hpp"
#include "core/batch/subset.hpp"
#include "core/select/feature_vectors.hpp"
#include "core/select/pivoted_selection.hpp"
#include "core/select/row_keys.hpp"

namespace kernsift {

namespace {

using Indices = py::array_t<std::int64_t, py::array::c_style>;

std::vector<Index> to_indices(const Indices& which, Index rows) {
  std::vector<Index> out(which.data(), which.data() + which.size());
  for (const Index i : out)
    if (i < 0 || i >= rows) throw std::out_of_range("row " + std::to_string(i) + " of " + std::to_string(rows));
  return out;
}

Indices from_indices(const std::vector<Index>& values) {
  Indices out(static_cast<py::ssize_t>(values.size()));
  std::copy(values.begin(), values.end(), out.mutable_data());
  return out;
}

Panels elements_from(const Kernel& kernel, const Rows& vectors) {
  PreparedRows rows;
  kernel.prepare(vectors, rows);
  return elements_of(kernel, rows);
}

// Triangles may be halves of one square, beside each other: rows of any stride.
using Strided = py::array_t<double>;
using StridedRows = Eigen::Map<const RowMatrix, 0, Eigen::OuterStride<>>;

Eigen::OuterStride<> stride_of(const Strided& a, const char* name) {
  constexpr auto kDouble = static_cast<py::ssize_t>(sizeof(double));
  if (a.ndim() != 2 || (a.shape(1) > 1 && a.strides(1) != kDouble) || a.strides(0) % kDouble != 0 ||
      a.strides(0) < 0)
    throw std::invalid_argument(std::string(name) + " must be two-dimensional, with contiguous rows");
  return Eigen::OuterStride<>(a.strides(0) / kDouble);
}

StridedRows triangle(const Strided& a, Index size, const char* name) {
  const auto stride = stride_of(a, name);
  if (a.shape(0) != a.shape(1) || (size >= 0 && a.shape(0) != size))
    throw std::invalid_argument(std::string(name) + " must be square" +
                                (size >= 0 ? ", with " + std::to_string(size) + " rows" : ""));
  return {a.data(), a.shape(0), a.shape(1), stride};
}

// The array to write into, or a new square.
Strided given_or_new(const py::object& out, Index size) {
  if (out.is_none()) return array(size, size);
  if (!py::isinstance<Strided>(out)) throw std::invalid_argument("out must be an array of doubles");
  return out.cast<Strided>();  // itself: nothing is converted
}

// numpy's upper triangle is the lower one of column-major matrices.
MatrixRef lower_of(Strided& a, Index size, const char* name) {
  triangle(a, size, name);
  return Eigen::Map<Matrix, 0, Eigen::OuterStride<>>(a.mutable_data(), a.shape(0), a.shape(1), stride_of(a, name));
}

Matrix square(const Array& a, const char* name) { return rows(a, a.ndim() == 2 ? a.shape(0) : -1, name); }

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

SelectionForm form_of(const std::string& name) {
  if (name == "dense") return SelectionForm::dense;
  if (name == "cached") return SelectionForm::cached;
  if (name == "lazy") return SelectionForm::lazy;
  throw std::invalid_argument("form '" + name + "' is unknown");
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

// The rows that are independent of those before them, and the factor of their kernel matrix: into `out` (rows of it), or
// a new square.
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

// Sums of the rows in w (whitened = True) or in kernel coordinates; `fast` accumulates in kernel coordinates first. M goes
// into the upper triangle of `out`, or into a new matrix, both of its triangles.
py::dict normal_sums(const Kernel& kernel, const Array& vectors, const Strided& L, const Array& X, const Array& Y,
                     const Array& weight, const Array& offset, bool fast, bool whitened, const py::object& out,
                     int threads) {
  const auto basis = rows(vectors, kernel.n_features(), "vectors");
  const auto x = rows(X, kernel.n_features(), "X");
  const auto y = rows(Y, -1, "Y");
  const auto v = vector(weight, x.rows(), "weight");
  const auto o = vector(offset, y.cols(), "offset");
  const Index m = basis.rows();
  const auto factor = triangle(L, m, "L");
  if (y.rows() != x.rows()) throw std::invalid_argument("X and Y must have as many rows as each other");
  Strided M = given_or_new(out, m);
  NormalSums sums(lower_of(M, m, "out"), y.cols());
  {
    py::gil_scoped_release unlocked;
    const RowMatrix none;
    accumulate(kernel, elements_from(kernel, basis), fast ? Rows(none) : Rows(factor), x, y, v, o, threads, sums);
    if (fast && whitened) whiten(factor, threads, sums);
    if (out.is_none()) sums.M.triangularView<Eigen::StrictlyUpper>() = sums.M.transpose();
  }
  py::dict answer;
  answer["M"] = M;
  answer["z"] = to_numpy(sums.z);
  answer["s"] = vector_to_numpy(sums.s);
  answer["y"] = vector_to_numpy(sums.y);
  answer["yy"] = vector_to_numpy(sums.yy);
  answer["weight"] = sums.weight;
  return answer;
}

// R' in the upper triangle of `out`, or of a new matrix, for the M in the upper triangle given; None without one.
py::object ridge_factor(const Strided& M, const Array& s, double weight, double alpha, const py::object& out,
                        int threads) {
  const Index m = M.ndim() == 2 ? M.shape(0) : -1;
  const auto given = triangle(M, m, "M");
  const auto sum = vector(s, m, "s");
  Strided R = given_or_new(out, m);
  MatrixRef A = lower_of(R, m, "out");
  bool definite;
  {
    py::gil_scoped_release unlocked;
    if (R.data() != M.data()) A.triangularView<Eigen::Lower>() = given.transpose();
    definite = factor_ridge(A, sum, weight, alpha, threads);
  }
  if (!definite) return py::none();
  return R;
}

// T^-1 B or T^-T B, of the lower or the upper triangle of T.
Array solve_triangle(const Strided& T, const Array& B, bool lower, bool transposed) {
  const auto b = rows(B, -1, "B");
  const auto t = triangle(T, b.rows(), "T");
  Array out = array(b.rows(), b.cols());
  auto x = rows_out(out);
  py::gil_scoped_release unlocked;
  x = b;
  if (lower && transposed) t.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
  if (lower && !transposed) t.triangularView<Eigen::Lower>().solveInPlace(x);
  if (!lower && transposed) t.triangularView<Eigen::Upper>().transpose().solveInPlace(x);
  if (!lower && !transposed) t.triangularView<Eigen::Upper>().solveInPlace(x);
  return out;
}

py::tuple spectrum_of(const Array& M, const Array& z) {
  const Matrix m = square(M, "M");
  const Matrix right = rows(z, -1, "z");
  if (right.rows() != m.rows()) throw std::invalid_argument("z must have one row per row of M");
  Spectrum s;
  {
    py::gil_scoped_release unlocked;
    s = spectrum(m, right);
  }
  return py::make_tuple(vector_to_numpy(s.values), to_numpy(s.vectors), to_numpy(s.projected));
}

template <class Work>
auto leave_one_out(const Kernel& kernel, const Array& vectors, const Array& T, const Array& shift, const Array& values,
                   const Array& projected, const Array& mean_y, double bias_leverage, const Array& X, const Array& Y,
                   const Array& weight, Work&& work) {
  const auto basis = rows(vectors, kernel.n_features(), "vectors");
  const auto x = rows(X, kernel.n_features(), "X");
  const auto y = rows(Y, projected.ndim() == 2 ? projected.shape(1) : -1, "Y");
  const auto v = vector(weight, x.rows(), "weight");
  const Matrix transform = rows(T, basis.rows(), "T"), f = rows(projected, -1, "projected");
  const Vector t0 = vector(shift, transform.rows(), "shift"), lambda = vector(values, transform.rows(), "values"),
               y0 = vector(mean_y, f.cols(), "mean_y");
  if (y.rows() != x.rows()) throw std::invalid_argument("X and Y must have as many rows as each other");
  if (f.rows() != transform.rows()) throw std::invalid_argument("projected must have one row per value");
  py::gil_scoped_release unlocked;
  const LeaveOneOut loo{transform, t0, lambda, f, y0, bias_leverage};
  return work(loo, elements_from(kernel, basis), Rows(x), Rows(y), ConstVectorRef(v));
}

}  // namespace

void bind_subset(py::module_& m) {
  m.def("row_keys", &row_keys, py::arg("X").noconvert(), py::arg("seed"));
  m.def(
      "select_feature_vectors",
      [](const Kernel& kernel, const Array& X, const Indices& which, const Array& weight, Index n_candidates,
         Index n_eval, Index max_basis, double candidate_tol, double reconstruction_tol, std::uint64_t seed,
         const std::string& form) {
        return feature_vectors(kernel, X, which, weight,
                               {n_candidates, n_eval, max_basis, candidate_tol, reconstruction_tol, seed,
                                form_of(form)});
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("which").noconvert(), py::arg("weight").noconvert(),
      py::arg("n_candidates"), py::arg("n_eval"), py::arg("max_basis"), py::arg("candidate_tol"),
      py::arg("reconstruction_tol"), py::arg("seed"), py::arg("form"));
  m.def("select_independent", &select_independent, py::arg("kernel"), py::arg("X").noconvert(),
        py::arg("which").noconvert(), py::arg("tol"), py::arg("max_basis"), py::arg("out") = py::none(),
        py::arg("threads") = 1);
  m.def(
      "select_greedy",
      [](const Kernel& kernel, const Array& X, const Indices& which, double tol, Index max_basis) {
        return pivots(kernel, X, which, [&](SelectableRows& p) { return greedy_pivots(p, tol, max_basis); });
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("which").noconvert(), py::arg("tol"),
      py::arg("max_basis"));
  m.def(
      "select_rpcholesky",
      [](const Kernel& kernel, const Array& X, const Indices& which, const Array& weight, double tol,
         Index max_basis, Index block, std::uint64_t seed) {
        const auto v = vector(weight, which.size(), "weight");
        if (block < 1) throw std::invalid_argument("block must be positive");
        return pivots(kernel, X, which,
                      [&](SelectableRows& p) { return random_pivots(p, v, tol, max_basis, block, seed); });
      },
      py::arg("kernel"), py::arg("X").noconvert(), py::arg("which").noconvert(), py::arg("weight").noconvert(),
      py::arg("tol"), py::arg("max_basis"), py::arg("block"), py::arg("seed"));
  m.def("normal_sums", &normal_sums, py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("L").noconvert(),
        py::arg("X").noconvert(), py::arg("Y").noconvert(), py::arg("weight").noconvert(),
        py::arg("offset").noconvert(), py::arg("fast"), py::arg("whitened"), py::arg("out") = py::none(),
        py::arg("threads") = 1);
  m.def(
      "whitening_growth",
      [](const Strided& L) {
        const auto factor = triangle(L, -1, "L");
        py::gil_scoped_release unlocked;
        return whitening_growth(factor);
      },
      py::arg("L").noconvert());
  m.def("ridge_factor", &ridge_factor, py::arg("M").noconvert(), py::arg("s").noconvert(), py::arg("weight"),
        py::arg("alpha"), py::arg("out") = py::none(), py::arg("threads") = 1);
  m.def("solve_triangle", &solve_triangle, py::arg("T").noconvert(), py::arg("B").noconvert(), py::arg("lower"),
        py::arg("transposed"));
  m.def("spectrum", &spectrum_of, py::arg("M").noconvert(), py::arg("z").noconvert());
  m.def(
      "deletion_order",
      [](const Array& G, const Array& K, const Array& z, double alpha, Index target, double fraction) {
        Matrix g = square(G, "G"), k = square(K, "K");
        const Matrix right = rows(z, -1, "z");
        if (k.rows() != g.rows() || right.rows() != g.rows())
          throw std::invalid_argument("G, K and z must have as many rows as each other");
        std::vector<Index> order;
        {
          py::gil_scoped_release unlocked;
          order = deletion_order(g, k, right, alpha, target, fraction);
        }
        return from_indices(order);
      },
      py::arg("G").noconvert(), py::arg("K").noconvert(), py::arg("z").noconvert(), py::arg("alpha"),
      py::arg("target"), py::arg("fraction"));
  m.def(
      "loo_errors",
      [](const Kernel& kernel, const Array& vectors, const Array& T, const Array& shift, const Array& values,
         const Array& projected, const Array& mean_y, double bias_leverage, const Array& X, const Array& Y,
         const Array& weight, const Array& alphas) {
        const auto a = vector(alphas, -1, "alphas");
        return vector_to_numpy(leave_one_out(
            kernel, vectors, T, shift, values, projected, mean_y, bias_leverage, X, Y, weight,
            [&](const LeaveOneOut& loo, const Panels& elements, const Rows& x, const Rows& y, const ConstVectorRef& v) {
              return loo.errors(kernel, elements, x, y, v, a);
            }));
      },
      py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("T").noconvert(), py::arg("shift").noconvert(),
      py::arg("values").noconvert(), py::arg("projected").noconvert(), py::arg("mean_y").noconvert(),
      py::arg("bias_leverage"), py::arg("X").noconvert(), py::arg("Y").noconvert(), py::arg("weight").noconvert(),
      py::arg("alphas").noconvert());
  m.def(
      "basis_coordinates",
      [](const Kernel& kernel, const Array& vectors, const Strided& L, const Array& X) {
        const auto basis = rows(vectors, kernel.n_features(), "vectors");
        const auto x = rows(X, kernel.n_features(), "X");
        const auto factor = triangle(L, basis.rows(), "L");
        Array out = array(x.rows(), basis.rows());
        auto result = rows_out(out);
        py::gil_scoped_release unlocked;
        basis_coordinates(kernel, elements_from(kernel, basis), factor, x, result);
        return out;
      },
      py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("X").noconvert());
}

}  // namespace kernsift
