#include "core/stream/online_settings.hpp"

#include <cmath>
#include <stdexcept>

#include "core/base/names.hpp"

namespace kernsift {

namespace {
constexpr double kLeastMemory = 1e-6;
constexpr std::size_t kMostMemories = 16;
constexpr Named<OnFull> kOnFull[] = {
    {OnFull::prune, "prune"}, {OnFull::stop, "stop"}, {OnFull::drop_oldest, "drop-oldest"}};
}  // namespace

OnFull on_full(const std::string& name) { return value_of(kOnFull, "on_full", name); }
const char* on_full_name(OnFull policy) { return name_of(kOnFull, policy); }

const OnlineSettings& OnlineSettings::checked(Index n_outputs) const {
  const auto from_0 = [](double value) { return value >= 0 && std::isfinite(value); };
  if (n_outputs < 1 || max_basis < 0 || swap_until < 0 || exact_rows < 0 || again.kept_rows < 0 ||
      again.first_row < 0 || !from_0(alpha) || !from_0(admission.novelty_tol) || !from_0(admission.usefulness_tol) ||
      !from_0(hysteresis))
    throw std::invalid_argument("a setting of the online model is out of its range");
  for (const double factor : forgetting)
    if (!(factor >= kLeastMemory && factor <= 1))
      throw std::invalid_argument("a setting of the online model is out of its range: forgetting");
  for (const double scale : linear)
    if (!from_0(scale)) throw std::invalid_argument("a setting of the online model is out of its range: linear");
  if (forgetting.empty() || forgetting.size() > kMostMemories)
    throw std::invalid_argument("a stream has one memory or more, " + std::to_string(kMostMemories) + " at most");
  if ((forgets() || !linear.empty()) && !(alpha > 0))
    throw std::invalid_argument("memories that fade and a linear part need alpha > 0");
  if (noise != NoiseForm::constant && !(alpha > 0))
    throw std::invalid_argument("noise that depends on the input needs alpha > 0");
  if (forgets() && (window || exact_rows > 0))
    throw std::invalid_argument("exact rows and a window are of a single memory that does not fade");
  if (window && exact_rows < 2) throw std::invalid_argument("a window holds two rows or more");
  return *this;
}

}  // namespace kernsift
