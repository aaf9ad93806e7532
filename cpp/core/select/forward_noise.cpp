#include "core/select/forward_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/interrupt.hpp"
#include "core/kernel/gram.hpp"
#include "core/ridge/ridge_problem.hpp"

namespace kernsift {

namespace {

// Parts held out in turn, where there are fewer rows than kFewRows or the model uses kHeavy of their freedom.
constexpr Index kParts = 5, kFewRows = 200;
constexpr double kHeavy = 0.25;

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

// Adds the squared errors of the rows `out` in units of their variance; false where no candidate is left.
bool add_part(const SelectionTask& task, double unit, const std::vector<Index>& kept, const std::vector<Index>& out,
              Vector& sums) {
  const RowMatrix X = gather(task.X, kept), Y = gather(task.Y, kept), new_X = gather(task.X, out);
  Vector v(kept.size());
  for (Index i = 0; i < v.size(); ++i) v[i] = task.v[kept[i]];
  SelectionTask part{task.kernels, X, Y, v, {}, task.settings, task.cache_bytes};
  for (const Index row : task.candidates) {
    const auto place = std::lower_bound(kept.begin(), kept.end(), row);
    if (place != kept.end() && *place == row) part.candidates.push_back(place - kept.begin());
  }
  if (part.candidates.empty()) return false;
  part.settings.rows = unit * v.sum();
  Selected found = select_forward(part);
  found.chosen.resize(found.n_basis);
  found.width.resize(found.n_basis);
  const Index bias = task.settings.fit_intercept;
  const Matrix D = design(task, gather(X, found.chosen), found.width, new_X);
  const Matrix spread = found.model.spread.transpose() * D;
  for (Index r = 0; r < D.cols(); ++r) {
    Vector e = task.Y.row(out[r]).transpose() - found.model.coef.transpose() * D.col(r).tail(found.n_basis);
    if (bias) e -= found.model.intercept;
    sums += task.v[out[r]] / (1.0 + spread.col(r).squaredNorm()) * e.cwiseAbs2();
  }
  return true;
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
  out.n_dependent = search.n_dependent();
  out.ending = search.ending();
  return out;
}

Vector noise_variance(const SelectionTask& task, const Selected& found) {
  const Index rows = task.X.rows();
  const double n = found.rows, trace = found.model.trace, spent = n - trace;
  if (rows > 2 && (rows <= kFewRows || spent > kHeavy * n)) {
    Vector sums = Vector::Zero(task.Y.cols());
    const Index parts = std::min(kParts, rows);
    bool all = true;
    for (Index held = 0; held < parts && all; ++held) {  // rows in canonical order: a random part
      std::vector<Index> kept, out;
      for (Index i = 0; i < rows; ++i) (i % parts == held ? out : kept).push_back(i);
      all = add_part(task, n / task.v.sum(), kept, out, sums);
    }
    if (all) return sums / n;
  }
  const double left = std::max({n - kGcvToll * spent, 0.5 * trace, std::numeric_limits<double>::epsilon() * n});
  return found.model.rss * (n / (left * left));
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
