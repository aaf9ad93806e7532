// kernsift.blocks: Kernel and KernelSpan.
#include <algorithm>
#include <memory>
#include <optional>

#include "bind/blocks.hpp"
#include "core/base/parallel.hpp"
#include "core/kernel/expand_single.hpp"
#include "core/kernel/gram.hpp"
#include "core/kernel/width_slopes.hpp"
#include "core/stream/resolved_span.hpp"

namespace kernsift {

namespace {

// A kernel whose number of features is that of the rows it meets.
class AnyKernel {
 public:
  AnyKernel(const std::string& name, const py::handle& gamma, int degree, double coef0, const py::object& centre)
      : kind_(kernel_kind(name)), name_(name), degree_(degree), coef0_(coef0) {
    const Doubles widths(gamma, "gamma");
    one_ = widths.dims() == 0;
    gamma_ = one_ ? Vector(Vector::Constant(1, widths.number())) : Vector(widths.vector(-1));
    if (!centre.is_none()) centre_ = Doubles(centre, "centre").vector(one_ ? -1 : gamma_.size());
    make(one_ ? std::max<Index>(centre_.size(), 1) : gamma_.size(), centre_);  // bad parameters raise here
  }
  // The kernel of d features; centred at `first` where no centre was given.
  Kernel make(Index d, const Vector& first) const {
    if (!one_ && gamma_.size() != d)
      throw std::invalid_argument("rows have " + std::to_string(d) + " features and gamma has " +
                                  std::to_string(gamma_.size()) + " widths");
    if (centre_.size() > 0 && centre_.size() != d)
      throw std::invalid_argument("rows have " + std::to_string(d) + " features and centre has " +
                                  std::to_string(centre_.size()));
    const Vector& centre = centre_.size() > 0 ? centre_ : first;
    return Kernel(kind_, one_ ? Vector(Vector::Constant(d, gamma_[0])) : gamma_, degree_, coef0_,
                  centre.size() > 0 ? centre : Vector(Vector::Zero(d)));
  }
  std::shared_ptr<const Kernel> of(Index d) {
    const std::lock_guard<ModelMutex> lock(mutex_);
    if (!last_ || last_->n_features() != d) last_ = std::make_shared<const Kernel>(make(d, Vector()));
    return last_;
  }

 private:
  KernelKind kind_;
  std::string name_;
  bool one_ = false;
  Vector gamma_, centre_;
  int degree_;
  double coef0_;
  std::shared_ptr<const Kernel> last_;
  ModelMutex mutex_;
};

using SinglePrecision = py::array_t<float, py::array::c_style>;
bool is_single(const py::handle& X) {
  return py::detail::npy_api::get().PyArray_Check_(X.ptr()) && py::isinstance<py::array_t<float>>(X);
}
// In the precision of the rows that came.
py::object as_given(const py::handle& X, Array values) {
  if (is_single(X)) return py::array_t<float, py::array::c_style | py::array::forcecast>(values);
  return std::move(values);
}

constexpr Index kMatrixTile = 128;  // rows
constexpr Index kShort = 5000;      // values made with the GIL

// Workspace of short calls: what they allocate would take as long as their arithmetic.
struct ShortCall {
  PreparedRows left, right;
  Panels elements;
  Matrix K, coef;
  Vector intercept;

