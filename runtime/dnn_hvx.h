// What kernels for Hexagon include: vectors of 128 bytes (HVX) in memory, and what scalar functions
// need that C on Hexagon does not have. It is C11 and needs no C library: functions of double are
// in runtime/dsp.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_H_
#define RULES_DNN_RUNTIME_DNN_HVX_H_

#include <stdbool.h>
#include <stdint.h>

#if !defined(__HVX__) || __HVX_LENGTH__ != 128
#error "kernels for HVX want -mhvx -mhvx-length=128b"
#endif

#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>

#include "runtime/dsp/dnn_f64.h"

// A micro-kernel: a leaf of its own, so that all registers are its own.
#define DNN_HVX_LEAF __attribute__((noinline, unused)) static

// Before a loop whose body is written out as far as is good.
#define DNN_HVX_ROLLED _Pragma("clang loop unroll(disable)")

// Elements of any type as a vector, or a group of four bytes as a word.
typedef HVX_Vector dnn_hvx_vector __attribute__((may_alias));
typedef int32_t dnn_hvx_word __attribute__((may_alias));

static inline HVX_Vector dnn_hvx_load(const void* p) { return *(const dnn_hvx_vector*)p; }

static inline void dnn_hvx_store(void* p, HVX_Vector v) { *(dnn_hvx_vector*)p = v; }

static inline int32_t dnn_hvx_group(const void* p) { return *(const dnn_hvx_word*)p; }

// The bits of x as another type of its size.
#define dnn_as(T, x)                                                                      \
  ({                                                                                      \
    const __typeof__(x) dnn_as_from = (x);                                                \
    T dnn_as_to;                                                                          \
    _Static_assert(sizeof(dnn_as_from) == sizeof(dnn_as_to), "types of different sizes"); \
    __builtin_memcpy(&dnn_as_to, &dnn_as_from, sizeof(dnn_as_to));                        \
    dnn_as_to;                                                                            \
  })

// Vectors at any address.
typedef HVX_UVector dnn_hvx_unaligned __attribute__((may_alias));

static inline HVX_Vector dnn_hvx_load_any(const void* p) { return *(const dnn_hvx_unaligned*)p; }

static inline void dnn_hvx_store_any(void* p, HVX_Vector v) { *(dnn_hvx_unaligned*)p = v; }

// Words times a number of 16 bits.
static inline HVX_Vector dnn_hvx_scaled(HVX_Vector v, int32_t by) {
  return Q6_Vw_vmpyi_VwRh(v, Q6_R_combine_RlRl(by, by));
}

// Whether any word's top bits say so: mask has words of 0 and others.
static inline bool dnn_hvx_any(HVX_Vector mask) {
  for (int32_t shift = 64; shift >= 4; shift /= 2) {
    mask = Q6_V_vor_VV(mask, Q6_V_vror_VR(mask, shift));
  }
  return Q6_R_vextract_VR(mask, 0) != 0;
}

// Stores the low bytes of 32 words at any address.
static inline void dnn_hvx_store_bytes(void* to, HVX_Vector words) {
  const HVX_Vector halves = Q6_Vh_vpacke_VwVw(words, words);
  union {
    HVX_Vector v;
    uint64_t doubles[16];
    uint8_t bytes[128];
  } packed = {Q6_Vb_vpacke_VhVh(halves, halves)};
  if (((uintptr_t)to & 7) == 0) {
    typedef uint64_t dnn_double __attribute__((may_alias));
    for (int i = 0; i < 4; ++i) ((dnn_double*)to)[i] = packed.doubles[i];
  } else {
    for (int i = 0; i < 32; ++i) ((uint8_t*)to)[i] = packed.bytes[i];
  }
}

// Stores the low bytes of the first n words at any address.
static inline void dnn_hvx_store_some(void* to, HVX_Vector words, int32_t n) {
  if (n == 32) {
    dnn_hvx_store_bytes(to, words);
    return;
  }
  int32_t each[32] __attribute__((aligned(128)));
  dnn_hvx_store(each, words);
  for (int32_t i = 0; i < n; ++i) ((uint8_t*)to)[i] = (uint8_t)each[i];
}

// The low bytes of four words beside each other.
static inline HVX_Vector dnn_hvx_interleave(HVX_Vector a, HVX_Vector b, HVX_Vector c,
                                            HVX_Vector d) {
  return Q6_Vh_vshuffe_VhVh(Q6_Vb_vshuffe_VbVb(d, c), Q6_Vb_vshuffe_VbVb(b, a));
}

