// Least squares on a basis from sums over the rows: plain functions, the state lives in Python as arrays; and the
// problem that those sums pose, an object for as long as it is solved.
#include <memory>

#include "bind/bind.hpp"
#include "core/batch/deletion.hpp"
#include "core/batch/subset.hpp"
#include "core/ridge/ridge_problem.hpp"
#include "core/select/selectable_rows.hpp"

namespace kernsift {

namespace {

Panels elements_from(const Kernel& kernel, const Rows& vectors) {
  PreparedRows rows;
  kernel.prepare(vectors, rows);
  return elements_of(kernel, rows);
}

// Sums of the rows in w (whitened = True) or in kernel coordinates; `fast` accumulates in kernel coordinates first. M
// goes into the upper triangle of `out`, or into a new matrix, both of its triangles.
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
  NormalSums sums(lower_to_write(M, m, "out"), y.cols());
  {
    py::gil_scoped_release unlocked;
    const RowMatrix none;
    accumulate(kernel, elements_from(kernel, basis), fast ? Rows(none) : Rows(factor), x, y, v, o, threads, sums);
    if (fast && whitened) whiten(factor, threads, sums);
    if (out.is_none()) sums.M.triangularView<Eigen::StrictlyUpper>() = sums.M.transpose();
  }
  return py::dict("M"_a = M, "z"_a = to_numpy(sums.z), "s"_a = vector_to_numpy(sums.s), "y"_a = vector_to_numpy(sums.y),
                  "yy"_a = vector_to_numpy(sums.yy), "weight"_a = sums.weight);
}

// The sums of some elements of a basis, from those of all in kernel coordinates, in orthonormal ones: L is their
// factor.
py::dict sums_of_elements(const Array& M, const Array& z, const Array& s, const Indices& which, const Strided& L,
                          int threads) {
  const auto all = rows(M, s.shape(0), "M");
  const auto moments = rows(z, -1, "z");
  const auto sum = vector(s, moments.rows(), "s");
  const auto kept = to_indices(which, all.rows());
  const auto m = static_cast<Index>(kept.size());
  const auto factor = triangle(L, m, "L");
  Strided square = array(m, m);
  NormalSums out(lower_to_write(square, m, "M"), moments.cols());
  {
    py::gil_scoped_release unlocked;
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j <= i; ++j) out.M(i, j) = all(kept[i], kept[j]);
      out.z.row(i) = moments.row(kept[i]);
      out.s[i] = sum[kept[i]];
    }
    whiten(factor, threads, out);
    out.M.triangularView<Eigen::StrictlyUpper>() = out.M.transpose();
  }
  return py::dict("M"_a = square, "z"_a = to_numpy(out.z), "s"_a = vector_to_numpy(out.s));
}

RidgeSums sums_from(const Strided& M, const Array& z, const Array& s, const Array& y, const Array& yy,
                    const Array& offset, double weight, double count, double precision) {
  const auto moments = rows(z, -1, "z");
  const Index m = moments.rows(), c = moments.cols();
  return {lower_of(M, M.shape(0) == 0 ? 0 : m, "M"),
          moments,
          vector(s, m, "s"),
          vector(y, c, "y"),
          vector(yy, c, "yy"),
          vector(offset, c, "offset"),
          weight,
          count,
          precision};
}

// A problem, and the arrays it reads: M, and a factor in its place or kept from before.
struct BoundRidge {
  std::unique_ptr<RidgeProblem> problem;
  Strided M, factor;
  std::mutex lock;

  template <class Work>
  auto locked(Work&& work) {
    py::gil_scoped_release unlocked;
    const std::lock_guard<std::mutex> guard(lock);
    return work(*problem);
  }
  // Works with rows on the basis of the sums.
  template <class Work>
  auto on_rows(const Kernel& kernel, const Array& vectors, const Strided& L, const Array& X, Work&& work) {
    const auto basis = rows(vectors, kernel.n_features(), "vectors");
    const auto x = rows(X, kernel.n_features(), "X");
    if (basis.rows() != problem->size()) throw std::invalid_argument("vectors must be those of the sums");
    const auto factor_of_basis = triangle(L, basis.rows(), "L");
    return locked(
        [&](RidgeProblem& p) { return work(p, elements_from(kernel, basis), Rows(factor_of_basis), Rows(x)); });
  }
  Eigen::Map<const RowMatrix> targets(const Array& Y, Index n) const {
    const auto y = rows(Y, problem->outputs(), "Y");
    if (y.rows() != n) throw std::invalid_argument("X and Y must have as many rows as each other");
    return y;
  }
};

std::unique_ptr<BoundRidge> make_ridge(const Strided& M, const Array& z, const Array& s, const Array& y,
                                       const Array& yy, const Array& offset, double weight, double count,
                                       double precision, bool fit_intercept, int threads, const py::object& factor,
                                       double alpha) {
  auto out = std::make_unique<BoundRidge>();
  out->M = M;
  out->problem = std::make_unique<RidgeProblem>(sums_from(M, z, s, y, yy, offset, weight, count, precision),
                                                fit_intercept, threads);
  if (!factor.is_none()) {
    out->factor = given_or_new(factor, 0);
    out->problem->use_factor(lower_of(out->factor, out->problem->size(), "factor"), alpha);
  }
  return out;
}

