// Settings by name: the table of a settings struct as keywords and as a dict.
#pragma once

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bind/bind.hpp"
#include "core/stream/online_settings.hpp"

namespace kernsift {

template <class T>
py::object setting_to_python(const T& value) {
  return py::cast(value);
}
inline py::object setting_to_python(Rule rule) { return py::cast(rule_name(rule)); }
inline py::object setting_to_python(OnFull policy) { return py::cast(on_full_name(policy)); }
inline py::object setting_to_python(NoiseForm form) { return py::cast(noise_form_name(form)); }

template <class T>
void setting_from_python(const py::handle& given, T& value) {
  value = py::cast<T>(given);
}
// A list, or a number that stands for a list of one.
inline void setting_from_python(const py::handle& given, std::vector<double>& values) {
  if (py::isinstance<py::float_>(given))
    values = {py::cast<double>(given)};
  else
    values = py::cast<std::vector<double>>(given);
}
inline void setting_from_python(const py::handle& given, Rule& rule) {
  rule = admission_rule(py::cast<std::string>(given));
}
inline void setting_from_python(const py::handle& given, OnFull& policy) {
  policy = on_full(py::cast<std::string>(given));
}
inline void setting_from_python(const py::handle& given, NoiseForm& form) {
  form = noise_form(py::cast<std::string>(given));
}

template <class Settings>
py::dict to_dict(const Settings& settings) {
  py::dict out;
  Settings::each(settings, [&](const char* name, const auto& value) { out[name] = setting_to_python(value); });
  return out;
}

// Settings that are not given keep their defaults.
template <class Settings>
Settings settings_of(const py::kwargs& given) {
  Settings settings;
  py::dict left = given.attr("copy")();
  std::string names;
  Settings::each(settings, [&](const char* name, auto& value) {
    names += (names.empty() ? "" : ", ") + std::string(name);
    if (!left.contains(name)) return;
    const py::object it = left.attr("pop")(name);
    try {
      setting_from_python(it, value);
    } catch (const py::cast_error&) {
      throw py::type_error(std::string(name) + " cannot be " + py::cast<std::string>(py::repr(it)));
    }
  });
  for (const auto& [name, value] : left)
    throw py::type_error("no setting is called " + py::cast<std::string>(py::repr(name)) + "; the settings are " +
                         names);
  return settings;
}

// A plain py::pickle leaves a class that skops and pickle protocol 1 cannot rebuild without aborting.
template <class Class>
py::tuple rebuilt_from(const Kernel& kernel, const py::dict& settings, const Arrays& state) {
  return py::make_tuple(py::module_::import("kernsift._core").attr("rebuild"),
                        py::make_tuple(py::type::of<Class>(), kernel, settings, to_dict(state)));
}

}  // namespace kernsift
