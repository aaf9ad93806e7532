# The core as a static library, for C++ programs: cmake --install exports kernsift::core.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

file(STRINGS python/kernsift/__init__.py version REGEX "^__version__ = ")
string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" version "${version}")

list(GET KERNSIFT_LEVELS 0 level)
add_library(kernsift_core STATIC ${KERNSIFT_CORE})
add_library(kernsift::core ALIAS kernsift_core)
set_target_properties(kernsift_core PROPERTIES EXPORT_NAME core UNITY_BUILD_MODE GROUP)
target_link_libraries(kernsift_core PUBLIC Eigen3::Eigen Threads::Threads PRIVATE $<BUILD_INTERFACE:kernsift_flags>)
target_compile_features(kernsift_core PUBLIC cxx_std_17)
target_compile_definitions(kernsift_core PUBLIC EIGEN_MPL2_ONLY EIGEN_DONT_PARALLELIZE)
target_include_directories(kernsift_core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/kernsift>)
# Programs are compiled for the level of the library: it decides how Eigen aligns the memory that both free.
kernsift_level_options(kernsift_core ${level})
if(NOT level STREQUAL "baseline")
  target_compile_options(kernsift_core INTERFACE ${clang_prefix}-march=x86-64-${level})
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/kernsift)
install(TARGETS kernsift_core EXPORT kernsift ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT kernsift NAMESPACE kernsift:: FILE kernsiftTargets.cmake DESTINATION ${package})
install(DIRECTORY cpp/core DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kernsift FILES_MATCHING PATTERN "*.hpp")
configure_package_config_file(cpp/cmake/kernsiftConfig.cmake.in ${CMAKE_BINARY_DIR}/kernsiftConfig.cmake
    INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/kernsiftConfigVersion.cmake VERSION ${version}
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/kernsiftConfig.cmake ${CMAKE_BINARY_DIR}/kernsiftConfigVersion.cmake
    DESTINATION ${package})
