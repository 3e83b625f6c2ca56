#include "runtime/dnn_profile.h"

namespace rules_dnn {
inline namespace v1 {

int64_t BlockSize(const Profile* profile, const Size& size, const int64_t* sym) {
  int bad = 0;
  int64_t value = 0;
  if (size.expr >= 0) {
    value = profile->expr(sym, size.expr, &bad);
  } else if (size.symbol >= 0) {
    value = dnn_add_checked(dnn_mul_checked(size.scale, sym[size.symbol], &bad), size.offset, &bad);
  } else {
    value = size.offset;
  }
  return bad ? -1 : value;
}

}  // namespace v1
}  // namespace rules_dnn
