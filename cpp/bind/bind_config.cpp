#include <string>

#include "bind/bind.hpp"
#include "core/base/limits.hpp"
#include "core/kernel/kernels.hpp"
#include "core/linalg/symmetric_eigen.hpp"

#ifndef KERNSIFT_LEVEL
#define KERNSIFT_LEVEL "baseline"
#endif

namespace kernsift {

namespace {

// Takes a capsule of scipy.linalg.cython_lapack, whose name is the routine's type, or None to be without; one of other
// integers is left alone.
bool use_dsyevd(const py::object& given) {
  if (given.is_none()) {
    SymmetricEigen::use(nullptr);
    return true;
  }
  const auto routine = given.cast<py::capsule>();
  const std::string type = routine.name() ? routine.name() : "";
  const std::string begin = "void (char *, char *, int *, ", end = ", int *, int *, int *, int *)";
  const bool known = type.size() > begin.size() + end.size() && type.compare(0, begin.size(), begin) == 0 &&
                     type.compare(type.size() - end.size(), end.size(), end) == 0;
  if (known) SymmetricEigen::use(reinterpret_cast<Dsyevd*>(routine.get_pointer<void>()));
  return known;
}

}  // namespace

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
  m.def("use_dsyevd", &use_dsyevd, py::arg("routine"));
  m.attr("SMALLEST") = kSmallest;
  m.attr("LARGEST") = kLargest;
}

}  // namespace kernsift
