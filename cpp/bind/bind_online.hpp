// The binding of a model of a stream, the same for both engines. Each is compiled in a file of its own
// (bind_online_model.cpp, bind_literal_model.cpp): both in one take the compiler too long.
#pragma once

#include <algorithm>
#include <cmath>

#include "bind/guarded_model.hpp"
#include "bind/settings.hpp"
#include "core/base/limits.hpp"
#include "core/stream/online_model.hpp"
#include "core/stream/prequential.hpp"
#include "core/stream/soundness.hpp"
#include "core/stream/wider_state.hpp"

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
  const auto memories = static_cast<py::ssize_t>(model.settings().forgetting.size());
  if (members.shape(0) != 0 && (members.shape(0) != x.rows() || members.shape(1) != y.cols() * memories))
    throw std::invalid_argument("members must have a row for each of X and a column for each output of each memory");
  if (said.shape(0) != 0 && (!intervals || said.shape(0) != x.rows() || said.shape(1) != 2 * y.cols()))
    throw std::invalid_argument("said must have a row for each of X and two columns for each output, for intervals");
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

template <class Model>
py::dict save(const Guarded<Model>& self) {
  return to_dict(self.settled([&] { return self.model.save(); }));
}

template <class Model>
void load(Guarded<Model>& self, const py::dict& state) {
  const Arrays arrays = from_dict(state);
  self.changed([&] { self.model.load(arrays); });
}

template <class Model>
py::dict settings_of(const Guarded<Model>& self) {
  py::dict settings = to_dict(self.locked([&] { return self.model.settings(); }));  // the ridge may change
  settings["n_outputs"] = self.n_outputs;
  return settings;
}

// Reads a settled model: a number, or numbers by output or by kernel.
template <class Model, class Read>
auto reading(Read read) {
  return [read](const Guarded<Model>& self) { return self.settled([&] { return read(self.model); }); };
}
template <class Model, class Read>
auto reading_vector(Read read) {
  return [read](const Guarded<Model>& self) {
    return vector_to_numpy(self.settled([&]() -> Vector { return read(self.model); }));
  };
}
template <class Model, class Read>
auto reading_matrix(Read read) {
  return [read](const Guarded<Model>& self) {
    return to_numpy(self.settled([&]() -> Matrix { return read(self.model); }));
  };
}

// A model with other features or outputs, from the settings and the state that `change` makes of this one's.
template <class Model, class Change>
auto remade(const Guarded<Model>& self, const Kernel& kernel, Index n_outputs, Change change) {
  auto now = self.settled([&] { return std::make_pair(self.model.settings(), self.model.save()); });
  const Arrays state = change(now.first, now.second);
  auto made = std::make_unique<Guarded<Model>>(kernel, n_outputs, now.first);
  made->model.load(state);
  return made;
}

inline py::dict to_dict(const Soundness& found) {
  py::dict out;
  py::list not_finite;
  for (const std::string& name : found.not_finite) not_finite.append(name);
  out["not_finite"] = not_finite;
  const std::pair<const char*, double> numbers[] = {{"kernel_condition", found.kernel_condition},
                                                    {"kernel_error", found.kernel_error},
                                                    {"distance_error", found.distance_error},
                                                    {"asymmetry", found.asymmetry},
                                                    {"smallest", found.smallest},
                                                    {"largest", found.largest},
                                                    {"largest_along", found.largest_along},
                                                    {"least_cost", found.least_cost},
                                                    {"counted", found.counted},
                                                    {"seen", found.seen}};
  for (const auto& [name, value] : numbers) out[name] = value;
  return out;
}

