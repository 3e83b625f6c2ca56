// Scalar helpers that C on Hexagon lacks.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_SCALAR_H_
#define RULES_DNN_RUNTIME_DNN_HVX_SCALAR_H_

#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/dsp/dnn_f64.h"

// Reinterprets the bits of x as another type of the same size.
#define dnn_as(T, x)                                                                      \
  ({                                                                                      \
    const __typeof__(x) dnn_as_from = (x);                                                \
    T dnn_as_to;                                                                          \
    _Static_assert(sizeof(dnn_as_from) == sizeof(dnn_as_to), "types of different sizes"); \
    __builtin_memcpy(&dnn_as_to, &dnn_as_from, sizeof(dnn_as_to));                        \
    dnn_as_to;                                                                            \
  })

// Hides a condition from the compiler: clang would compile "x > y ? x : y" to an instruction that
// returns y if x is NaN.
static inline bool dnn_hvx_hidden(bool c) {
  int32_t hidden = c;
  __asm__("" : "+r"(hidden));
  return hidden != 0;
}

// Returns x if the comparison of floats holds, else y. Compilers do not optimize the intrinsics of
// comparison and selection, so dnn_hvx_hidden is not needed.
static inline float dnn_hvx_either(int32_t condition, float x, float y) {
  return dnn_as(float, Q6_R_mux_pRR(condition, dnn_as(int32_t, x), dnn_as(int32_t, y)));
}

// min and max return NaN if either operand is NaN, and y if the operands are equal.
static inline float dnn_max_float(float x, float y) {
  return dnn_hvx_either(Q6_p_or_pp(Q6_p_sfcmp_gt_RR(x, y), Q6_p_sfcmp_uo_RR(x, x)), x, y);
}

static inline float dnn_min_float(float x, float y) {
  return dnn_hvx_either(Q6_p_or_pp(Q6_p_sfcmp_gt_RR(y, x), Q6_p_sfcmp_uo_RR(x, x)), x, y);
}

static inline double dnn_max_double(double x, double y) {
  return dnn_hvx_hidden((x > y) | (x != x)) ? x : y;
}

static inline double dnn_min_double(double x, double y) {
  return dnn_hvx_hidden((x < y) | (x != x)) ? x : y;
}

static inline float dnn_clamp_float(float x, float lo, float hi) {
  x = dnn_hvx_either(Q6_p_sfcmp_gt_RR(x, hi), hi, x);
  return dnn_hvx_either(Q6_p_sfcmp_gt_RR(lo, x), lo, x);
}

// Rounded products: the assembly keeps compilers from fusing the product with an addition.
static inline float dnn_product_float(float x, float y) {
  float z = x * y;
  __asm__("" : "+r"(z));
  return z;
}

static inline double dnn_product_double(double x, double y) {
  double z = x * y;
  __asm__("" : "+r"(z));
  return z;
}

#define dnn_c_sqrt(x) _Generic((x), float: __builtin_sqrtf, default: dnn_f64_sqrt)(x)

#define dnn_c_clz(x) (sizeof(x) == 4 ? __builtin_clz((uint32_t)(x)) : __builtin_clzll(x))

// Returns the upper half of a product.
static inline uint64_t dnn_c_mul_hi(uint64_t a, uint64_t b) {
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

// Returns x * 2^e, for exponents of normal numbers and some below them.
static inline float dnn_c_ldexp(float x, int32_t e) {
  const float half = dnn_as(float, (uint32_t)(e / 2 + 127) << 23);
  const float rest = dnn_as(float, (uint32_t)(e - e / 2 + 127) << 23);
  return x * half * rest;
}

// Converts an integer to float, rounded towards zero.
static inline float dnn_hvx_rtz(uint64_t magnitude, bool negative) {
  if (magnitude >> 24) magnitude &= ~0ULL << (40 - __builtin_clzll(magnitude));
  return negative ? -(float)magnitude : (float)magnitude;
}

#define dnn_c_convert_float_rtz(x) dnn_hvx_rtz((x) < 0 ? 0 - (uint64_t)(x) : (uint64_t)(x), (x) < 0)

#endif  // RULES_DNN_RUNTIME_DNN_HVX_SCALAR_H_
