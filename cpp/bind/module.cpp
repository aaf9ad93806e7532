#include "bind/bind.hpp"

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "The C++ core of kernsift. Import kernsift, not this: it chooses the build for your CPU.";
  kernsift::bind_config(m);
  kernsift::bind_kernel(m);
  kernsift::bind_lssvm(m);
  kernsift::bind_parts(m);
  kernsift::bind_online(m);
  kernsift::bind_forward(m);
  kernsift::bind_subset(m);
  kernsift::bind_lstd(m);
  kernsift::bind_widths(m);
}
