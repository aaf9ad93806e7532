#include "core/select/forward_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/interrupt.hpp"
#include "core/base/multiply.hpp"
#include "core/kernel/gram.hpp"
#include "core/ridge/leave_one_out.hpp"
#include "core/ridge/ridge_problem.hpp"

namespace kernsift {

namespace {

// Parts held out in turn where there are at most kFewRows or the model uses kHeavy of their freedom: all of them, or as
// many as make kEnough rows. Elsewhere errors of at most kMost rows are kept.
constexpr Index kParts = 5, kFewRows = 200, kEnough = 400, kMost = 1000;
constexpr double kHeavy = 0.1;

// [1 k(x, chosen)], a column a row of X; the constant only with a bias.
Matrix design(const SelectionTask& task, const Rows& vectors, const std::vector<Index>& width, const Rows& X) {
  const Index bias = task.settings.fit_intercept, m = vectors.rows();
  Matrix out = Matrix::Ones(bias + m, X.rows()), padded, K(m, X.rows());
  for (std::size_t g = 0; g < task.kernels.size(); ++g) {
    const Kernel& kernel = task.kernels[g];
    PreparedRows elements, rows;
    kernel.prepare(vectors, elements);
    kernel.prepare(X, rows);
    kernel_columns(kernel, panels_of(elements, 0, m, kernel.n_features()), rows, 0, X.rows(), padded, K);
    for (Index j = 0; j < m; ++j)
      if (width[j] == static_cast<Index>(g)) out.row(bias + j) = K.row(j);
  }
  return out;
}

// Adds rows with their errors by a model.
void add_rows(const SelectionTask& task, const Selected& found, const Rows& vectors, const std::vector<Index>& rows,
              LeftOutRows& to) {
  const Index bias = task.settings.fit_intercept, first = static_cast<Index>(to.rows.size());
  const std::vector<Index> width(found.width.begin(), found.width.begin() + found.n_basis);
  const Matrix D = design(task, vectors, width, gather(task.X, rows));
  const Matrix spread = product(found.model.spread.transpose(), D);
  to.rows.insert(to.rows.end(), rows.begin(), rows.end());
  to.errors.conservativeResize(to.rows.size(), task.Y.cols());
  to.model.conservativeResize(to.rows.size());
  for (Index r = 0; r < D.cols(); ++r) {
    auto e = to.errors.row(first + r);
    e = task.Y.row(rows[r]) - D.col(r).tail(found.n_basis).transpose() * found.model.coef;
    if (bias) e -= found.model.intercept.transpose();
    to.model[first + r] = spread.col(r).squaredNorm();
  }
}

RowMatrix chosen_rows(const Rows& X, const Selected& found) {
  return gather(X, std::vector<Index>(found.chosen.begin(), found.chosen.begin() + found.n_basis));
}

// Adds the rows `out` by a selection made on the others; false where no candidate is left.
bool add_part(const SelectionTask& task, double unit, const std::vector<Index>& kept, const std::vector<Index>& out,
              LeftOutRows& to) {
  const RowMatrix X = gather(task.X, kept), Y = gather(task.Y, kept);
  Vector v(kept.size());
  for (Index i = 0; i < v.size(); ++i) v[i] = task.v[kept[i]];
  SelectionTask part{task.kernels, X, Y, v, {}, task.settings, task.cache_bytes};
  for (const Index row : task.candidates) {
    const auto place = std::lower_bound(kept.begin(), kept.end(), row);
    if (place != kept.end() && *place == row) part.candidates.push_back(place - kept.begin());
  }
  if (part.candidates.empty()) return false;
  part.settings.rows = unit * sum_of(v);
  const Selected found = select_forward(part);
  add_rows(task, found, chosen_rows(X, found), out, to);
  return true;
}

// The fit's own errors, each row left out in closed form: [MATH LOO] with the toll on the freedom spent.
void leave_out_rows(const SelectionTask& task, const Selected& found, LeftOutRows& to) {
  std::vector<Index> rows(std::min(kMost, task.X.rows()));  // in canonical order: random ones
  std::iota(rows.begin(), rows.end(), Index{0});
  add_rows(task, found, chosen_rows(task.X, found), rows, to);
  for (const Index i : rows) {
    const double h = leaving(task.v[i]) * to.model[i];
    const double slack = std::max({1.0 - kGcvToll * h, 0.5 * (1.0 - h), kLeastSlack});
    to.errors.row(i) /= slack;
    to.model[i] /= slack;
  }
}

}  // namespace

Selected select_forward(const SelectionTask& task) {
  const Vector root = task.v.cwiseSqrt();
  const Index n = task.X.rows();
  std::vector<Index> allowed;
  for (std::size_t g = 0; g < task.kernels.size(); ++g)
    for (const Index row : task.candidates) allowed.push_back(static_cast<Index>(g) * n + row);
  SelectionSettings settings = task.settings;
  if (settings.part > 0)
    settings.max_basis = std::max<Index>(1, static_cast<Index>(settings.part * static_cast<double>(n)));
  KernelColumns columns(task.kernels, task.X, root, settings.threads, task.cache_bytes);
  const Matrix Y = task.Y;
  ForwardSelection search(columns, Y, root, std::move(allowed), settings);
  while (search.step()) check_interrupt();
  Selected out;
  for (const Index id : search.chosen()) {
    out.chosen.push_back(id % n);
    out.width.push_back(id / n);
  }
  out.n_basis = search.best();
  out.model = search.model();
  out.rows = search.rows();
  out.gcv_path = search.gcv_path();
  out.alpha_path = search.alpha_path();
  out.rss_path = search.rss_path();
  out.score_path = search.score_path();
  out.n_dependent = search.n_dependent();
  out.ending = search.ending();
  return out;
}

LeftOutRows left_out_rows(const SelectionTask& task, const Selected& found) {
  LeftOutRows out;
  const Index rows = task.X.rows();
  const double n = found.rows, trace = found.model.trace, spent = n - trace;
  if (rows > 2 && (rows <= kFewRows || spent > kHeavy * n)) {
    const double unit = n / sum_of(task.v);
    const Index parts = std::min(kParts, rows);
    bool all = true;
    for (Index held = 0; held < parts && all; ++held) {  // rows in canonical order: a random part
      if (static_cast<Index>(out.rows.size()) >= kEnough) break;
      std::vector<Index> kept, part;
      for (Index i = 0; i < rows; ++i) (i % parts == held ? part : kept).push_back(i);
      all = add_part(task, unit, kept, part, out);
    }
    if (all) {
      double total = 0;
      out.noise = Vector::Zero(task.Y.cols());
      for (std::size_t r = 0; r < out.rows.size(); ++r) {  // each in units of its predicted variance
        const double v = task.v[out.rows[r]];
        out.noise += v / (1.0 + out.model[r]) * out.errors.row(r).transpose().cwiseAbs2();
        total += unit * v;
      }
      out.noise /= total;
      return out;
    }
    out = LeftOutRows{};
  }
  const double left = std::max({n - kGcvToll * spent, 0.5 * trace, std::numeric_limits<double>::epsilon() * n});
  out.noise = found.model.rss * (n / (left * left));
  leave_out_rows(task, found, out);
  return out;
}

double select_forward_memory(const SelectionSettings& settings, Index n, Index d, Index outputs, Index candidates,
                             Index widths, Index most, double cache_bytes) {
  const double rows = static_cast<double>(round_up(n, 256)), columns = static_cast<double>(round_up(most + 1, 32));
  const bool every = settings.criterion == Criterion::error_reduction && settings.n_candidates == 0;
  // rows whose residuals tie, each with every width; two and more of equal error reduction are rare
  double looked_at = every ? 1.0 : static_cast<double>(std::min<Index>(59, candidates) * widths);
  if (settings.n_candidates > 0) looked_at = static_cast<double>(std::min(settings.n_candidates, candidates * widths));
  double doubles = rows * columns;               // Q
  doubles += 5.0 * (most + 1.0) * (most + 1.0);  // U with room to grow, a copy, the spread, and what it is made of
  // K of the candidates of a step; targets, residual, error, combinations; the rows prepared, for each width
  doubles += rows * (looked_at + 8.0 * outputs + widths * (d + 3.0) + d);
  // what 32 tasks add up for the candidates' projections on Q
  doubles += std::min(std::floor(rows / 256), 32.0) * most * (looked_at + 1.0);
  if (every)  // kernel values kept, and running sums of eight tasks
    doubles += std::min(cache_bytes / 8, 0.5 * n * n * widths + 512.0 * n) + 8.0 * n * (outputs + 1.0);
  return doubles;
}

}  // namespace kernsift