template <class M>
void bind_engine(py::module_& m, const char* name) {
  using Model = Guarded<M>;
  py::class_<Model>(m, name)
      .def(py::init([](const Kernel& kernel, Index n_outputs, const py::kwargs& settings) {
             return std::make_unique<Model>(kernel, n_outputs, kernsift::settings_of<OnlineSettings>(settings));
           }),
           py::arg("kernel"), py::arg("n_outputs"))
      .def("__reduce__",
           [](const Model& self) {
             const auto now = self.settled([&] { return std::make_pair(self.model.settings(), self.model.save()); });
             py::dict settings = to_dict(now.first);  // the ridge may change
             settings["n_outputs"] = self.n_outputs;
             return rebuilt_from<Model>(self.kernel, settings, now.second);
           })
      .def("restore", &load<M>, py::arg("state"))
      .def("state", &save<M>)
      .def("learn", &learn<M>, py::arg("X").noconvert(), py::arg("Y").noconvert(), py::arg("sample_weight").noconvert(),
           py::arg("exact_apriori") = true, py::arg("threads") = 1)
      .def("prequential", &prequential<M>, py::arg("X").noconvert(), py::arg("Y").noconvert(),
           py::arg("sample_weight").noconvert(), py::arg("delay"), py::arg("with_variance"), py::arg("begin"),
           py::arg("end"), py::arg("members").noconvert(), py::arg("said").noconvert(), py::arg("quantile"))
      .def("update", &update<M>, py::arg("x").noconvert(), py::arg("y"), py::arg("sample_weight"))
      .def(
          "predict_one",
          [](const Model& self, const Array& x) {
            const auto row = vector(x, self.kernel.n_features(), "x");
            if (!row.allFinite()) throw std::invalid_argument("x holds NaN or infinity");
            Array out = array(self.n_outputs);
            auto f = vector_out(out);
            self.read_one([&] { self.model.predict_one(row, f); });
            return out;
          },
          py::arg("x").noconvert())
      // The same, and half the width of its interval, as `prequential` has them.
      .def(
          "predict_interval_one",
          [](const Model& self, const Array& x, double quantile) {
            const auto row = vector(x, self.kernel.n_features(), "x");
            if (!row.allFinite()) throw std::invalid_argument("x holds NaN or infinity");
            Array mean = array(self.n_outputs), half = array(self.n_outputs);
            auto f = vector_out(mean), h = vector_out(half);
            self.read_one([&] {
              self.model.predict_one(row, f);
              self.model.variance_one(h);
              h = half_widths(self.model, quantile, h);
            });
            return py::make_tuple(mean, half);
          },
          py::arg("x").noconvert(), py::arg("quantile"))
      .def("refit", &refit<M>, py::arg("X").noconvert(), py::arg("Y").noconvert(), py::arg("sample_weight").noconvert(),
           py::arg("threads") = 1)
      .def("choose_ridge",
           [](Model& self) {
             bool changed = false;
             if constexpr (!kBeyondThePapers<M>)
               throw std::invalid_argument("the explicit engine keeps its ridge");
             else
               self.changed([&] { changed = self.model.choose_ridge(); });
             return changed;
           })
      .def(
          "add_features",
          [](const Model& self, const Array& widths) {
            const auto more = vector(widths, -1, "widths");
            const Index d = self.kernel.n_features(), count = more.size();
            if (!self.kernel.warp().none())
              throw std::invalid_argument("features cannot be added to a warp: give gamma as a number");
            Vector gamma(d + count), centre = Vector::Zero(d + count);
            gamma << self.kernel.gamma(), more;
            centre.head(d) = self.kernel.centre();
            const Kernel wider(self.kernel.kind(), std::move(gamma), self.kernel.degree(), self.kernel.coef0(),
                               std::move(centre));
            return remade(self, wider, self.n_outputs, [&](OnlineSettings& settings, const Arrays& state) {
              const Arrays wider = with_features(state, settings, d, count);
              auto& linear = settings.linear;
              if (!linear.empty()) linear.resize(static_cast<std::size_t>(d + count), linear.back());
              return wider;
            });
          },
          py::arg("widths"))
      .def(
          "add_outputs",
          [](const Model& self, Index count) {
            return remade(self, self.kernel, self.n_outputs + count,
                          [&](const OnlineSettings&, const Arrays& state) { return with_outputs(state, count); });
          },
          py::arg("count"))
      .def("soundness",
           [](const Model& self) {
             return to_dict(self.settled([&] { return soundness(self.model.save(), self.kernel); }));
           })
      .def(
          "prune",
          [](Model& self, Index kernels) {
            if (kernels < 1) throw std::invalid_argument("at least one kernel must stay");
            self.changed([&] { self.model.prune(kernels); });
          },
          py::arg("kernels"))
      .def(
          "predict",
          [](const Model& self, const Array& X, Index threads) {
            const auto x = rows(X, self.kernel.n_features(), "X");
            Array out = array(x.rows(), self.n_outputs);
            auto f = rows_out(out);
            self.settled([&] { self.model.predict(x, f, threads); });
            return out;
          },
          py::arg("X").noconvert(), py::arg("threads") = 1)
      .def(
          "variance",
          [](const Model& self, const Array& X, Index threads) {
            const auto x = rows(X, self.kernel.n_features(), "X");
            Array variance = array(x.rows(), self.n_outputs);
            auto v = rows_out(variance);
            self.settled([&] { self.model.variance(x, v, threads); });
            return variance;
          },
          py::arg("X").noconvert(), py::arg("threads") = 1)
      .def_property_readonly("alpha",
                             [](const Model& self) { return self.locked([&] { return self.model.settings().alpha; }); })
      // Of one moment, whatever another thread learns meanwhile: so do these. With the normal quantile of a coverage
      // half the width of its intervals is in the place of the variance.
      .def(
          "predict_with_variance",
          [](const Model& self, const Array& X, Index threads, double quantile) {
            const auto x = rows(X, self.kernel.n_features(), "X");
            Array out = array(x.rows(), self.n_outputs), variance = array(x.rows(), self.n_outputs);
            auto f = rows_out(out), v = rows_out(variance);
            self.settled([&] {
              self.model.predict(x, f, threads);
              self.model.variance(x, v, threads);
              if (quantile > 0) v = v.cwiseSqrt() * self.model.interval_widths(quantile).asDiagonal();
            });
            return py::make_tuple(out, variance);
          },
          py::arg("X").noconvert(), py::arg("threads") = 1, py::arg("quantile") = 0.0)
      // Means, covariances of new observations without their noise (outputs x rows x rows), and that noise.
      .def(
          "predict_with_covariance",
          [](const Model& self, const Array& X, Index threads) {
            const auto x = rows(X, self.kernel.n_features(), "X");
            Array out = array(x.rows(), self.n_outputs), covariance({self.n_outputs, x.rows(), x.rows()});
            auto f = rows_out(out);
            Vector noise;
            if constexpr (!kBeyondThePapers<M>) {
              throw std::invalid_argument("engine='inverse' is the papers' literal form, without a joint covariance");
            } else {
              double* const to = covariance.mutable_data();
              self.settled([&] {
                self.model.predict(x, f, threads);
                noise = self.model.noise();
                Index o = 0;
                for (const Matrix& each : self.model.covariance(x))
                  Eigen::Map<Matrix>(to + each.size() * o++, each.rows(), each.cols()) = each;
              });
            }
            return py::make_tuple(out, covariance, vector_to_numpy(noise));
          },
          py::arg("X").noconvert(), py::arg("threads") = 1)
      .def_property_readonly("expansion",
                             [](const Model& self) {
                               Matrix basis, coef;
                               const Vector intercept = self.settled([&] {
                                 basis = self.model.dictionary().vectors();
                                 coef = self.coefficients();
                                 return self.model.intercept();
                               });
                               return py::make_tuple(to_numpy(basis), to_numpy(coef), vector_to_numpy(intercept));
                             })
      // Of each memory: how much it keeps, its weight, and the root mean square of its errors before it learned each of
      // the last rows (outputs x memories).
      .def_property_readonly("memories",
                             [](const Model& self) {
                               std::vector<double> kept;
                               Vector weights = Vector::Ones(1);
                               Matrix errors = Matrix::Zero(self.n_outputs, 1);
                               self.settled([&] {
                                 kept = self.model.settings().forgetting;
                                 if constexpr (kBeyondThePapers<M>) {
                                   weights = self.model.state().mixture().weights();
                                   errors = self.model.state().mixture().errors();
                                 }
                               });
                               return py::make_tuple(kept, vector_to_numpy(weights), to_numpy(errors));
                             })
      .def_property_readonly("kept",
                             [](const Model& self) {
                               const RowMatrix kept = self.locked([&] { return self.model.kept().in_order(); });
                               const Index d = self.kernel.n_features();
                               return py::make_tuple(to_numpy(kept.leftCols(d)),
                                                     to_numpy(kept.middleCols(d, self.n_outputs)),
                                                     vector_to_numpy(kept.rightCols(1)));
                             })
      .def_property_readonly("settings", &settings_of<M>)
      .def_property_readonly("n_outputs", [](const Model& self) { return self.n_outputs; })
      .def_property_readonly("kernel", [](const Model& self) { return self.kernel; })
      .def_property_readonly("basis", reading_matrix<M>([](const M& x) { return Matrix(x.dictionary().vectors()); }))
      .def_property_readonly("indices",
                             [](const Model& self) {
                               const auto ids = self.settled([&] { return self.model.dictionary().ids(); });
                               return py::array_t<std::int64_t>(static_cast<py::ssize_t>(ids.size()), ids.data());
                             })
      .def_property_readonly(
          "coef", [](const Model& self) { return to_numpy(self.settled([&] { return self.coefficients(); })); })
      .def_property_readonly("intercept", reading_vector<M>([](const M& x) { return x.intercept(); }))
      .def_property_readonly("slopes", reading_matrix<M>([](const M& x) { return x.slopes(); }))
      .def_property_readonly("cost", reading_vector<M>([](const M& x) { return x.cost(); }))
      .def_property_readonly("gcv", reading_vector<M>([](const M& x) { return gcv(x); }))
      .def_property_readonly("noise_variance", reading_vector<M>([](const M& x) { return noise_variance(x); }))
      .def_property_readonly("log_evidence", reading_vector<M>([](const M& x) { return log_evidence(x); }))
      .def_property_readonly("rss", reading_vector<M>([](const M& x) { return x.rss(); }))
      .def_property_readonly("log_det", reading<M>([](const M& x) { return x.log_det(); }))
      .def_property_readonly("dof", reading<M>([](const M& x) { return x.dof(); }))
      .def_property_readonly("n_basis", reading<M>([](const M& x) { return x.dictionary().size(); }))
      .def_property_readonly("rows_seen", reading<M>([](const M& x) { return x.rows_seen(); }))
      .def_property_readonly("rows_learned", reading<M>([](const M& x) { return x.rows_learned(); }))
      .def_property_readonly("counters", [](const Model& self) {
        const Counters c = self.settled([&] { return self.model.counters(); });
        return py::array_t<std::int64_t>(static_cast<py::ssize_t>(c.size()), c.data());
      });
}

}  // namespace online_binding

}  // namespace kernsift