// Rounds 32 words times a factor, adds zero and keeps the result within bounds of 8 bits. All is as
// if it were computed in floats, half to even: where that could make a difference, which is near
// halves, and for factors that no scale of quantized numbers has, nothing is written and the result
// is false.
static inline bool dnn_hvx_requantize(HVX_Vector* out, HVX_Vector sum, float factor, int32_t zero,
                                      int32_t least, int32_t most) {
  const uint32_t bits = dnn_as(uint32_t, factor);
  const int32_t q = 150 - (int32_t)(bits >> 23);  // the factor is its mantissa times 2^-q
  if (q < 11 || q > 71) return false;
  const HVX_Vector mantissa = Q6_V_vsplat_R((int32_t)((bits & 0x7fffffu) | 0x800000u) << 7);
  const int32_t up = 40 - q;
  if (up > 0) {  // what is beyond the limit is out of bounds for any zero
    const int32_t limit = 1 << (30 - up);
    sum = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(sum, Q6_V_vsplat_R(-limit)), Q6_V_vsplat_R(limit));
    sum = Q6_Vw_vasl_VwR(sum, up);
  }
  // With 16 bits of fraction: (sum * mantissa) >> 31.
  HVX_Vector v = Q6_Vw_vmpye_VwVuh(sum, mantissa);
  v = Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift(v, sum, mantissa);
  if (up < 0) v = Q6_Vw_vasr_VwR(v, -up);
  v = Q6_Vw_vadd_VwVw_sat(v, Q6_V_vsplat_R(0x8000));
  // Here and in floats, what is not out of bounds is off by less than 8 of 65536.
  const HVX_Vector fraction =
      Q6_V_vand_VV(Q6_Vw_vadd_VwVw(v, Q6_V_vsplat_R(8)), Q6_V_vsplat_R(0xffff));
  if (dnn_hvx_any(Q6_V_vand_QR(Q6_Q_vcmp_gt_VuwVuw(Q6_V_vsplat_R(16), fraction), -1))) return false;
  v = Q6_Vw_vadd_VwVw(Q6_Vw_vasr_VwR(v, 16), Q6_V_vsplat_R(zero));
  dnn_hvx_store(out,
                Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(v, Q6_V_vsplat_R(least)), Q6_V_vsplat_R(most)));
  return true;
}

// Hides what a condition is: clang would make an instruction of "x > y ? x : y" that gives y where
// x is NaN.
static inline bool dnn_hvx_hidden(bool c) {
  int32_t hidden = c;
  __asm__("" : "+r"(hidden));
  return hidden != 0;
}

// min and max give NaN when either operand is; of equal numbers they give y.
static inline float dnn_max_float(float x, float y) {
  return dnn_hvx_hidden((x > y) | (x != x)) ? x : y;
}

static inline float dnn_min_float(float x, float y) {
  return dnn_hvx_hidden((x < y) | (x != x)) ? x : y;
}

static inline double dnn_max_double(double x, double y) {
  return dnn_hvx_hidden((x > y) | (x != x)) ? x : y;
}

static inline double dnn_min_double(double x, double y) {
  return dnn_hvx_hidden((x < y) | (x != x)) ? x : y;
}

static inline float dnn_clamp_float(float x, float lo, float hi) {
  x = dnn_hvx_hidden(x > hi) ? hi : x;
  return dnn_hvx_hidden(x < lo) ? lo : x;
}

// Products, rounded: what hides them keeps compilers from adding them unrounded to anything.
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

// The upper half of a product.
static inline uint64_t dnn_c_mul_hi(uint64_t a, uint64_t b) {
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

// x * 2^e for exponents of normal numbers, and some below them.
static inline float dnn_c_ldexp(float x, int32_t e) {
  const float half = dnn_as(float, (uint32_t)(e / 2 + 127) << 23);
  const float rest = dnn_as(float, (uint32_t)(e - e / 2 + 127) << 23);
  return x * half * rest;
}

// An integer as a float, rounded towards zero.
static inline float dnn_hvx_rtz(uint64_t magnitude, bool negative) {
  if (magnitude >> 24) magnitude &= ~0ULL << (40 - __builtin_clzll(magnitude));
  return negative ? -(float)magnitude : (float)magnitude;
}

#define dnn_c_convert_float_rtz(x) dnn_hvx_rtz((x) < 0 ? 0 - (uint64_t)(x) : (uint64_t)(x), (x) < 0)

#endif  // RULES_DNN_RUNTIME_DNN_HVX_H_
