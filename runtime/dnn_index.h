// Integer arithmetic of generated code: indices, sizes and dimensions. Plain C99 and C++17.
// Every function is static, so that files compiled for different chips share no code.
#ifndef RULES_DNN_RUNTIME_DNN_INDEX_H_
#define RULES_DNN_RUNTIME_DNN_INDEX_H_

#include <stdint.h>

static inline int64_t dnn_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dnn_max(int64_t a, int64_t b) { return a > b ? a : b; }

// v within [lo, hi]; sets *bad to 1 where v is not. That ends a run: what is loaded with v need not
// wait for it. No v is within bounds of which lo is the greater: it is hi then. Distances from lo
// are compared, as two comparisons of v take 1.8 times as long in loops of gathers.
static inline int64_t dnn_bounded(int64_t v, int64_t lo, int64_t hi, int* bad) {
  if (__builtin_expect(lo <= hi && (uint64_t)v - (uint64_t)lo <= (uint64_t)hi - (uint64_t)lo, 1)) {
    return v;
  }
  *bad = 1;
  return v < lo && lo <= hi ? lo : hi;
}

// floor(a / b) for b > 0; a divisor that is not positive has no meaning and gives 0
// instead of a trap.
static inline int64_t dnn_floordiv(int64_t a, int64_t b) {
  if (b <= 0) return 0;
  return a / b - (a % b < 0);
}

// a - b * floor(a / b) for b > 0, which is never negative; 0 for other divisors.
static inline int64_t dnn_floormod(int64_t a, int64_t b) {
  if (b <= 0) return 0;
  const int64_t r = a % b;
  return r < 0 ? r + b : r;
}

// The checked forms set *bad to 1 where the result does not exist or leaves 64 bits;
// what they return is then 0.
static inline int64_t dnn_add_checked(int64_t a, int64_t b, int* bad) {
  int64_t r = 0;
  if (!__builtin_add_overflow(a, b, &r)) return r;
  *bad = 1;
  return 0;
}

static inline int64_t dnn_mul_checked(int64_t a, int64_t b, int* bad) {
  int64_t r = 0;
  if (!__builtin_mul_overflow(a, b, &r)) return r;
  *bad = 1;
  return 0;
}

static inline int64_t dnn_floordiv_checked(int64_t a, int64_t b, int* bad) {
  if (b <= 0) *bad = 1;
  return dnn_floordiv(a, b);
}

static inline int64_t dnn_floormod_checked(int64_t a, int64_t b, int* bad) {
  if (b <= 0) *bad = 1;
  return dnn_floormod(a, b);
}

#endif  // RULES_DNN_RUNTIME_DNN_INDEX_H_
