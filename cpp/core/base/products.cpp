#include "core/base/products.hpp"

#ifdef KERNSIFT_PRODUCTS

namespace Eigen {
namespace internal {

KERNSIFT_PRODUCTS()

}  // namespace internal
}  // namespace Eigen

#endif
