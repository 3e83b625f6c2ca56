// Operators that are not tensor expressions: they sort, search and count. Package opaque of the
// compiler has a Go function for each, which computes the same elements.
//
// Operands are dense and row-major. Memory is the caller's: no function allocates. If a function
// stores a number that it computes, the caller has stored its maximum there, and memory is
// available for that. If operands have values that the operator does not allow, or the number
// exceeds its maximum, *bad becomes 1 and the results are not valid.
//
// Everything has internal linkage, as in dnn_math.h.
#ifndef RULES_DNN_RUNTIME_DNN_OPAQUE_H_
#define RULES_DNN_RUNTIME_DNN_OPAQUE_H_

#include <stdint.h>

#include "runtime/dnn_count.h"
#include "runtime/dnn_elements.h"
#include "runtime/dnn_index.h"
#include "runtime/dnn_random.h"
#include "runtime/dnn_select.h"
#include "runtime/dnn_unique.h"

namespace dnn_opaque {

// Computes the determinant of each of `matrices` n x n matrices, by elimination with the largest
// pivot of each column. work has room for n * n numbers.
template <class E>
static void Det(const typename E::Stored* x, typename E::Stored* y, typename E::Number* work,
                int64_t matrices, int64_t n, int*) {
  typedef typename E::Number T;
  for (int64_t i = 0; i < matrices; ++i) {
    for (int64_t k = 0; k < n * n; ++k) work[k] = E::number(x[i * n * n + k]);
    T det = 1;
    for (int64_t c = 0; c < n; ++c) {
      int64_t p = c;
      for (int64_t r = c + 1; r < n; ++r) {
        const T a = work[r * n + c], b = work[p * n + c];
        if ((a < 0 ? -a : a) > (b < 0 ? -b : b)) p = r;
      }
      if (p != c) {
        for (int64_t k = 0; k < n; ++k) {
          const T a = work[p * n + k];
          work[p * n + k] = work[c * n + k];
          work[c * n + k] = a;
        }
        det = -det;
      }
      const T pivot = work[c * n + c];
      det = det * pivot;
      if (pivot == 0) break;
      for (int64_t r = c + 1; r < n; ++r) {
        const T f = work[r * n + c] / pivot;
        for (int64_t k = c; k < n; ++k) work[r * n + k] -= f * work[c * n + k];
      }
    }
    y[i] = E::stored(det);
  }
}

}  // namespace dnn_opaque

#endif  // RULES_DNN_RUNTIME_DNN_OPAQUE_H_
