#include "bind/bind.hpp"
#include "core/base/limits.hpp"
#include "core/kernel/kernels.hpp"

#ifndef KERNSIFT_LEVEL
#define KERNSIFT_LEVEL "baseline"
#endif

namespace kernsift {

void bind_config(py::module_& m) {
  m.def("build_info", [] {
    py::dict info;
    info["cpu_level"] = KERNSIFT_LEVEL;
    info["eigen"] = std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
                    std::to_string(EIGEN_MINOR_VERSION);
    info["compiler"] =
#if defined(__clang__)
        "clang " __clang_version__;
#elif defined(__GNUC__)
        "gcc " __VERSION__;
#else
        "unknown";
#endif
    info["simd"] = Eigen::SimdInstructionSetsInUse();
#ifdef NDEBUG
    info["assertions"] = false;
#else
    info["assertions"] = true;
#endif
    return info;
  });
  m.attr("SMALLEST") = kSmallest;
  m.attr("LARGEST") = kLargest;
}

}  // namespace kernsift
