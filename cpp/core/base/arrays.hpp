// A model's state as named arrays of doubles: what pickles, files and copies carry instead of objects.
// Counts and row numbers are whole doubles (exact up to 2^53).
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "core/base/types.hpp"

namespace kernsift {

class Arrays {
 public:
  void put(const std::string& name, Matrix value) { items_[name] = std::move(value); }
  void put(const std::string& name, double value) { items_[name] = Matrix::Constant(1, 1, value); }

  // The array of that name, of that shape: anything else is a foreign or damaged state.
  const Matrix& get(const std::string& name, Index rows, Index cols) const {
    const Matrix& value = get(name);
    if (value.rows() != rows || value.cols() != cols)
      throw std::invalid_argument("state array '" + name + "' has shape (" + std::to_string(value.rows()) + ", " +
                                  std::to_string(value.cols()) + "), expected (" + std::to_string(rows) + ", " +
                                  std::to_string(cols) + ")");
    if (!value.allFinite()) throw std::invalid_argument("state array '" + name + "' holds NaN or infinity");
    return value;
  }
  const Matrix& get(const std::string& name) const {
    const auto found = items_.find(name);
    if (found == items_.end()) throw std::invalid_argument("state array '" + name + "' is missing");
    return found->second;
  }
  // A triangular factor: square, its diagonal positive, for rows are divided by it.
  const Matrix& get_factor(const std::string& name, Index n) const {
    const Matrix& value = get(name, n, n);
    if (n > 0 && !(value.diagonal().minCoeff() > 0))
      throw std::invalid_argument("state array '" + name + "' has a diagonal that is not positive");
    return value;
  }
  const Matrix& get_not_negative(const std::string& name, Index rows) const {
    const Matrix& value = get(name, rows, 1);
    if (rows > 0 && !(value.minCoeff() >= 0))
      throw std::invalid_argument("state array '" + name + "' has a negative element");
    return value;
  }
  double number(const std::string& name) const { return get(name, 1, 1)(0, 0); }
  // The same, or `otherwise` in the state of an earlier version, which has no such number.
  double number(const std::string& name, double otherwise) const {
    return items_.count(name) > 0 ? number(name) : otherwise;
  }
  // Whole numbers, which a cast could not make of anything else.
  std::int64_t count(const std::string& name) const { return whole(number(name), name); }
  static std::int64_t whole(double value, const std::string& name) {
    constexpr double kMost = 9007199254740992.0;  // 2^53
    if (!(value >= -kMost && value <= kMost))
      throw std::invalid_argument("state array '" + name + "' holds " + std::to_string(value) + ", which is no count");
    return static_cast<std::int64_t>(value);
  }
  const std::map<std::string, Matrix>& items() const { return items_; }

  // Arrays of several memories: those of the first have their plain names, those of part k the prefix "memory<k>_".
  void put_all(const Arrays& part, std::size_t k) { put_part(part, prefix(k)); }
  Arrays of(std::size_t k) const { return k == 0 ? *this : part(prefix(k)); }
  // Those of another part, under a prefix.
  void put_part(const Arrays& part, const std::string& before) {
    for (const auto& [name, value] : part.items_) put(before + name, value);
  }
  Arrays part(const std::string& before) const {
    Arrays part;
    for (auto it = items_.lower_bound(before); it != items_.end() && it->first.compare(0, before.size(), before) == 0;
         ++it)
      part.put(it->first.substr(before.size()), it->second);
    return part;
  }

  // How many parts have an array of that name.
  std::size_t parts(const std::string& name) const {
    std::size_t k = 0;
    while (items_.count(prefix(k) + name) > 0) ++k;
    return k;
  }

 private:
  static std::string prefix(std::size_t k) { return k == 0 ? "" : "memory" + std::to_string(k) + "_"; }
  std::map<std::string, Matrix> items_;
};

}  // namespace kernsift
