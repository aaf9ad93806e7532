#include <cmath>

#include "core/stream/online_model.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

using namespace kernsift;

TEST(a_ridge_in_which_the_rows_have_drowned_is_not_left) {
  const Index n = 100;
  const RowMatrix X = check::normal_rows(n, 2, 7);
  RowMatrix Y(n, 1), apriori(n, 1);
  Y.col(0) = X.col(0).array().sin();
  std::vector<std::uint8_t> outcome(n);
  std::vector<std::int64_t> victim(n);
  for (const bool constant : {true, false}) {
    OnlineModel model(Kernel(KernelKind::rbf, Vector::Constant(2, 0.7), 3, 1.0, Vector::Zero(2)), 1,
                      {0.1, {Rule::product, 1e-3, 1e-4}, 10, constant});
    model.learn(X, Y, Vector::Ones(n), {apriori, {outcome.data(), victim.data()}});
    CHECK(model.change_ridge(1e70));  // beside which 100 rows of size 1 are rounding
    const Arrays drowned = model.save();
    CHECK(!model.change_ridge(1e-100));
    const Arrays after = model.save();
    for (const auto& [name, array] : drowned.items()) CHECK(after.get(name) == array);
  }
}
