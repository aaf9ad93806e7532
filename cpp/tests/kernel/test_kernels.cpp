#include <cmath>
#include <stdexcept>

#include "core/kernel/dictionary.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

constexpr KernelKind kKinds[] = {KernelKind::rbf,      KernelKind::laplacian,  KernelKind::matern32,
                                 KernelKind::matern52, KernelKind::polynomial, KernelKind::linear};

Kernel make(KernelKind kind, Index d) { return Kernel(kind, Vector::Constant(d, 0.3), 3, 1.0, Vector::Zero(d)); }

Dictionary dictionary(const Kernel& kernel, const RowMatrix& X) {
  Dictionary out(kernel);
  PreparedRows rows;
  kernel.prepare(X, rows);
  for (Index i = 0; i < X.rows(); ++i) out.append(X.row(i).data(), rows, i, i);
  return out;
}

Matrix block(const Dictionary& elements, const RowMatrix& X, Index first, Index count) {
  PreparedRows rows;
  elements.kernel().prepare(X, rows);
  Matrix K(elements.padded(), count);
  elements.block(rows, first, count, K);
  return K.topRows(elements.size());
}

}  // namespace

TEST(kernel_values_do_not_depend_on_place_or_block) {
  for (const KernelKind kind : kKinds) {
    RowMatrix X = check::normal_rows(37, 5, 11);
    X.row(9) *= 1e3;  // one row far from the centre, compared by differences
    const Dictionary all = dictionary(make(kind, 5), X);
    const Matrix whole = block(all, X, 0, 37);
    for (Index r = 0; r < 37; ++r) CHECK((block(all, X, r, 1) == whole.col(r)));
    // the same elements at other places
    const Dictionary shifted = dictionary(make(kind, 5), X.bottomRows(34));
    CHECK((block(shifted, X, 0, 37) == whole.bottomRows(34)));
  }
}

TEST(stationary_kernels_are_exactly_one_at_distance_zero_and_zero_far_away) {
  for (const KernelKind kind : {KernelKind::rbf, KernelKind::laplacian, KernelKind::matern32, KernelKind::matern52}) {
    RowMatrix X = check::normal_rows(20, 3, 12);
    X.row(4).setConstant(1e3);
    X.row(5).setConstant(1e200);
    const Matrix K = block(dictionary(make(kind, 3), X), X, 0, 20);
    CHECK((K.diagonal().array() == 1.0).all());
    for (Index far : {4, 5})
      for (Index i = 0; i < 20; ++i)
        if (i != far) CHECK(K(i, far) == 0.0 && K(far, i) == 0.0);
  }
}

TEST(removing_an_element_keeps_the_order_of_the_others) {
  const RowMatrix X = check::normal_rows(19, 4, 13);
  Dictionary elements = dictionary(make(KernelKind::rbf, 4), X);
  const Matrix before = block(elements, X, 0, 19);
  elements.remove(8);
  elements.remove(0);
  CHECK(elements.size() == 17);
  CHECK(elements.ids().front() == 1 && elements.ids()[6] == 7 && elements.ids()[7] == 9);
  CHECK((elements.vectors().row(7) == X.row(9)));
  Matrix expected(17, 19);
  expected << before.middleRows(1, 7), before.bottomRows(10);
  CHECK((block(elements, X, 0, 19) == expected));
}

TEST(expand_multiplies_without_keeping_the_kernel_values) {
  const RowMatrix X = check::normal_rows(21, 4, 14);
  const Dictionary elements = dictionary(make(KernelKind::matern52, 4), X.topRows(13));
  Matrix coef = Matrix::Zero(elements.padded(), 3);
  coef.topRows(13) = check::normal_rows(13, 3, 15);
  const Vector intercept = Vector::LinSpaced(3, -1, 1);
  PreparedRows rows;
  elements.kernel().prepare(X, rows);
  RowMatrix out(21, 3), one(1, 3);
  elements.kernel().expand(elements.panels(), coef, intercept, rows, 0, 21, out);
  const Matrix expected = (block(elements, X, 0, 21).transpose() * coef.topRows(13)).rowwise() + intercept.transpose();
  CHECK((Matrix(out) - expected).cwiseAbs().maxCoeff() < 1e-14);  // 13 terms of order one
  for (Index r = 0; r < 21; ++r) {
    elements.kernel().expand(elements.panels(), coef, intercept, rows, r, 1, one);
    CHECK((one.row(0) == out.row(r)));  // whatever the tile
  }
}

TEST(slope_is_minus_the_derivative_and_no_kernel_stands_in_for_another) {
  const RowMatrix X = check::normal_rows(12, 2, 15);
  for (const KernelKind kind : kKinds) {
    const Dictionary elements = dictionary(make(kind, 2), X);
    PreparedRows rows;
    elements.kernel().prepare(X, rows);
    Matrix slope(elements.padded(), 12);
    bool refused = false;
    try {
      elements.kernel().slope(elements.panels(), rows, 0, 12, slope);
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    CHECK(refused == !elements.kernel().stationary());
    if (refused) continue;
    // all widths times 1 +- h: dk/dh = -slope r, with r the sum the kernel is a function of (gamma = 0.3)
    const double h = 1e-6;
    const Kernel more(kind, Vector::Constant(2, 0.3 * (1 + h)), 3, 1.0, Vector::Zero(2));
    const Kernel less(kind, Vector::Constant(2, 0.3 * (1 - h)), 3, 1.0, Vector::Zero(2));
    const Matrix K = block(dictionary(more, X), X, 0, 12), k = block(dictionary(less, X), X, 0, 12);
    for (Index i = 0; i < 12; ++i)
      for (Index j = 0; j < 12; ++j) {
        const auto d = (X.row(i) - X.row(j)).array();
        const double r = kind == KernelKind::laplacian ? 0.3 * d.abs().sum() : 0.3 * d.square().sum();
        CHECK(std::abs((K(i, j) - k(i, j)) / (2 * h) + slope(i, j) * r) < 1e-8);  // h^2, and rounding over h
      }
  }
  bool refused = false;
  try {
    make(static_cast<KernelKind>(99), 2);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}