void bind_ridge_problem(py::module_& m) {
  const py::kw_only named;
  const auto alpha = py::arg("alpha");
  const auto per_alpha = [](auto member) {
    return [member](BoundRidge& self, double a) {
      return vector_to_numpy(self.locked([&](RidgeProblem& p) { return Vector((p.*member)(a)); }));
    };
  };
  py::class_<BoundRidge>(m, "RidgeProblem")
      .def(py::init(&make_ridge), named, py::arg("M").noconvert(), py::arg("z").noconvert(), py::arg("s").noconvert(),
           py::arg("y").noconvert(), py::arg("yy").noconvert(), py::arg("offset").noconvert(), py::arg("weight"),
           py::arg("count"), py::arg("precision"), py::arg("fit_intercept"), py::arg("threads") = 1,
           py::arg("factor") = py::none(), py::arg("alpha") = 0.0)
      .def("__reduce__",
           [](const BoundRidge&) -> py::object {
             throw py::type_error("a RidgeProblem is made from sums, which pickle");
           })
      .def_property_readonly("precision", [](BoundRidge& self) { return self.problem->precision(); })
      .def_property_readonly("largest",
                             [](BoundRidge& self) { return self.locked([](RidgeProblem& p) { return p.largest(); }); })
      .def(
          "above_rounding", [](BoundRidge& self, double a) { return self.problem->above_rounding(a); }, alpha)
      .def(
          "ready", [](BoundRidge& self, double a) { return self.locked([&](RidgeProblem& p) { return p.ready(a); }); },
          alpha)
      .def(
          "factor_in_place",
          [](BoundRidge& self, double a) {
            auto where = lower_to_write(self.M, self.problem->size(), "M");
            return self.locked([&](RidgeProblem& p) { return p.factor_into(where, a); });
          },
          alpha)
      .def(
          "theta",
          [](BoundRidge& self, double a) { return to_numpy(self.locked([&](RidgeProblem& p) { return p.theta(a); })); },
          alpha)
      .def(
          "solution",
          [](BoundRidge& self, const Strided& L, double a) {
            const auto factor = triangle(L, self.problem->size(), "L");
            const auto found = self.locked([&](RidgeProblem& p) { return p.solution(factor, a); });
            return py::dict("coef"_a = to_numpy(found.coef), "intercept"_a = vector_to_numpy(found.intercept),
                            "cost"_a = vector_to_numpy(found.cost),
                            "noise_variance"_a = vector_to_numpy(found.noise_variance));
          },
          py::arg("L").noconvert(), alpha)
      .def("rss", per_alpha(&RidgeProblem::rss), alpha)
      .def(
          "log_evidence",
          [](BoundRidge& self, double a, double rows, double logs) {
            return vector_to_numpy(self.locked([&](RidgeProblem& p) { return p.log_evidence(a, rows, logs); }));
          },
          alpha, named, py::arg("rows"), py::arg("sum_log_weights"))
      .def(
          "dof", [](BoundRidge& self, double a) { return self.locked([&](RidgeProblem& p) { return p.dof(a); }); },
          alpha)
      .def(
          "gcv",
          [](BoundRidge& self, double a, double toll) {
            return vector_to_numpy(self.locked([&](RidgeProblem& p) { return p.gcv(a, toll); }));
          },
          alpha, named, py::arg("toll") = 1.0)
      .def("best_gcv", [](BoundRidge& self) { return self.locked([](RidgeProblem& p) { return p.best_gcv(); }); })
      .def(
          "loo_errors",
          [](BoundRidge& self, const Kernel& kernel, const Array& vectors, const Strided& L, const Array& X,
             const Array& Y, const Array& weight, const Array& alphas) {
            const auto y = self.targets(Y, X.shape(0));
            const auto v = vector(weight, y.rows(), "weight"), grid = vector(alphas, -1, "alphas");
            return vector_to_numpy(
                self.on_rows(kernel, vectors, L, X, [&](auto& p, auto&& elements, auto&& l, auto&& x) {
                  return left_out_errors(p, kernel, elements, l, x, y, v, grid);
                }));
          },
          named, py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("X").noconvert(),
          py::arg("Y").noconvert(), py::arg("weight").noconvert(), py::arg("alphas").noconvert())
      .def(
          "left_out",
          [](BoundRidge& self, const Kernel& kernel, const Array& vectors, const Strided& L, const Array& X,
             const Array& Y, const Array& leaves, const Indices& own, double a) {
            const auto y = self.targets(Y, X.shape(0));
            const auto v = vector(leaves, y.rows(), "leaves");
            if (own.size() != y.rows()) throw std::invalid_argument("own must have one number per row of X");
            std::vector<Index> kernels(own.data(), own.data() + own.size());
            for (const Index k : kernels)
              if (k >= vectors.shape(0)) throw std::invalid_argument("own names a kernel that is not there");
            Array errors = array(y.rows(), y.cols()), variance = array(y.rows());
            auto errors_out = rows_out(errors);
            auto variance_out = vector_out(variance);
            self.on_rows(kernel, vectors, L, X, [&](auto& p, auto&& elements, auto&& l, auto&& x) {
              leave_out(p, kernel, elements, l, x, y, v, kernels, a, errors_out, variance_out);
            });
            return py::make_tuple(errors, variance);
          },
          named, py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("X").noconvert(),
          py::arg("Y").noconvert(), py::arg("leaves").noconvert(), py::arg("own").noconvert(), alpha)
      .def(
          "relative_variance",
          [](BoundRidge& self, const Kernel& kernel, const Array& vectors, const Strided& L, const Array& X, double a,
             int threads) {
            Array out = array(X.shape(0));
            auto variance = vector_out(out);
            self.on_rows(kernel, vectors, L, X, [&](auto& p, auto&& elements, auto&& l, auto&& x) {
              relative_variance(p, kernel, elements, l, x, a, threads, variance);
            });
            return out;
          },
          named, py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("X").noconvert(),
          alpha, py::arg("threads") = 1)
      .def(
          "relative_covariance",
          [](BoundRidge& self, const Kernel& kernel, const Array& vectors, const Strided& L, const Array& X, double a) {
            Array out = array(X.shape(0), X.shape(0));
            auto covariance = rows_out(out);
            self.on_rows(kernel, vectors, L, X, [&](auto& p, auto&& elements, auto&& l, auto&& x) {
              covariance = relative_covariance(p, kernel, elements, l, x, a);
            });
            return out;
          },
          named, py::arg("kernel"), py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("X").noconvert(),
          alpha)
      .def_static("memory_needed", &RidgeProblem::memory_needed, named, py::arg("m"), py::arg("outputs"),
                  py::arg("spectrum"), py::arg("alphas") = 0);
  m.attr("GCV_TOLL") = kGcvToll;
}

}  // namespace

