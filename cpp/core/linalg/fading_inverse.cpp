#include "core/linalg/fading_inverse.hpp"

namespace kernsift {

Matrix FadingInverse::dense() const {
  Matrix C = stored_.dense();
  if (!faded()) return C;
  C.diagonal().array() += frame_.shift;
  return frame_.scale * C;
}

}  // namespace kernsift
