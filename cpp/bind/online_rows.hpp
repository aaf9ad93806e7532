// How rows reach a model of a stream: blocks, a second pass, predict-then-learn, one row.
#pragma once

#include <algorithm>
#include <cmath>

#include "bind/guarded_model.hpp"
#include "bind/settings.hpp"
#include "core/base/limits.hpp"
#include "core/stream/online_model.hpp"
#include "core/stream/prequential.hpp"

namespace kernsift {

namespace online_binding {

// The papers' form has no second pass and keeps its ridge.
template <class Model>
constexpr bool kBeyondThePapers = std::is_same_v<Model, OnlineModel>;

// Learns rows a bounded number at a time, so that Ctrl-C is heard between two of them.
template <class Model, class Log>
void learn_in_steps(Guarded<Model>& self, const Rows& x, const Rows& y, const ConstVectorRef& v, bool exact_apriori,
                    const Log& log) {
  for (Index first = 0; first < x.rows();) {
    Index count = 0;
    self.changed([&] {
      count = std::min(self.model.rows_a_step(exact_apriori), x.rows() - first);
      self.model.learn(x.middleRows(first, count), y.middleRows(first, count), v.segment(first, count),
                       log(first, count));
    });
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    first += count;
  }
}

// Rows to learn as the caller's buffers hold them, of the widths the model expects.
struct Samples {
  template <class Model>
  Samples(const Guarded<Model>& self, const Array& X, const Array& Y, const Array& weights)
      : x(rows(X, self.kernel.n_features(), "X")),
        y(rows(Y, self.n_outputs, "Y")),
        v(vector(weights, x.rows(), "sample_weight")) {
    if (y.rows() != x.rows()) throw std::invalid_argument("Y must have one row per row of X");
  }
  Eigen::Map<const RowMatrix> x, y;
  Eigen::Map<const Vector> v;
};

template <class Model>
py::tuple learn(Guarded<Model>& self, const Array& X, const Array& Y, const Array& weights, bool exact_apriori,
                Index threads) {
  const Samples samples(self, X, Y, weights);
  const auto &x = samples.x, &y = samples.y;
  Array apriori = array(x.rows(), y.cols());
  py::array_t<std::uint8_t> outcome(x.rows());
  py::array_t<std::int64_t> victim(x.rows());
  auto f = rows_out(apriori);
  std::uint8_t* const outcomes = outcome.mutable_data();
  std::int64_t* const victims = victim.mutable_data();
  const auto log = [&](Index first, Index count) {
    return LearnLog{f.middleRows(first, count), {outcomes + first, victims + first}, exact_apriori, threads};
  };
  learn_in_steps(self, x, y, samples.v, exact_apriori, log);
  return py::make_tuple(apriori, outcome, victim);
}

// On a copy, so that an interrupted second pass leaves the first one's model. Other threads that learn wait.
template <class Model>
void refit(Guarded<Model>& self, const Array& X, const Array& Y, const Array& weights, Index threads) {
  if constexpr (!kBeyondThePapers<Model>) {
    throw std::invalid_argument("the explicit engine has no refit");
  } else {
    const Samples samples(self, X, Y, weights);
    const auto &x = samples.x, &y = samples.y;
    std::unique_lock<ModelMutex> turn(self.learning, std::defer_lock);
    {
      py::gil_scoped_release unlocked;
      turn.lock();
    }
    Guarded<Model> again(self.locked([&] {
      self.whole.check();
      return self.model;
    }));
    RowMatrix apriori;
    std::vector<std::uint8_t> outcome;
    std::vector<std::int64_t> victim;
    const auto log = [&](Index, Index count) {
      apriori.resize(count, y.cols());
      outcome.resize(static_cast<std::size_t>(count));
      victim.resize(static_cast<std::size_t>(count));
      return LearnLog{apriori, {outcome.data(), victim.data()}, false, threads};
    };
    again.model.begin_refit();
    learn_in_steps(again, x, y, samples.v, false, log);
    self.locked([&] {
      again.model.end_refit();
      self.whole.change([&] { self.model = std::move(again.model); });
    });
  }
}

// One row at a time: the prediction (and its parts of the variance) before the row `delay` earlier is learned. Step i
// predicts row i and learns row i - delay; of all steps those from `begin` to `end`, to the last if that is negative.
template <class Model>
py::tuple prequential(Guarded<Model>& self, const Array& X, const Array& Y, const Array& weights, Index delay,
                      bool with_variance, Index begin, Index end, Array& members, Array& said, double quantile) {
  Model& model = self.model;
  const Samples samples(self, X, Y, weights);
  const auto &x = samples.x, &y = samples.y;
  const bool intervals = quantile > 0;
  Array apriori = array(x.rows(), y.cols()), variance = array(with_variance || intervals ? x.rows() : 0, y.cols());
  Array half_widths = array(intervals ? x.rows() : 0, y.cols());
  py::array_t<std::int64_t> n_basis(x.rows());
  if (members.shape(0) != 0 && (members.shape(0) != x.rows() || members.shape(1) != model.member_numbers()))
    throw std::invalid_argument("members must have a row for each of X and `member_numbers` columns");
  if (said.shape(0) != 0 && (!intervals || said.shape(0) != x.rows() || said.shape(1) != 3 * y.cols()))
    throw std::invalid_argument("said must have a row for each of X and three columns for each output, for intervals");
  Foretelling out{rows_out(apriori), rows_out(variance), rows_out(half_widths), quantile,
                  rows_out(members), rows_out(said),     n_basis.mutable_data()};
  const Index steps = end < 0 ? x.rows() + delay : std::min(end, x.rows() + delay);
  for (Index first = std::max<Index>(begin, 0); first < steps; first += kRowsBetweenSignals) {
    self.changed([&] {
      const Index last = std::min(first + kRowsBetweenSignals, steps);
      kernsift::prequential(model, x, y, samples.v, delay, first, last, out);
    });
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  return py::make_tuple(apriori, variance, n_basis, half_widths);
}

// Returns the rows of positive weight learned so far. `y` is a float or an array of the outputs: making an array of one
// number costs as much as fifty kernels.
template <class Model>
std::int64_t update(Guarded<Model>& self, const Array& x, const py::object& y, double weight) {
  const auto row = vector(x, self.kernel.n_features(), "x");
  const bool one = py::isinstance<py::float_>(y);
  const double number = one ? py::cast<double>(y) : 0.0;
  const Array values = one ? array(0) : py::cast<Array>(y);
  if (one && self.n_outputs != 1) throw std::invalid_argument("y must have one value per output");
  const Eigen::Map<const Vector> target =
      one ? Eigen::Map<const Vector>(&number, 1) : vector(values, self.n_outputs, "y");
  if (!row.allFinite() || !target.allFinite() || !(weight >= 0) || !std::isfinite(weight))
    throw std::invalid_argument("x, y and sample_weight must be finite, and the weight not negative");
  if (weight > 0 && !(weight >= kSmallest && weight <= kLargest && target.cwiseAbs().maxCoeff() <= kLargest))
    throw std::invalid_argument("y or sample_weight is too large, or the weight too small, to be squared and added");
  bool fits = true;
  std::int64_t learned = 0;
  self.change_one([&] {
    self.model.prepare_row(row);
    fits = self.model.prepared_size(row) <= kLargest;
    if (fits) self.model.learn_prepared(target, weight);
    learned = self.model.rows_learned();
  });
  if (!fits)
    throw std::invalid_argument("x is too large for this kernel: k(x, x) is beyond 1e+100 and its square overflows");
  return learned;
}

}  // namespace online_binding

}  // namespace kernsift