  void prepare(const Kernel& kernel, const Rows& X, const Rows& Z) {
    kernel.prepare(X, left);
    kernel.prepare(Z, right);
    if (elements.n_features() != Z.cols()) elements = Panels(Z.cols());
    elements.clear();
    for (Index i = 0; i < Z.rows(); ++i) elements.append(right.coordinates(i), right.norm(i));
  }
  static ShortCall& of_this_thread() {
    thread_local ShortCall call;
    return call;
  }
};

py::object matrix_of(AnyKernel& self, const py::handle& X, const py::handle& Z, int threads) {
  const Doubles left(X, "X"), right(Z, "Z");
  const auto x = left.rows(-1);
  const auto z = right.rows(x.cols());
  const auto kernel = self.of(x.cols());
  Array out = left.dims() == 2 && right.dims() == 2 ? array(x.rows(), z.rows())
              : left.dims() == 2                    ? array(x.rows())
              : right.dims() == 2                   ? array(z.rows())
                                                    : Array(std::vector<py::ssize_t>{});
  Eigen::Map<RowMatrix> result(out.mutable_data(), x.rows(), z.rows());
  if (result.size() <= kShort) {
    ShortCall& call = ShortCall::of_this_thread();
    call.prepare(*kernel, x, z);
    call.K.resize(call.elements.padded(), x.rows());
    kernel->block(call.elements, call.left, 0, x.rows(), call.K);
    result = call.K.topRows(z.rows()).transpose();
    return as_given(X, std::move(out));
  }
  {
    py::gil_scoped_release unlocked;  // only the buffers above are touched
    PreparedRows rows;
    kernel->prepare(z, rows);
    const Panels elements = panels_of(rows, 0, z.rows(), x.cols());
    parallel_for((x.rows() + kMatrixTile - 1) / kMatrixTile, threads, [&](Index task) {
      const Index first = task * kMatrixTile, count = std::min(kMatrixTile, x.rows() - first);
      PreparedRows tile;
      kernel->prepare(x.middleRows(first, count), tile);
      Matrix K(elements.padded(), count);
      kernel->block(elements, tile, 0, count, K);
      result.middleRows(first, count) = K.topRows(z.rows()).transpose();
    });
  }
  return as_given(X, std::move(out));
}

Array diagonal_of(AnyKernel& self, const py::handle& X) {
  const Doubles given(X, "X");
  const auto x = given.rows(-1);
  const auto kernel = self.of(x.cols());
  PreparedRows rows;
  kernel->prepare(x, rows);
  Array out = array(x.rows());
  for (Index i = 0; i < x.rows(); ++i) out.mutable_at(i) = kernel->self(rows, i);
  return out;
}

py::object expand_of(AnyKernel& self, const py::handle& X, const py::handle& Z, const py::handle& coef, int threads) {
  const Doubles right(Z, "Z"), coefficients(coef, "coef");
  const auto z = right.rows(-1);
  const auto c = coefficients.targets(z.rows());
  const auto kernel = self.of(z.cols());
  py::object out;
  if (is_single(X) && kernel->row().single != nullptr) {
    const SinglePrecision x = SinglePrecision::ensure(X);
    if (x.ndim() != 2 || x.shape(1) != z.cols())
      throw std::invalid_argument("X must have rows of " + std::to_string(z.cols()) + " numbers");
    using Single = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    SinglePrecision values({x.shape(0), static_cast<py::ssize_t>(c.cols())});
    const Eigen::Map<const Single> rows(x.data(), x.shape(0), x.shape(1));
    Eigen::Map<Single> result(values.mutable_data(), x.shape(0), c.cols());
    {
      py::gil_scoped_release unlocked;  // only the buffers above are touched
      SingleExpansion(*kernel, z, c, Vector::Zero(c.cols())).evaluate(rows, result, threads);
    }
    out = coefficients.dims() == 2 ? py::object(values) : values.attr("reshape")(-1);
  } else {
    const Doubles left(X, "X");
    if (left.dims() != 2) left.fail("must be two-dimensional");
    const auto x = left.rows(z.cols());
    Array values = coefficients.dims() == 2 ? array(x.rows(), c.cols()) : array(x.rows());
    Eigen::Map<RowMatrix> result(values.mutable_data(), x.rows(), c.cols());
    if (x.rows() * z.rows() > kShort) {
      py::gil_scoped_release unlocked;  // only the buffers above are touched
      expand_rows(*kernel, z, c, Vector::Zero(c.cols()), x, threads, result);
    } else {
      ShortCall& call = ShortCall::of_this_thread();
      call.prepare(*kernel, x, z);
      call.coef.setZero(call.elements.padded(), c.cols());
      call.coef.topRows(c.rows()) = c;
      call.intercept.setZero(c.cols());
      kernel->expand(call.elements, call.coef, call.intercept, call.left, 0, x.rows(), result);
    }
    out = as_given(X, std::move(values));
  }
  return out;
}

Array gradient_of(AnyKernel& self, const py::handle& X, const py::handle& Z, const py::handle& weights, int threads) {
  const Doubles left(X, "X"), right(Z, "Z"), given(weights, "weights");
  const auto x = left.rows(-1);
  const auto z = right.rows(x.cols());
  const auto G = given.targets(x.rows(), z.rows());
  const auto kernel = self.of(x.cols());
  Array out = array(x.cols());
  auto result = vector_out(out);
  py::gil_scoped_release unlocked;  // only the buffers above are touched
  result = width_slopes(*kernel, x, z, G, threads);
  return out;
}

// A span of rows whose features are known with the first of them.
class AnySpan {
 public:
  explicit AnySpan(py::object kernel) : kept_(std::move(kernel)), kernel_(&kept_.cast<AnyKernel&>()) {}
  ResolvedSpan& of(const Eigen::Map<const RowMatrix>& X) {
    if (!span_) span_.emplace(kernel_->make(X.cols(), X.rows() > 0 ? Vector(X.row(0)) : Vector()));
    if (X.cols() != span_->kernel().n_features())
      throw std::invalid_argument("rows must have " + std::to_string(span_->kernel().n_features()) + " numbers; got " +
                                  std::to_string(X.cols()));
    return *span_;
  }
  Index size() const { return span_ ? span_->size() : 0; }
  std::optional<ResolvedSpan>& span() { return span_; }
  const AnyKernel& kernel() const { return *kernel_; }

