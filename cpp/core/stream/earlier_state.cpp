#include "core/stream/earlier_state.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "core/base/multiply.hpp"

namespace kernsift {

bool forgets_exponentially(const Arrays& state) { return state.items().count("frame") > 0; }

Arrays without_frame(const Arrays& state, double alpha, double forgetting, bool constant) {
  Arrays now = state;
  const double scale = 1.0 / (forgetting * state.number("frame"));
  now.put("target_weight", scale * state.number("target_weight"));
  now.put("target_squares", scale * state.number("target_squares"));
  now.put("tracking", 0.0);  // the scores are computed afresh
  now.put("diagonal", Matrix(0, 1));
  now.put("beta", Matrix(0, state.get("theta").cols()));
  now.put("information", Matrix(0, 0));
  const Matrix& C = state.get("inverse");
  const Matrix& theta = state.get("theta");
  const Index p = C.rows(), first = constant && p > 0 ? 1 : 0;
  const Vector level = first > 0 ? Vector(state.get("target_mean")) : Vector::Zero(theta.cols());
  now.put("level", level);
  now.put("level_pending", constant && p == 0);
  if (p == 0) {
    now.put("inverse", Matrix(Matrix::Identity(constant, constant) / alpha));
    now.put("theta", Matrix(Matrix::Zero(constant, theta.cols())));
    return now;
  }
  // Z'VZ and Z'Vy of the rows alone, and their y'Vy
  Matrix rows = C.llt().solve(Matrix::Identity(p, p));
  Matrix moment = product(rows, theta);
  Vector squares = Vector(state.get("cost")) + theta.cwiseProduct(moment).colwise().sum().transpose();
  rows.diagonal().tail(p - first).array() -= alpha;
  if (first > 0) {
    squares += level.cwiseProduct(level * rows(0, 0) - 2.0 * moment.row(0).transpose());
    moment -= rows.col(0) * level.transpose();
  }
  Matrix information = scale * rows;
  information.diagonal().array() += alpha;
  const Eigen::LLT<Matrix> factor(information);
  const Matrix solution = factor.solve(scale * moment);
  now.put("inverse", Matrix(factor.solve(Matrix::Identity(p, p))));
  now.put("theta", solution);
  now.put("cost",
          Matrix((scale * squares - scale * solution.cwiseProduct(moment).colwise().sum().transpose()).cwiseMax(0.0)));
  return now;
}

}  // namespace kernsift
