// The parts, one by one, for the tests: each is checked on its own against a dense oracle.
#include "bind/bind.hpp"
#include "core/kernel/kernel_span.hpp"
#include "core/linalg/symmetric_inverse.hpp"
#include "core/linalg/unsymmetric_inverse.hpp"

namespace kernsift {

void bind_building_blocks(py::module_& m) {
  py::class_<SymmetricInverse>(m, "SymmetricInverse")
      .def(py::init([](const Array& inverse) {
             SymmetricInverse s;
             s.assign(rows(inverse, inverse.shape(0), "inverse"));
             return s;
           }),
           py::arg("inverse").noconvert())
      .def("__reduce__",
           [](SymmetricInverse& s) {
             s.settle();
             return py::make_tuple(py::type::of<SymmetricInverse>(), py::make_tuple(to_numpy(s.dense())));
           })
      .def("dense",
           [](SymmetricInverse& s) {
             s.settle();
             return to_numpy(s.dense());
           })
      .def(
          "apply",
          [](SymmetricInverse& s, const Array& x) {
            Array out = array(s.size());
            s.apply_settled(vector(x, s.size(), "x"), vector_out(out));
            return out;
          },
          py::arg("x").noconvert())
      .def(
          "add_outer",
          [](SymmetricInverse& s, const Array& u, double scale) { s.add_outer(vector(u, s.size(), "u"), scale); },
          py::arg("u").noconvert(), py::arg("scale"))
      .def(
          "owe_outer",
          [](SymmetricInverse& s, const Array& u, double scale) { s.owe_outer(vector(u, s.size(), "u"), scale); },
          py::arg("u").noconvert(), py::arg("scale"))
      .def(
          "append",
          [](SymmetricInverse& s, const Array& c, double corner) { s.append(vector(c, s.size(), "column"), corner); },
          py::arg("column").noconvert(), py::arg("corner"))
      .def(
          "border",
          [](SymmetricInverse& s, const Array& w, double schur) { s.border(vector(w, s.size(), "w"), schur); },
          py::arg("w").noconvert(), py::arg("schur"))
      .def("remove", [](SymmetricInverse& s, Index i) {
        if (i < 0 || i >= s.size()) throw py::index_error("no such row");
        s.remove(i);
      });

  py::class_<KernelSpan>(m, "Span")
      .def(py::init([](const Array& factor) {
             KernelSpan s;
             s.assign(rows(factor, factor.shape(0), "factor"));
             return s;
           }),
           py::arg("factor").noconvert())
      .def("__reduce__",
           [](const KernelSpan& s) {
             return py::make_tuple(py::type::of<KernelSpan>(), py::make_tuple(to_numpy(Matrix(s.factor()))));
           })
      .def("factor", [](const KernelSpan& s) { return to_numpy(Matrix(s.factor())); })
      .def(
          "coordinates",
          [](const KernelSpan& s, const Array& k) {
            Matrix w = vector(k, s.size(), "k");
            s.coordinates(w);
            return vector_to_numpy(w);
          },
          py::arg("k").noconvert())
      .def(
          "coefficients",
          [](const KernelSpan& s, const Array& w) {
            Matrix a = vector(w, s.size(), "w");
            s.coefficients(a);
            return vector_to_numpy(a);
          },
          py::arg("w").noconvert())
      .def(
          "append", [](KernelSpan& s, const Array& w, double d) { s.append(vector(w, s.size(), "w"), d); },
          py::arg("w").noconvert(), py::arg("s"))
      .def(
          "remove",
          // Also carries a companion: M <- G' M (rows are coordinates), S <- G' S G.
          [](KernelSpan& s, Index i, const Array& M, SymmetricInverse& S) {
            if (i < 0 || i >= s.size()) throw py::index_error("no such element");
            Matrix companion = rows(M, -1, "M");
            if (companion.rows() != s.size() || S.size() != s.size())
              throw std::invalid_argument("companions must have one row per element");
            Rotations rotations;
            s.remove(i, rotations);
            rotations.rotate_rows(companion, 0);
            S.rotate(rotations, 0);
            return to_numpy(companion);
          },
          py::arg("i"), py::arg("M").noconvert(), py::arg("S"))
      .def(
          "remove_beside",
          // The same with an unsymmetric companion.
          [](KernelSpan& s, Index i, const Array& M, UnsymmetricInverse& S) {
            if (i < 0 || i >= s.size()) throw py::index_error("no such element");
            Matrix companion = rows(M, -1, "M");
            if (companion.rows() != s.size() || S.size() != s.size())
              throw std::invalid_argument("companions must have one row per element");
            Rotations rotations;
            s.remove(i, rotations);
            rotations.rotate_rows(companion, 0);
            S.rotate(rotations);
            return to_numpy(companion);
          },
          py::arg("i"), py::arg("M").noconvert(), py::arg("S"));

  using Unsymmetric = UnsymmetricInverse;
  py::class_<Unsymmetric>(m, "UnsymmetricInverse")
      .def(py::init([](const Array& inverse) {
             Unsymmetric s;
             s.assign(rows(inverse, inverse.shape(0), "inverse"));
             return s;
           }),
           py::arg("inverse").noconvert())
      .def("__reduce__",
           [](const Unsymmetric& s) {
             return py::make_tuple(py::type::of<Unsymmetric>(), py::make_tuple(to_numpy(Matrix(s.view()))));
           })
      .def("dense", [](const Unsymmetric& s) { return to_numpy(Matrix(s.view())); })
      .def(
          "apply",
          [](const Unsymmetric& s, const Array& x, bool transposed) {
            Array out = array(s.size());
            if (transposed)
              s.apply_transposed(vector(x, s.size(), "x"), vector_out(out));
            else
              s.apply(vector(x, s.size(), "x"), vector_out(out));
            return out;
          },
          py::arg("x").noconvert(), py::arg("transposed") = false)
      .def(
          "add_outer",
          [](Unsymmetric& s, const Array& u, const Array& v, double scale) {
            s.add_outer(vector(u, s.size(), "u"), vector(v, s.size(), "v"), scale);
          },
          py::arg("u").noconvert(), py::arg("v").noconvert(), py::arg("scale"))
      .def(
          "border",
          [](Unsymmetric& s, const Array& u, const Array& v, double schur) {
            s.border(vector(u, s.size(), "u"), vector(v, s.size(), "v"), schur);
          },
          py::arg("u").noconvert(), py::arg("v").noconvert(), py::arg("schur"))
      .def("remove", [](Unsymmetric& s, Index i) {
        if (i < 0 || i >= s.size()) throw py::index_error("no such row");
        s.remove(i);
      });
}

}  // namespace kernsift