 private:
  py::object kept_;
  const AnyKernel* kernel_;
  std::optional<ResolvedSpan> span_;
};
using Span = Block<AnySpan>;

double work_of_span(const Span& s, Index rows) {
  const auto m = static_cast<double>(s.part.size());
  return m * m * static_cast<double>(rows);
}

}  // namespace

void bind_blocks_kernel(py::module_& m) {
  py::class_<AnyKernel>(m, "AnyKernel")
      .def(py::init<const std::string&, const py::handle&, int, double, const py::object&>(), py::arg("name"),
           py::arg("gamma"), py::arg("degree"), py::arg("coef0"), py::arg("centre") = py::none())
      .def("matrix", &matrix_of, py::arg("X"), py::arg("Z"), py::arg("threads") = 1)
      .def("diagonal", &diagonal_of, py::arg("X"))
      .def("expand", &expand_of, py::arg("X"), py::arg("Z"), py::arg("coef"), py::arg("threads") = 1)
      .def("gradient", &gradient_of, py::arg("X"), py::arg("Z"), py::arg("weights"), py::arg("threads") = 1)
      .def("of", [](AnyKernel& self, Index n_features) { return Kernel(*self.of(n_features)); }, py::arg("n_features"));

  py::class_<Span>(m, "KernelSpan")
      .def(py::init<py::object>(), py::arg("kernel"))
      .def_property_readonly("size", [](const Span& s) { return s.part.size(); })
      .def_property_readonly("n_refused", [](const Span& s) { return s.n_refused; })
      .def("vectors",
           [](Span& s) { return s.part.span() ? to_numpy(s.part.span()->dictionary().vectors()) : array(0, 0); })
      .def(
          "novelty",
          [](Span& s, const py::handle& X) -> py::tuple {
            const Doubles given(X, "X");
            const auto x = given.rows(-1);
            Vector distance, bound;
            s.locked(2 * work_of_span(s, x.rows()), [&] { s.part.of(x).novelty(x, distance, bound); });
            if (given.dims() == 1) return py::make_tuple(distance[0], bound[0]);
            return py::make_tuple(vector_to_numpy(distance), vector_to_numpy(bound));
          },
          py::arg("X"))
      .def(
          "coordinates",
          [](Span& s, const py::handle& X) {
            const Doubles given(X, "X");
            const auto x = given.rows(-1);
            const Index m = s.size();
            Array out = like(given, m);
            Eigen::Map<RowMatrix> result(out.mutable_data(), x.rows(), m);
            s.locked(work_of_span(s, x.rows()), [&] { s.part.of(x).coordinates(x, result); });
            return out;
          },
          py::arg("X"))
      .def(
          "coefficients",
          [](Span& s, const py::handle& W) {
            const Doubles given(W, "W");
            const auto w = given.rows(s.size());
            Array out = like(given, w.cols());
            auto result = rows_of(out, w.rows());
            s.locked(work_of_span(s, w.rows()), [&] {
              if (!s.part.span()) return;
              Matrix columns = w.transpose();
              s.part.span()->span().coefficients(columns);
              result = columns.transpose();
            });
            return out;
          },
          py::arg("W"))
      .def(
          "append",
          [](Span& s, const py::handle& x) {
            const Doubles given(x, "x");
            const auto v = given.vector(-1);
            return s.changed(work_of_span(s, 1), [&] { return s.part.of({v.data(), 1, v.size()}).append(v.data()); });
          },
          py::arg("x"))
      .def(
          "delete",
          [](Span& s, Index i) {
            i = index_of(i, s.size());
            s.locked(3 * work_of_span(s, 1), [&] { s.part.span()->remove(i); });
          },
          py::arg("i"))
      .def("to_cholesky",
           [](Span& s) {
             return to_numpy(s.locked(work_of_span(s, 1), [&] {
               return s.part.span() ? Matrix(s.part.span()->span().factor()) : Matrix();
             }));
           })
      .def("state",
           [](Span& s) {
             Arrays arrays;
             s.locked(work_of_span(s, 1), [&] {
               if (!s.part.span()) return;
               s.part.span()->save(arrays);
               arrays.put("centre", s.part.span()->kernel().centre());
             });
             py::dict out = to_dict(arrays);
             return out;
           })
      .def(
          "restore",
          [](Span& s, const py::dict& state, Index n_refused) {
            const Arrays arrays = from_dict(state);
            s.locked(0, [&] {
              s.n_refused = n_refused;
              if (arrays.items().empty()) return;
              const Matrix& centre = arrays.get("centre");
              s.part.span().emplace(s.part.kernel().make(centre.rows(), centre.col(0)));
              s.part.span()->load(arrays);
            });
          },
          py::arg("state"), py::arg("n_refused"));
}

}  // namespace kernsift