void bind_subset(py::module_& m) {
  const py::kw_only named;
  bind_ridge_problem(m);
  m.def("normal_sums", &normal_sums, py::arg("kernel"), named, py::arg("vectors").noconvert(), py::arg("L").noconvert(),
        py::arg("X").noconvert(), py::arg("Y").noconvert(), py::arg("weight").noconvert(),
        py::arg("offset").noconvert(), py::arg("fast"), py::arg("whitened"), py::arg("out") = py::none(),
        py::arg("threads") = 1);
  m.def("normal_sums_memory", &accumulate_memory, named, py::arg("m"), py::arg("n"), py::arg("d"), py::arg("outputs"),
        py::arg("threads"));
  m.def("sums_of_elements", &sums_of_elements, named, py::arg("M").noconvert(), py::arg("z").noconvert(),
        py::arg("s").noconvert(), py::arg("which").noconvert(), py::arg("L").noconvert(), py::arg("threads") = 1);
  m.def(
      "whitening_growth",
      [](const Strided& L) {
        const auto factor = triangle(L, -1, "L");
        py::gil_scoped_release unlocked;
        return whitening_growth(factor);
      },
      py::arg("L").noconvert());
  m.def(
      "deletion_order",
      [](const Kernel& kernel, const Array& vectors, const Strided& M, const Array& z, const Array& s, const Array& y,
         const Array& offset, double weight, bool fit_intercept, double a, Index target, double fraction) {
        const auto elements = rows(vectors, kernel.n_features(), "vectors");
        if (M.ndim() != 2 || elements.rows() != M.shape(0))
          throw std::invalid_argument("M must have a row for each of the vectors");
        const RidgeSums sums = sums_from(M, z, s, y, y, offset, weight, 0, 0);
        Deletions done;
        {
          py::gil_scoped_release unlocked;
          done = deletion_order(kernel, elements, sums, fit_intercept, a, target, fraction);
        }
        return py::make_tuple(from_indices(done.order), Array(done.scores.size(), done.scores.data()));
      },
      py::arg("kernel"), named, py::arg("vectors").noconvert(), py::arg("M").noconvert(), py::arg("z").noconvert(),
      py::arg("s").noconvert(), py::arg("y").noconvert(), py::arg("offset").noconvert(), py::arg("weight"),
      py::arg("fit_intercept"), py::arg("alpha"), py::arg("target"), py::arg("fraction"));
  m.def("deletion_memory", &deletion_memory, named, py::arg("n"), py::arg("d"), py::arg("outputs"));
  m.def("basis_coordinates_memory", &basis_coordinates_memory, named, py::arg("m"));
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
      py::arg("kernel"), named, py::arg("vectors").noconvert(), py::arg("L").noconvert(), py::arg("X").noconvert());
}

}  // namespace kernsift
