// Integer arithmetic of generated code: indices, sizes and dimensions. Plain C99 and C++17. Every
// function is static, so that files compiled for different chips share no code.
#ifndef RULES_DNN_RUNTIME_DNN_INDEX_H_
#define RULES_DNN_RUNTIME_DNN_INDEX_H_

#include <stdint.h>

static inline int64_t dnn_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dnn_max(int64_t a, int64_t b) { return a > b ? a : b; }

// Clamps v to [lo, hi]; sets *bad to 1 if v is outside. The run then fails, so that loads at v need
// no branch on the check. If lo > hi, no v is valid and the result is hi. It compares the distances
// from lo, because two comparisons of v make loops of gathers 1.8 times slower.
static inline int64_t dnn_bounded(int64_t v, int64_t lo, int64_t hi, int* bad) {
  if (__builtin_expect(lo <= hi && (uint64_t)v - (uint64_t)lo <= (uint64_t)hi - (uint64_t)lo, 1)) {
    return v;
  }
  *bad = 1;
  return v < lo && lo <= hi ? lo : hi;
}

// Returns floor(a / b) for b > 0. Other divisors are not valid; the result is then 0 instead of a
// trap.
static inline int64_t dnn_floordiv(int64_t a, int64_t b) {
  if (b <= 0) return 0;
  return a / b - (a % b < 0);
}

// Returns a - b * floor(a / b) for b > 0, which is never negative; 0 for other divisors.
static inline int64_t dnn_floormod(int64_t a, int64_t b) {
  if (b <= 0) return 0;
  const int64_t r = a % b;
  return r < 0 ? r + b : r;
}

// The checked functions set *bad to 1 and return 0 if the result does not exist or does not fit 64
// bits.
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
