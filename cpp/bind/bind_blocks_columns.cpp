// kernsift.blocks: PseudoInverse, and the pivoted Cholesky factor of a matrix.
#include <numeric>

#include "bind/blocks.hpp"
#include "core/linalg/pivoted_cholesky.hpp"
#include "core/ridge/column_fit.hpp"

namespace kernsift {

namespace {

using Columns = Block<ColumnFit>;

double work_of_columns(const Columns& s, Index columns) {
  return static_cast<double>(s.part.rows()) * static_cast<double>((s.part.size() + 1) * columns);
}

template <class Work>
double scored(Columns& s, const py::handle& Y, Work&& work) {
  const Matrix targets = Doubles(Y, "Y").targets(s.part.rows());
  return s.locked(work_of_columns(s, targets.cols()), [&] { return work(targets); });
}

// A column for each output, or a vector where Y is one.
template <class Work>
py::object fitted(Columns& s, const py::handle& Y, Work&& work) {
  const Doubles given(Y, "Y");
  const Matrix targets = given.targets(s.part.rows());
  const Matrix out = s.locked(work_of_columns(s, targets.cols()), [&] { return work(targets); });
  if (given.dims() == 1) return vector_to_numpy(out.col(0));
  return to_numpy(out);
}

}  // namespace

void bind_blocks_columns(py::module_& m) {
  py::class_<Columns>(m, "PseudoInverse")
      .def(py::init([](Index n_rows, const py::object& weights, Index n_unpenalised, double rank_tol, int threads) {
             if (n_rows < 1) throw std::invalid_argument("n_rows must be at least 1");
             if (n_unpenalised < 0) throw std::invalid_argument("n_unpenalised must not be negative");
             if (!(rank_tol >= 0 && rank_tol < 1)) throw std::invalid_argument("rank_tol must be in [0, 1)");
             Vector v;
             if (!weights.is_none()) v = Doubles(weights, "weights").vector(n_rows);
             if (v.size() > 0 && !(v.minCoeff() > 0)) throw std::invalid_argument("weights must be positive");
             return std::make_unique<Columns>(n_rows, v, n_unpenalised, threads, rank_tol);
           }),
           py::arg("n_rows"), py::arg("weights") = py::none(), py::arg("n_unpenalised") = 0,
           py::arg("rank_tol") = OrthogonalBasis::kRankTol, py::arg("threads") = 1)
      .def_property_readonly("n_rows", [](const Columns& s) { return s.part.rows(); })
      .def_property_readonly("size", [](const Columns& s) { return s.part.size(); })
      .def_property_readonly("n_refused", [](const Columns& s) { return s.n_refused; })
      .def(
          "append",
          [](Columns& s, const py::handle& column) {
            const Doubles given(column, "column");
            const auto k = given.vector(s.part.rows());
            return s.changed(work_of_columns(s, 1), [&] { return s.part.append(k); });
          },
          py::arg("column"))
      .def("pop",
           [](Columns& s) {
             if (s.size() == 0) throw std::invalid_argument("there is no column to pop: the size is 0");
             s.locked(work_of_columns(s, 1), [&] { s.part.pop(); });
           })
      .def(
          "solve",
          [](Columns& s, const py::handle& Y, double ridge) {
            not_negative(ridge, "ridge");
            return fitted(s, Y, [&](const Matrix& targets) { return s.part.solve(targets, ridge); });
          },
          py::arg("Y"), py::arg("ridge") = 0.0)
      .def(
          "residual",
          [](Columns& s, const py::handle& Y, double ridge) {
            not_negative(ridge, "ridge");
            return fitted(s, Y, [&](const Matrix& targets) { return s.part.residual(targets, ridge); });
          },
          py::arg("Y"), py::arg("ridge") = 0.0)
      .def(
          "gcv",
          [](Columns& s, const py::handle& Y, double ridge) {
            not_negative(ridge, "ridge");
            return scored(s, Y, [&](const Matrix& targets) { return s.part.gcv(targets, ridge); });
          },
          py::arg("Y"), py::arg("ridge") = 0.0)
      .def(
          "best_ridge",
          [](Columns& s, const py::handle& Y) {
            return scored(s, Y, [&](const Matrix& targets) { return s.part.best_ridge(targets); });
          },
          py::arg("Y"))
      .def(
          "reestimate",
          [](Columns& s, const py::handle& Y, double ridge) {
            not_negative(ridge, "ridge");
            return scored(s, Y, [&](const Matrix& targets) { return s.part.reestimate(targets, ridge); });
          },
          py::arg("Y"), py::arg("ridge"))
      .def(
          "error_reductions",
          [](Columns& s, const py::handle& candidates, const py::handle& Y, double ridge) {
            const Matrix columns = Doubles(candidates, "candidates").targets(s.part.rows());
            const Matrix targets = Doubles(Y, "Y").targets(s.part.rows());
            not_negative(ridge, "ridge");
            return vector_to_numpy(s.locked(work_of_columns(s, columns.cols()),
                                            [&] { return s.part.error_reductions(columns, targets, ridge); }));
          },
          py::arg("candidates"), py::arg("Y"), py::arg("ridge") = 0.0)
      .def("pseudoinverse",
           [](Columns& s) {
             return to_numpy(s.locked(work_of_columns(s, s.part.size()), [&] { return s.part.pseudoinverse(); }));
           })
      .def("decomposition",
           [](Columns& s) {
             Matrix Q, U;
             Vector h;
             s.locked(work_of_columns(s, 1), [&] {
               const OrthogonalBasis& basis = s.part.basis();
               h = basis.h();
               U = basis.U();
               Q.resize(s.part.rows(), s.part.size());
               Vector q(basis.padded_rows());
               for (Index j = 0; j < Q.cols(); ++j) {
                 basis.column(j, q);
                 Q.col(j) = q.head(Q.rows());
               }
             });
             return py::make_tuple(to_numpy(Q), vector_to_numpy(h), to_numpy(U));
           })
      .def(
          "restore",
          [](Columns& s, const py::handle& Q, const py::handle& h, const py::handle& U, Index n_refused) {
            const Matrix columns = Doubles(Q, "Q").targets(s.part.rows());
            const Vector norms = Doubles(h, "h").vector(columns.cols());
            const Matrix upper = Doubles(U, "U").targets(columns.cols(), columns.cols());
            s.locked(0, [&] {
              s.part.basis().restore(columns, norms, upper);
              s.n_refused = n_refused;
            });
          },
          py::arg("Q"), py::arg("h"), py::arg("U"), py::arg("n_refused"));

  m.def(
      "pivoted_cholesky",
      [](const py::handle& A, double floor, Index max_rank) {
        const Doubles given(A, "A");
        Matrix factor = given.square();
        factor.transposeInPlace();  // the lower triangle in numpy's order
        std::vector<Index> order;
        Index rank;
        {
          py::gil_scoped_release unlocked;
          rank = std::min(max_rank, pivoted_cholesky(factor, floor, order));
        }
        factor = factor.triangularView<Eigen::Lower>();
        return py::make_tuple(from_indices(order), to_numpy(factor.leftCols(rank)));
      },
      py::arg("A"), py::arg("floor"), py::arg("max_rank"));
}

}  // namespace kernsift
