#include <optional>

#include "bind/settings.hpp"
#include "core/stream/lstd.hpp"

namespace kernsift {

namespace {

using Flags = py::array_t<bool, py::array::c_style>;
struct GuardedLSTD {
  KernelLSTD model;
  mutable ModelMutex mutex;
  Wholeness whole;

  GuardedLSTD(const Kernel& kernel, const LSTDSettings& settings) : model(kernel, settings) {}

  template <class Work>
  auto locked(Work&& work) const {
    py::gil_scoped_release unlocked;  // `work` touches C++ objects and numpy buffers held by the caller only
    const std::lock_guard<ModelMutex> lock(mutex);
    whole.check();
    return or_out_of_memory(work, [&] {
      const auto m = static_cast<double>(model.dictionary().size());
      return "memory ran out: a value function of " + std::to_string(model.dictionary().size()) +
             " kernels takes up to " + in_words(8 * 10 * m * m) +
             "; lower max_basis, give fewer transitions in a call, or raise the limit of this process";
    });
  }
};

const bool* flags(const Flags& a, Index size, const char* name) {
  if (a.ndim() != 1 || a.shape(0) != size)
    throw std::invalid_argument(std::string(name) + " must be one-dimensional of length " + std::to_string(size));
  return a.data();
}

Transitions given(const GuardedLSTD& self, const Array& S, const Array& r, const Array& S_next, const Flags& terminal,
                  const Flags& start, const std::optional<Array>& weight) {
  const Index d = self.model.dictionary().kernel().n_features();
  const auto s = rows(S, d, "S"), s_next = rows(S_next, d, "S_next");
  if (s_next.rows() != s.rows()) throw std::invalid_argument("S_next must have one row per row of S");
  return {s,
          vector(r, s.rows(), "r"),
          s_next,
          flags(terminal, s.rows(), "terminal"),
          flags(start, s.rows(), "start"),
          weight ? vector(*weight, s.rows(), "weight").data() : nullptr};
}

py::tuple learn(GuardedLSTD& self, const Array& S, const Array& r, const Array& S_next, const Flags& terminal,
                const Flags& start, const std::optional<Array>& weight, Index environment) {
  const auto [s, reward, s_next, ends, starts, weights] = given(self, S, r, S_next, terminal, start, weight);
  py::array_t<std::uint8_t> outcome({s.rows(), Index(2)});
  py::array_t<std::int64_t> victim({s.rows(), Index(2)});
  py::array_t<bool> learned(s.rows());
  const LSTDLog log{{outcome.mutable_data(), victim.mutable_data()}, learned.mutable_data()};
  for (Index first = 0; first < s.rows(); first += kRowsBetweenSignals) {
    const Index count = std::min(kRowsBetweenSignals, s.rows() - first);
    self.locked([&] {
      self.whole.change([&] {
        self.model.turn_to(environment);
        self.model.learn(s.middleRows(first, count), reward.segment(first, count), s_next.middleRows(first, count),
                         ends + first, starts + first, {log.events.from(2 * first), log.learned + first},
                         weights ? weights + first : nullptr);
      });
    });
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();  // Ctrl-C between two transitions
  }
  return py::make_tuple(outcome, victim, learned);
}

// What `of` makes of the number of each kernel's state.
template <class Of>
auto transitions(Of of) {
  return [of](const GuardedLSTD& self) {
    const auto ids = self.locked([&] { return self.model.dictionary().ids(); });
    py::array_t<decltype(of(ids[0]))> out(static_cast<py::ssize_t>(ids.size()));
    std::transform(ids.begin(), ids.end(), out.mutable_data(), of);
    return out;
  };
}

template <class Read>
auto reading(Read read) {
  return [read](const GuardedLSTD& self) { return self.locked([&] { return read(self.model); }); };
}
template <class Read>
auto reading_vector(Read read) {
  return [read](const GuardedLSTD& self) {
    return vector_to_numpy(self.locked([&]() -> Vector { return read(self.model); }));
  };
}
template <class Read>
auto reading_matrix(Read read) {
  return
      [read](const GuardedLSTD& self) { return to_numpy(self.locked([&]() -> Matrix { return read(self.model); })); };
}

}  // namespace

void bind_lstd(py::module_& m) {
  using Model = KernelLSTD;
  py::class_<GuardedLSTD>(m, "KernelLSTD")
      .def(py::init([](const Kernel& kernel, const py::kwargs& settings) {
             return std::make_unique<GuardedLSTD>(kernel, settings_of<LSTDSettings>(settings));
           }),
           py::arg("kernel"))
      .def("__reduce__",
           [](const GuardedLSTD& self) {
             return rebuilt_from<GuardedLSTD>(self.model.dictionary().kernel(), to_dict(self.model.settings()),
                                              self.locked([&] { return self.model.save(); }));
           })
      .def(
          "restore",
          [](GuardedLSTD& self, const py::dict& state) {
            const Arrays arrays = from_dict(state);
            self.locked([&] { self.model.load(arrays); });
          },
          py::arg("state"))
      .def("state", [](const GuardedLSTD& self) { return to_dict(self.locked([&] { return self.model.save(); })); })
      .def("learn", &learn, py::arg("S").noconvert(), py::arg("r").noconvert(), py::arg("S_next").noconvert(),
           py::arg("terminal").noconvert(), py::arg("start").noconvert(), py::arg("weight") = py::none(),
           py::arg("environment") = 0)
      .def("refit_kept",
           [](GuardedLSTD& self) {
             bool done = false;
             self.locked([&] { self.whole.change([&] { done = self.model.refit_kept(); }); });
             return done;
           })
      .def(
          "refit",
          [](GuardedLSTD& self, const Array& S, const Array& r, const Array& S_next, const Flags& terminal,
             const Flags& start, const std::optional<Array>& weight) {
            const Transitions all = given(self, S, r, S_next, terminal, start, weight);
            bool done = false;
            self.locked([&] { self.whole.change([&] { done = self.model.refit(all); }); });
            return done;
          },
          py::arg("S").noconvert(), py::arg("r").noconvert(), py::arg("S_next").noconvert(),
          py::arg("terminal").noconvert(), py::arg("start").noconvert(), py::arg("weight") = py::none())
      .def(
          "projected_error",
          [](const GuardedLSTD& self, const Array& S, const Array& r, const Array& S_next, const Flags& terminal,
             const Flags& start, const std::optional<Array>& weight) {
            const Transitions all = given(self, S, r, S_next, terminal, start, weight);
            return self.locked([&] { return self.model.projected_error(all); });
          },
          py::arg("S").noconvert(), py::arg("r").noconvert(), py::arg("S_next").noconvert(),
          py::arg("terminal").noconvert(), py::arg("start").noconvert(), py::arg("weight") = py::none())
      .def(
          "seat",
          [](GuardedLSTD& self, const Array& S) {
            const auto s = rows(S, self.model.dictionary().kernel().n_features(), "S");
            self.locked([&] { self.whole.change([&] { self.model.seat(s); }); });
          },
          py::arg("S").noconvert())
      .def(
          "predict",
          [](const GuardedLSTD& self, const Array& S) {
            const auto s = rows(S, self.model.dictionary().kernel().n_features(), "S");
            Array out = array(s.rows());
            Eigen::Map<RowMatrix> values(out.mutable_data(), s.rows(), 1);
            self.locked([&] { self.model.predict(s, values); });
            return out;
          },
          py::arg("S").noconvert())
      .def(
          "predict_variance",
          [](const GuardedLSTD& self, const Array& S) {
            const auto s = rows(S, self.model.dictionary().kernel().n_features(), "S");
            Array out = array(s.rows()), variance = array(s.rows());
            Eigen::Map<RowMatrix> values(out.mutable_data(), s.rows(), 1);
            Eigen::Map<Vector> variances = vector_out(variance);
            self.locked([&] { self.model.predict(s, values, variances); });
            return py::make_tuple(out, variance);
          },
          py::arg("S").noconvert())
      .def(
          "mean",
          [](const GuardedLSTD& self, const Array& S, const Array& weights) {
            const auto s = rows(S, self.model.dictionary().kernel().n_features(), "S");
            const auto w = vector(weights, s.rows(), "weights");
            return self.locked([&] { return self.model.mean(s, w); });
          },
          py::arg("S").noconvert(), py::arg("weights").noconvert())
      .def_property_readonly("ridge_norm", reading([](const Model& x) { return x.ridge_norm(); }))
      .def_property_readonly("noise_variance", reading([](const Model& x) { return x.noise_variance(); }))
      .def_property_readonly("settings", [](const GuardedLSTD& self) { return to_dict(self.model.settings()); })
      .def_property_readonly("kernel", [](const GuardedLSTD& self) { return self.model.dictionary().kernel(); })
      .def_property_readonly("basis", reading_matrix([](const Model& x) { return Matrix(x.dictionary().vectors()); }))
      // The dictionary numbers states, two a transition.
      .def_property_readonly("indices", transitions([](std::int64_t id) { return id / 2; }))
      .def_property_readonly("is_next", transitions([](std::int64_t id) { return id % 2 == 1; }))
      .def_property_readonly("coef", reading_vector([](const Model& x) { return x.coef(); }))
      .def_property_readonly("trace", reading_vector([](const Model& x) { return x.trace(); }))
      .def_property_readonly("n_basis", reading([](const Model& x) { return x.dictionary().size(); }))
      .def_property_readonly("rows_seen", reading([](const Model& x) { return x.transitions(); }))
      .def_property_readonly("kept", reading([](const Model& x) { return x.kept(); }))
      .def_property_readonly("skipped", reading([](const Model& x) { return x.skipped(); }))
      .def_property_readonly("counters", [](const GuardedLSTD& self) {
        const Counters c = self.locked([&] { return self.model.counters(); });
        return py::array_t<std::int64_t>(static_cast<py::ssize_t>(c.size()), c.data());
      });
}

}  // namespace kernsift
