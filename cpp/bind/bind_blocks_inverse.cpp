// kernsift.blocks: SymmetricInverse and UnsymmetricInverse.
#include "bind/blocks.hpp"
#include "core/linalg/definite_inverse.hpp"
#include "core/linalg/general_inverse.hpp"

namespace kernsift {

namespace {

using Symmetric = Block<DefiniteInverse>;
using Unsymmetric = Block<GeneralInverse>;

double squared(Index n) { return static_cast<double>(n) * static_cast<double>(n); }

// The matrix, or `ridge` times the identity of `size`.
template <class Part>
std::unique_ptr<Block<Part>> begun(const py::object& A, double ridge, Index size, const char* condition) {
  auto block = std::make_unique<Block<Part>>();
  if (A.is_none()) {
    if (size < 0) throw std::invalid_argument("size must not be negative");
    block->part.assign_ridge(size, positive(ridge, "ridge"));
    return block;
  }
  const Doubles given(A, "A");
  const auto matrix = given.square();
  // from the lower triangle in numpy's order, which is the upper one here
  const bool done = block->locked(squared(matrix.rows()) * 10, [&] { return block->part.assign(Matrix(matrix)); });
  if (!done) throw std::invalid_argument(std::string("A is not ") + condition + " to working precision; add a ridge");
  return block;
}

template <class Part>
Array applied(Block<Part>& block, const py::handle& x, double work) {
  const Doubles given(x, "x");
  const Index n = block.size();
  const auto X = given.rows(n);
  Array out = like(given, n);
  auto result = rows_of(out, X.rows());
  block.locked(work * static_cast<double>(X.rows()), [&] {
    if (X.rows() == 1)
      block.part.apply(X.row(0).transpose(), result.row(0).transpose());
    else
      block.part.apply_rows(X, result);
  });
  return out;
}

void bind_symmetric(py::module_& m) {
  py::class_<Symmetric>(m, "SymmetricInverse")
      .def(py::init([](const py::object& A, double ridge, Index size) {
             return begun<DefiniteInverse>(A, ridge, size, "positive definite");
           }),
           py::arg("A") = py::none(), py::arg("ridge") = 1.0, py::arg("size") = 0)
      .def_property_readonly("size", [](const Symmetric& s) { return s.part.size(); })
      .def_property_readonly("n_refused", [](const Symmetric& s) { return s.n_refused; })
      .def(
          "update",
          [](Symmetric& s, const py::handle& x, double weight) {
            const Doubles given(x, "x");
            const auto v = given.vector(s.size());
            finite(weight, "weight");
            return s.changed(squared(v.size()), [&] { return s.part.update(v, weight); });
          },
          py::arg("x"), py::arg("weight") = 1.0)
      .def(
          "update_block",
          [](Symmetric& s, const py::handle& X, const py::object& weights) {
            const Doubles given(X, "X");
            const auto rows = given.rows(s.size());
            const Vector v = weights_of(weights, rows.rows());
            return s.changed(squared(s.size()) * static_cast<double>(rows.rows()),
                             [&] { return s.part.update_block(rows, v); });
          },
          py::arg("X"), py::arg("weights") = py::none())
      .def(
          "grow",
          [](Symmetric& s, const py::handle& b, double c) {
            const Doubles given(b, "b");
            const auto v = given.vector(s.size());
            finite(c, "c");
            return s.changed(squared(v.size()), [&] { return s.part.grow(v, c); });
          },
          py::arg("b"), py::arg("c"))
      .def(
          "border",
          [](Symmetric& s, const py::handle& w, double schur) {
            const Doubles given(w, "w");
            const auto v = given.vector(s.size());
            finite(schur, "schur");
            return s.changed(squared(v.size()), [&] { return s.part.border(v, schur); });
          },
          py::arg("w"), py::arg("schur"))
      .def(
          "delete",
          [](Symmetric& s, Index i) {
            i = index_of(i, s.size());
            return s.changed(squared(s.size()), [&] { return s.part.remove(i); });
          },
          py::arg("i"))
      .def(
          "apply", [](Symmetric& s, const py::handle& x) { return applied(s, x, squared(s.size())); }, py::arg("x"))
      .def(
          "quadratic",
          [](Symmetric& s, const py::handle& x) -> py::object {
            const Doubles given(x, "x");
            const auto X = given.rows(s.size());
            const Vector out =
                s.locked(squared(s.size()) * static_cast<double>(X.rows()), [&] { return s.part.quadratic(X); });
            if (given.dims() == 1) return py::float_(out[0]);
            return vector_to_numpy(out);
          },
          py::arg("x"))
      .def("diagonal",
           [](Symmetric& s) {
             Array out = array(s.size());
             auto values = vector_out(out);
             s.locked(0, [&] {
               for (Index i = 0; i < values.size(); ++i) values[i] = s.part.diagonal(i);
             });
             return out;
           })
      .def("log_det", [](Symmetric& s) { return s.locked(0, [&] { return s.part.log_det(); }); })
      .def("to_dense",
           [](Symmetric& s) { return to_numpy(s.locked(squared(s.size()), [&] { return s.part.dense(); })); })
      .def("condition",
           [](Symmetric& s) { return s.locked(1e6 + squared(s.size()), [&] { return s.part.condition(); }); })
      .def(
          "restore",
          [](Symmetric& s, const py::handle& inverse, double log_det, Index n_refused) {
            const Doubles given(inverse, "inverse");
            const auto matrix = given.square();
            s.locked(0, [&] {
              s.part.restore(Matrix(matrix), log_det);
              s.n_refused = n_refused;
            });
          },
          py::arg("inverse"), py::arg("log_det"), py::arg("n_refused"));
}

void bind_unsymmetric(py::module_& m) {
  py::class_<Unsymmetric>(m, "UnsymmetricInverse")
      .def(py::init([](const py::object& A, double ridge, Index size) {
             return begun<GeneralInverse>(A, ridge, size, "invertible");
           }),
           py::arg("A") = py::none(), py::arg("ridge") = 1.0, py::arg("size") = 0)
      .def_property_readonly("size", [](const Unsymmetric& s) { return s.part.size(); })
      .def_property_readonly("n_refused", [](const Unsymmetric& s) { return s.n_refused; })
      .def(
          "update",
          [](Unsymmetric& s, const py::handle& u, const py::handle& v, double weight) {
            const Doubles left(u, "u"), right(v, "v");
            const auto a = left.vector(s.size()), b = right.vector(s.size());
            finite(weight, "weight");
            return s.changed(3 * squared(a.size()), [&] { return s.part.update(a, b, weight); });
          },
          py::arg("u"), py::arg("v"), py::arg("weight") = 1.0)
      .def(
          "update_block",
          [](Unsymmetric& s, const py::handle& U, const py::handle& V, const py::object& weights) {
            const Doubles left(U, "U"), right(V, "V");
            const auto a = left.rows(s.size()), b = right.rows(s.size());
            if (a.rows() != b.rows())
              right.fail("must have " + std::to_string(a.rows()) + " rows, one for each row of U");
            const Vector w = weights_of(weights, a.rows());
            return s.changed(squared(s.size()) * static_cast<double>(a.rows()),
                             [&] { return s.part.update_block(a, b, w); });
          },
          py::arg("U"), py::arg("V"), py::arg("weights") = py::none())
      .def(
          "grow",
          [](Unsymmetric& s, const py::handle& b, const py::handle& c, double d) {
            const Doubles column(b, "b"), row(c, "c");
            const auto x = column.vector(s.size()), y = row.vector(s.size());
            finite(d, "d");
            return s.changed(3 * squared(x.size()), [&] { return s.part.grow(x, y, d); });
          },
          py::arg("b"), py::arg("c"), py::arg("d"))
      .def(
          "border",
          [](Unsymmetric& s, const py::handle& u, const py::handle& v, double schur) {
            const Doubles left(u, "u"), right(v, "v");
            const auto a = left.vector(s.size()), b = right.vector(s.size());
            finite(schur, "schur");
            return s.changed(squared(a.size()), [&] { return s.part.border(a, b, schur); });
          },
          py::arg("u"), py::arg("v"), py::arg("schur"))
      .def(
          "delete",
          [](Unsymmetric& s, Index i) {
            i = index_of(i, s.size());
            return s.changed(2 * squared(s.size()), [&] { return s.part.remove(i); });
          },
          py::arg("i"))
      .def(
          "apply",
          [](Unsymmetric& s, const py::handle& x, bool transpose) {
            const Doubles given(x, "x");
            const Index n = s.size();
            const auto X = given.rows(n);
            Array out = like(given, n);
            auto result = rows_of(out, X.rows());
            s.locked(squared(n) * static_cast<double>(X.rows()), [&] {
              for (Index r = 0; r < X.rows(); ++r) {
                const auto row = X.row(r).transpose();
                if (transpose)
                  s.part.apply_transposed(row, result.row(r).transpose());
                else
                  s.part.apply(row, result.row(r).transpose());
              }
            });
            return out;
          },
          py::arg("x"), py::arg("transpose") = false)
      .def(
          "quadratic",
          [](Unsymmetric& s, const py::handle& x, const py::handle& z) -> py::object {
            const Doubles left(x, "x"), right(z, "z");
            const Index n = s.size();
            const auto X = left.rows(n), Z = right.rows(n);
            if (X.rows() != Z.rows())
              right.fail("must have " + std::to_string(X.rows()) + " rows, one for each row of x");
            Vector out(X.rows()), image(n);
            s.locked(squared(n) * static_cast<double>(X.rows()), [&] {
              for (Index r = 0; r < X.rows(); ++r) {
                s.part.apply(Z.row(r).transpose(), image);
                out[r] = X.row(r).transpose().dot(image);
              }
            });
            if (left.dims() == 1) return py::float_(out[0]);
            return vector_to_numpy(out);
          },
          py::arg("x"), py::arg("z"))
      .def("diagonal",
           [](Unsymmetric& s) {
             Array out = array(s.size());
             auto values = vector_out(out);
             s.locked(0, [&] { values = s.part.view().diagonal(); });
             return out;
           })
      .def("log_det", [](Unsymmetric& s) { return s.locked(0, [&] { return s.part.log_det(); }); })
      .def("sign", [](Unsymmetric& s) { return s.locked(0, [&] { return s.part.sign(); }); })
      .def("to_dense",
           [](Unsymmetric& s) { return to_numpy(s.locked(squared(s.size()), [&] { return Matrix(s.part.view()); })); })
      .def("condition",
           [](Unsymmetric& s) { return s.locked(1e6 + squared(s.size()), [&] { return s.part.condition(); }); })
      .def(
          "restore",
          [](Unsymmetric& s, const py::handle& inverse, double log_det, double sign, Index n_refused) {
            const Doubles given(inverse, "inverse");
            const auto matrix = given.square();
            s.locked(0, [&] {
              s.part.restore(Matrix(matrix), log_det, sign);
              s.n_refused = n_refused;
            });
          },
          py::arg("inverse"), py::arg("log_det"), py::arg("sign"), py::arg("n_refused"));
}

}  // namespace

void bind_blocks_inverse(py::module_& m) {
  bind_symmetric(m);
  bind_unsymmetric(m);
}

}  // namespace kernsift
