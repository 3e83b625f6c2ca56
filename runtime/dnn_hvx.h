// What kernels for Hexagon include: vectors of 128 bytes (HVX) in memory, and what scalar functions
// need that C on Hexagon does not have. It is C11 and needs no C library.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_H_
#define RULES_DNN_RUNTIME_DNN_HVX_H_

#include <stdbool.h>
#include <stdint.h>

#if !defined(__HVX__) || __HVX_LENGTH__ != 128
#error "kernels for HVX want -mhvx -mhvx-length=128b"
#endif

#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>

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

#define dnn_c_sqrt(x) _Generic((x), float: __builtin_sqrtf, default: __builtin_sqrt)(x)

#define dnn_c_clz(x) __builtin_clzll(x)

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
