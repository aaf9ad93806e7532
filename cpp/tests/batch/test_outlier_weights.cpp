#include "core/batch/outlier_weights.hpp"
#include "tests/check.hpp"

namespace {
using namespace kernsift;
}

TEST(a_row_of_weight_two_is_two_rows_of_the_median) {
  const Vector values = (Vector(4) << 3.0, 1.0, 7.0, 5.0).finished();
  CHECK(weighted_median(values, Vector::Ones(4)) == 4.0);
  CHECK(weighted_median(values, (Vector(4) << 2.0, 1.0, 1.0, 1.0).finished()) == 3.0);
}

TEST(an_outlier_loses_its_weight_and_an_exact_majority_keeps_all) {
  Matrix e = Matrix::Zero(7, 1);
  e(0, 0) = 1.0;
  CHECK((outlier_weights(e, Vector::Ones(7)).array() == 1.0).all());
  e << 30, -1, 1, -1, 1, -1, 1;
  const Vector v = outlier_weights(e, Vector::Ones(7));
  CHECK(v[0] == 1e-4 && (v.tail(6).array() == 1.0).all());
  Matrix beside(7, 2);  // the worst of the outputs counts
  beside << Matrix::Zero(7, 1), e;
  CHECK(outlier_weights(beside, Vector::Ones(7)) == v);
}

TEST(robust_weights_agree_with_the_fit_they_make) {
  const Vector y = (Vector(8) << 0.1, -0.2, 0.15, 0.05, -0.1, 0.0, 9.0, -0.05).finished();
  const auto fit = [&](const Vector& v) { return Matrix((y.array() - v.dot(y) / v.sum()).matrix()); };
  const RobustWeights found = robust_weights(fit, Vector::Ones(8), 100);
  CHECK(found.change <= kSettled && found.factor[6] == 1e-4);
  CHECK((outlier_weights(fit(found.factor), Vector::Ones(8)) - found.factor).cwiseAbs().maxCoeff() <= kSettled);
  CHECK(robust_weights(fit, Vector::Ones(8), 1).change > kSettled);
}
