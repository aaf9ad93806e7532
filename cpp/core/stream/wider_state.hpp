// The saved state a model would have had each row so far had zeros in further features, or in further targets: exactly
// so.
#pragma once

#include "core/base/arrays.hpp"
#include "core/stream/online_settings.hpp"

namespace kernsift {

// `had` features, and `count` more after them.
Arrays with_features(const Arrays& state, const OnlineSettings& settings, Index had, Index count);
Arrays with_outputs(const Arrays& state, Index count);

}  // namespace kernsift
