// The opaque operator Unique.
#ifndef RULES_DNN_RUNTIME_DNN_UNIQUE_H_
#define RULES_DNN_RUNTIME_DNN_UNIQUE_H_

#include <stdint.h>

#include "runtime/dnn_elements.h"

namespace dnn_opaque {

// Slices of [outer][n][inner] along the middle axis.
template <class E>
struct Slices {
  const typename E::Stored* x;
  int64_t outer, n, inner;

  // Compares two slices lexicographically; returns -1, 0 or 1.
  int order(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer; ++o) {
      const typename E::Stored* const p = x + (o * n + a) * inner;
      const typename E::Stored* const q = x + (o * n + b) * inner;
      for (int64_t i = 0; i < inner; ++i) {
        const int c = compare(E::number(p[i]), E::number(q[i]));
        if (c != 0) return c;
      }
    }
    return 0;
  }
};

// Finds the distinct slices and writes them to y, in sorted order if `sorted`, else in order of
// their first occurrences. `first` receives the index of each first occurrence, `inverse` the index
// in y of each slice, and `counts` the number of occurrences. Outputs may be null. work has room
// for 3 * n numbers.
template <class E>
static void Unique(const typename E::Stored* x, typename E::Stored* y, int64_t* first,
                   int64_t* inverse, int64_t* counts, int64_t* work, int64_t outer, int64_t n,
                   int64_t inner, bool sorted, int64_t* count, int* bad) {
  const Slices<E> s = {x, outer, n, inner};
  int64_t* const order = work;           // indices of the slices in sorted order
  int64_t* const same = work + n;        // for each slice, the first one that is equal
  int64_t* const number = work + 2 * n;  // index in y of that first slice
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  sort(order, n, [&s](int64_t a, int64_t b) {
    const int c = s.order(a, b);
    return c < 0 || (c == 0 && a < b);
  });
  for (int64_t i = 0; i < n; ++i) {
    const bool begins = i == 0 || s.order(order[i - 1], order[i]) != 0;
    same[order[i]] = begins ? order[i] : same[order[i - 1]];
  }
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t slice = sorted ? order[i] : i;
    if (same[slice] == slice) number[slice] = found++;
  }
  if (!Fits(found, count, bad)) return;
  if (counts != nullptr) {
    for (int64_t k = 0; k < found; ++k) counts[k] = 0;
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = number[same[i]];
    if (counts != nullptr) ++counts[k];
    if (inverse != nullptr) inverse[i] = k;
    if (same[i] != i) continue;
    if (first != nullptr) first[k] = i;
    if (y == nullptr) continue;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t j = 0; j < inner; ++j) {
        y[(o * found + k) * inner + j] = x[(o * n + i) * inner + j];
      }
    }
  }
}

}  // namespace dnn_opaque

#endif  // RULES_DNN_RUNTIME_DNN_UNIQUE_H_
