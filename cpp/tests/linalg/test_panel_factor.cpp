#include <vector>

#include "core/linalg/panel_factor.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

std::vector<const double*> columns(const Matrix& W) {
  std::vector<const double*> out;
  for (Index c = 0; c < W.cols(); ++c) out.push_back(W.col(c).data());
  return out;
}

double off(const Matrix& a, const Matrix& b) { return (a - b).cwiseAbs().maxCoeff(); }

// Eigen asserts on any allocation of its own while one of these lives.
struct NoMalloc {
  NoMalloc() { Eigen::internal::set_is_malloc_allowed(false); }
  ~NoMalloc() { Eigen::internal::set_is_malloc_allowed(true); }
};

}  // namespace

TEST(panel_products_are_products_whatever_the_sizes) {
  for (const Index n : {1, 7, 8, 31, 33, 59})
    for (const Index k : {0, 1, 13})
      for (const Index c : {1, 2, 3, 4, 5, 6, 13}) {
        const Matrix A = check::normal_rows(n, k, 41), X = check::normal_rows(k, c, 42);
        PanelMatrix panels;
        panels.reset(n, k);
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < k; ++j) panels(i, j) = A(i, j);
        Matrix out = Matrix::Ones(panels.padded_rows(), c);
        panels.add_product(n, columns(X).data(), out);
        const Matrix expected = (A * X).array() + 1.0;
        CHECK(off(out.topRows(n), expected) < 1e-13);  // at most 13 terms of order one
        CHECK((out.bottomRows(out.rows() - n).array() == 1.0).all());
      }
}

TEST(a_panel_of_the_factor_gives_the_coordinates_without_allocation) {
  const Index before = 17, size = 29, c = 23;
  Matrix L = Matrix::Zero(before + size, before + size);
  L.triangularView<Eigen::Lower>() = Matrix(0.3 * check::normal_rows(before + size, before + size, 43));
  L.diagonal().setConstant(2.0);
  const Matrix K = check::normal_rows(before + size, c, 44), W = L.triangularView<Eigen::Lower>().solve(K);
  PanelFactor factor;
  factor.begin(before + 3);  // grown once: from here on nothing is allocated
  Matrix out = Matrix::Zero(PanelFactor::kSteps, c);
  out.topRows(size) = K.bottomRows(size);
  const Matrix known = W.topRows(before);
  const auto at = columns(known);
  std::vector<Vector> rows;
  for (Index i = 0; i < size; ++i) rows.emplace_back(L.row(before + i).head(before + i).transpose());
  {
    const NoMalloc guard;
    factor.begin(before);
    for (Index i = 0; i < size; ++i) factor.append(rows[i], L(before + i, before + i));
    factor.coordinates(at.data(), out);
  }
  CHECK(factor.size() == size && factor.padded() == 32);
  CHECK(off(out.topRows(size), W.bottomRows(size)) < 1e-12 * W.cwiseAbs().maxCoeff());
}
