#include "bind/bind_online.hpp"

namespace kernsift {

void bind_online_model(py::module_& m) {
  m.def(
      "rebuild",
      [](const py::type& engine, const Kernel& kernel, const py::dict& settings, const py::dict& state) {
        py::object model = engine(kernel, **settings);
        model.attr("restore")(state);
        return model;
      },
      py::arg("engine"), py::arg("kernel"), py::arg("settings"), py::arg("state"));
  m.def("recent_rows_memory", &RecentRows::memory_needed, py::kw_only(), py::arg("rows"), py::arg("outputs"));
  online_binding::bind_engine<OnlineModel>(m, "OnlineLSSVM");
}

}  // namespace kernsift
