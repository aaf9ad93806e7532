// Leave-one-out in closed form: the residual of a row when it is left out is e / (1 - h), h the leverage of what leaves
// [MATH LOO]. A row of weight v >= 1 loses one unit of it, as when one of v equal rows is left out; a row of v < 1 is
// lost whole.
#pragma once

#include <algorithm>

#include "core/base/types.hpp"

namespace kernsift {

// The weight that leaves a row of weight v.
inline double leaving(double v) { return std::min(v, 1.0); }

// A row that alone carries a direction has leverage 1: 1 - leverage is kept off 0.
constexpr double kLeastSlack = 1e-12;

// 1 - the leverage of what leaves, a `part` of the row's weight, from 1 - the leverage of the whole row.
template <class Slack, class Part>
auto slack_of_part(const Slack& slack, const Part& part) {
  return (1.0 - part) + part * slack;
}

// Errors of left-out rows for many ridges at once. Rows arrive in coordinates u, centred, in which the ridge is
// diagonal: with eigenvalues L and projected targets f the fit is u'(L + alpha I)^-1 f, the leverage u'(L + alpha I)^-1
// u + bias.
class LeaveOneOutGrid {
 public:
  // bias: 1 / sum v, the share of the unpenalised constant in each leverage, or 0 without one.
  LeaveOneOutGrid(const ConstVectorRef& values, const ConstMatrixRef& projected, const ConstVectorRef& alphas,
                  double bias);

  // u: a column a row; Y: centred targets, a row each; v their weights, `leaves` what of them leaves.
  void add(const ConstMatrixRef& u, const ConstMatrixRef& Y, const ConstVectorRef& v, const ConstVectorRef& leaves);

  const Vector& sums() const { return sums_; }  // for each alpha: sum over rows and outputs of v (left-out residual)^2
  const Vector& least() const { return least_; }  // and the smallest 1 - h

 private:
  Matrix shrink_, theta_;  // 1 / (values + alpha), (values, alphas); the fits' coefficients, (values, alphas x outputs)
  double bias_;
  Vector sums_, least_;
  Matrix leverage_, fit_;
};

}  // namespace kernsift
