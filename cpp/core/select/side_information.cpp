#include "core/select/side_information.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/interrupt.hpp"
#include "core/base/limits.hpp"
#include "core/base/multiply.hpp"

namespace kernsift {

namespace {

constexpr Index kTogether = 256;  // patterns judged in one product

// The pivots so far and the directions ahead of them.
class Pivots {
 public:
  Pivots(SelectableRows& patterns, const ConstVectorRef& weight, const ConstMatrixRef& targets,
         const SideInformationSettings& settings)
      : patterns_(patterns),
        settings_(settings),
        root_(weight.cwiseSqrt()),
        along_(patterns, settings.max_basis + settings.ahead + 1),
        columns_(settings.max_basis + settings.ahead + 1, patterns.size()),
        rest_(targets * root_.asDiagonal()) {
    const double rounding = kNothingLeft * rest_.squaredNorm();
    if (settings.fit_intercept) rest_ -= (rest_ * root_) / root_.squaredNorm() * root_.transpose();
    by_kernel_ = (1.0 - settings.balance) / weight.dot(patterns.self());
    const double squares = rest_.squaredNorm();
    by_target_ = squares > rounding ? settings.balance / squares : 0.0;
  }

  void look_ahead() {
    while (ahead() < settings_.ahead) {
      Index furthest;
      along_.residual().maxCoeff(&furthest);
      if (!is_beyond(furthest)) break;
      look_along(furthest);
    }
  }
  // The row of the largest gain, or the number of patterns if none is left.
  Index best() const;
  void take(Index row);

 private:
  Index ahead() const { return along_.size() - taken_; }
  bool is_beyond(Index i) const { return along_.residual()[i] > settings_.tol * patterns_.self()[i]; }
  void look_along(Index row);

  SelectableRows& patterns_;
  const SideInformationSettings& settings_;
  const Vector root_;  // of the weights
  Index taken_ = 0;
  SelectableCoordinates along_;  // of each row: along the pivots, then in the directions ahead
  // The same as columns over the weighted rows, without the constant: of the pivots orthonormal, of those ahead
  // without their parts along them.
  Matrix columns_;
  Matrix rest_;  // of the weighted targets
  double by_kernel_, by_target_;
};

void Pivots::look_along(Index row) {
  PreparedRows prepared;
  patterns_.prepare(&row, 1, prepared);
  const Index last = along_.size();
  along_.append(elements_of(patterns_.kernel(), prepared), Vector(along_.of(row)), std::sqrt(along_.residual()[row]));
  Vector column = along_.directions(last, 1).row(0).transpose().cwiseProduct(root_);
  if (settings_.fit_intercept) column -= root_.dot(column) / root_.squaredNorm() * root_;
  const auto pivots = columns_.topRows(taken_);
  for (int pass = 0; pass < 2; ++pass)  // once is not orthogonal to rounding where little is left
    column -= pivots.transpose() * Vector(pivots * column);
  columns_.row(last) = column.transpose();
}

Index Pivots::best() const {
  const Index n = patterns_.size(), a = ahead();
  const auto along = along_.directions(taken_, a);
  const auto columns = columns_.middleRows(taken_, a);
  const Matrix lengths = product(columns, columns.transpose());
  const Matrix parts = product(rest_, columns.transpose());
  Matrix traces = Matrix::Zero(a, a), scaled, image;
  for (Index first = 0; first < n; first += kTogether) {
    const Index count = std::min(kTogether, n - first);
    const auto rows = along.middleCols(first, count);
    scaled = rows * root_.segment(first, count).cwiseAbs2().asDiagonal();
    add_product(1.0, scaled, rows.transpose(), traces);
  }
  const auto squares = [&](const Matrix& of, const auto& rows) {  // a'(of)a of each row
    image.resize(a, rows.cols());
    multiply(of, rows, image);
    return Vector(image.cwiseProduct(rows).colwise().sum());
  };
  Index best = n;
  double most = -1.0;
  for (Index first = 0; first < n; first += kTogether) {
    const Index count = std::min(kTogether, n - first);
    const auto rows = along.middleCols(first, count);
    const Vector known = rows.colwise().squaredNorm(), of_kernel = squares(traces, rows);
    const Vector length = squares(lengths, rows);
    const Vector of_targets = product(parts, rows).colwise().squaredNorm();
    for (Index i = 0; i < count; ++i) {
      if (!(known[i] > settings_.tol * patterns_.self()[first + i])) continue;
      const double target = length[i] > 0 ? of_targets[i] / length[i] : 0.0;
      const double gain = by_kernel_ * of_kernel[i] / known[i] + by_target_ * target;
      if (gain > most) {
        most = gain;
        best = first + i;
      }
    }
  }
  return best;
}

// A reflection that leaves AA' and makes the first direction ahead that of the row, which becomes a pivot's.
void Pivots::take(Index row) {
  if (is_beyond(row)) look_along(row);  // its column is known in part: now all of it is
  Vector u = along_.of(row).tail(ahead());
  u[0] += std::copysign(u.norm(), u[0]);
  u.normalize();
  along_.reflect(taken_, u);
  auto columns = columns_.middleRows(taken_, ahead());
  columns -= 2.0 * u * (u.transpose() * columns);

  Vector q = columns.row(0).transpose();
  const double length = q.norm();
  if (length > 0) {
    q /= length;
    columns.row(0) = q.transpose();
    rest_ -= Vector(rest_ * q) * q.transpose();
    auto later = columns.bottomRows(ahead() - 1);
    later -= Vector(later * q) * q.transpose();
  }
  ++taken_;
}

}  // namespace

std::vector<Index> side_information_pivots(SelectableRows& patterns, const ConstVectorRef& weight,
                                           const ConstMatrixRef& targets, const SideInformationSettings& settings) {
  std::vector<Index> chosen;
  SideInformationSettings limited = settings;
  limited.max_basis = std::min(settings.max_basis, patterns.size());
  Pivots pivots(patterns, weight, targets, limited);
  while (static_cast<Index>(chosen.size()) < limited.max_basis) {
    check_interrupt();
    pivots.look_ahead();
    const Index row = pivots.best();
    if (row == patterns.size()) break;
    pivots.take(row);
    chosen.push_back(row);
  }
  return chosen;
}

double side_information_memory(Index rows, Index outputs, Index d, const SideInformationSettings& settings) {
  const double directions = static_cast<double>(settings.max_basis + settings.ahead);
  return static_cast<double>(rows) * (2.0 * directions + d + 2.0 * outputs + 24.0);
}

}  // namespace kernsift
