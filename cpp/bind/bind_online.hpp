// The binding of a model of a stream, the same for both engines. Each is compiled in a file of its own
// (bind_online_model.cpp, bind_literal_model.cpp): both in one take the compiler too long.
#pragma once

#include "bind/online_rows.hpp"
#include "core/stream/soundness.hpp"
#include "core/stream/wider_state.hpp"

namespace kernsift {

namespace online_binding {

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
          "score_candidates",
          [](Model& self, const Array& X) {
            const auto x = rows(X, self.kernel.n_features(), "X");
            Array out = array(x.rows());
            auto scores = vector_out(out);
            if constexpr (kBeyondThePapers<M>) {
              self.settled([&] {
                if (self.model.state().recent().size() == 0)
                  throw std::invalid_argument(
                      "score_candidates needs recent rows, and none were kept since the model was made or learned "
                      "again "
                      "(refit): learn some first");
                self.model.score_candidates(x, scores);
              });
            } else {
              throw std::invalid_argument("the explicit engine keeps no recent rows");
            }
            return out;
          },
          py::arg("X").noconvert())
      .def(
          "predict",
          [](const Model& self, const Array& X, Index threads, bool as_next) {
            const auto x = rows(X, self.kernel.n_features(), "X");
            Array out = array(x.rows(), self.n_outputs);
            auto f = rows_out(out);
            self.settled([&] {
              if constexpr (kBeyondThePapers<M>)
                self.model.predict(x, f, threads, as_next);
              else
                self.model.predict(x, f, threads);
            });
            return out;
          },
          py::arg("X").noconvert(), py::arg("threads") = 1, py::arg("as_next") = false)
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
              if (quantile > 0)
                v = v.cwiseSqrt() *
                    self.model.interval_widths(quantile).cwiseProduct(self.model.unaided()).asDiagonal();
            });
            return py::make_tuple(out, variance);
          },
          py::arg("X").noconvert(), py::arg("threads") = 1, py::arg("quantile") = 0.0)
      // Means, covariances of new observations without their noise (outputs x rows x rows), and that noise (outputs x
      // rows).
      .def(
          "predict_with_covariance",
          [](const Model& self, const Array& X, Index threads) {
            const auto x = rows(X, self.kernel.n_features(), "X");
            Array out = array(x.rows(), self.n_outputs), covariance({self.n_outputs, x.rows(), x.rows()});
            auto f = rows_out(out);
            Matrix noise;
            if constexpr (!kBeyondThePapers<M>) {
              throw std::invalid_argument("engine='inverse' is the papers' literal form, without a joint covariance");
            } else {
              double* const to = covariance.mutable_data();
              self.settled([&] {
                self.model.predict(x, f, threads);
                const Joint joint = self.model.covariance(x);
                noise = joint.noise;
                Index o = 0;
                for (const Matrix& each : joint.covariance)
                  Eigen::Map<Matrix>(to + each.size() * o++, each.rows(), each.cols()) = each;
              });
            }
            return py::make_tuple(out, covariance, to_numpy(noise));
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
      .def_property_readonly("member_numbers", [](const Model& self) { return self.model.member_numbers(); })
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
      .def_property_readonly("bounds", reading_matrix<M>([](const M& x) { return x.bounds(); }))
      // Two rows, the least and the largest targets seen, or none; and such rows of another model of the same stream.
      .def_property_readonly("target_range", reading_matrix<M>([](const M& x) { return x.target_range(); }))
      .def(
          "see_targets",
          [](Model& self, const Array& Y) {
            const auto y = rows(Y, self.n_outputs, "Y");
            self.changed([&] { self.model.see_targets(y); });
          },
          py::arg("Y").noconvert())
      .def_property_readonly("uneven_noise",
                             [](const Model& self) { return self.settled([&] { return self.model.uneven_noise(); }); })
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
