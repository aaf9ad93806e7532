#ifndef _WIN32
#include <pthread.h>
#endif

#include "bind/bind.hpp"
#include "core/base/interrupt.hpp"

namespace py = pybind11;

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "The C++ core of kernsift. Import kernsift, not this: it chooses the build for your CPU.";
  kernsift::interrupt_hook = [] {
    const py::gil_scoped_acquire locked;  // batch computations let go of it
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  };
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const kernsift::OutOfMemory& e) {
      PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (const std::bad_alloc&) {
      PyErr_SetString(
          PyExc_MemoryError,
          "memory ran out in the core: use fewer kernels (max_basis, n_components) or fewer rows in a call, "
          "or raise the limit of this process");
    }
  });
#ifndef _WIN32
  pthread_atfork(nullptr, nullptr, [] { ++kernsift::ModelMutex::forks; });
#endif
  kernsift::bind_config(m);
  kernsift::bind_kernel(m);
  kernsift::bind_lssvm(m);
  kernsift::bind_blocks_kernel(m);
  kernsift::bind_blocks_inverse(m);
  kernsift::bind_blocks_columns(m);
  kernsift::bind_blocks_rls(m);
  kernsift::bind_online_model(m);
  kernsift::bind_literal_model(m);
  kernsift::bind_forward(m);
  kernsift::bind_ridge(m);
  kernsift::bind_select(m);
  kernsift::bind_subset(m);
  kernsift::bind_lstd(m);
  kernsift::bind_widths(m);
}
