// The names by which values of an enumeration are given and said.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace kernsift {

template <class Value>
struct Named {
  Value value;
  const char* name;
};

// `what`: of which kind the name is, for the error.
template <class Value, std::size_t N>
Value value_of(const Named<Value> (&table)[N], const char* what, const std::string& name) {
  for (const Named<Value>& entry : table)
    if (name == entry.name) return entry.value;
  throw std::invalid_argument(std::string(what) + " '" + name + "' is unknown");
}

template <class Value, std::size_t N>
const char* name_of(const Named<Value> (&table)[N], Value value) {
  for (const Named<Value>& entry : table)
    if (value == entry.value) return entry.name;
  return "";
}

}  // namespace kernsift
