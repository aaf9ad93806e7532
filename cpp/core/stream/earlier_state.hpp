// The state of a stream saved by kernsift 0.1, whose forgetting was exponential: rows weighed frame^age in a frame that
// moved, and the ridge fell with them between restorations.
#pragma once

#include "core/base/arrays.hpp"

namespace kernsift {

bool forgets_exponentially(const Arrays& state);  // and has a frame

// The same rows, weighed as from the last one, under the whole ridge, as one memory begins with them: the constant, if
// there is one, has the ridge too and measures targets from their mean.
Arrays without_frame(const Arrays& state, double alpha, double forgetting, bool constant);

}  // namespace kernsift
