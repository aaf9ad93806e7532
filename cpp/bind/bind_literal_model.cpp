#include "bind/bind_online.hpp"
#include "core/stream/literal_model.hpp"

namespace kernsift {

void bind_literal_model(py::module_& m) { online_binding::bind_engine<LiteralModel>(m, "OnlineInverse"); }

}  // namespace kernsift
