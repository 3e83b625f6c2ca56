// What the generated kernels include: fixed-width integers, vectors of floats, half types.
// Free of the C++ library, so that kernels for several instruction sets link into one program.
#ifndef RULES_DNN_RUNTIME_DNN_KERNEL_H_
#define RULES_DNN_RUNTIME_DNN_KERNEL_H_

#include <stdint.h>

#include "runtime/dnn_index.h"
#include "runtime/dnn_math.h"

// Vectors in registers, and loads and stores of them at any alignment of float.
typedef float dnn_f32x4 __attribute__((vector_size(16)));
typedef float dnn_f32x8 __attribute__((vector_size(32)));
typedef float dnn_f32x16 __attribute__((vector_size(64)));

// A micro-kernel: a leaf of its own, so that all registers are its own.
#define DNN_LEAF __attribute__((noinline, unused)) static

// Before a loop whose body is written out as far as is good.
#if defined(__clang__)
#define DNN_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define DNN_ROLLED _Pragma("GCC unroll 1")
#endif

// Hides what a pointer is, so that loads before and after are not merged into registers that are
// needed for accumulators.
#define DNN_OPAQUE(p) __asm__("" : "+r"(p))

// How the name of a label in assembly begins that is no symbol.
#if defined(__APPLE__)
#define DNN_LOCAL "L"
#else
#define DNN_LOCAL ".L"
#endif

template <typename V>
static inline V dnn_load(const float* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}

template <typename V>
static inline void dnn_store(float* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

// Halves in memory, which are floats in registers.
template <typename V>
static inline V dnn_load_f16(const uint16_t* p) {
  dnn_math::halves_of<V> h;
  __builtin_memcpy(&h, p, sizeof h);
  return dnn_math::f16_to_f32<V>(h);
}

template <typename V>
static inline void dnn_store_f16(uint16_t* p, V v) {
  const dnn_math::halves_of<V> h = dnn_math::f32_to_f16<V>(v);
  __builtin_memcpy(p, &h, sizeof h);
}

template <typename V>
static inline V dnn_load_bf16(const uint16_t* p) {
  dnn_math::halves_of<V> h;
  __builtin_memcpy(&h, p, sizeof h);
  return dnn_math::bf16_to_f32<V>(h);
}

template <typename V>
static inline void dnn_store_bf16(uint16_t* p, V v) {
  const dnn_math::halves_of<V> h = dnn_math::f32_to_bf16<V>(v);
  __builtin_memcpy(p, &h, sizeof h);
}

// Stores the lanes kStride elements apart.
template <int kStride, typename V>
static inline void dnn_store_apart(float* p, V v) {
  for (int i = 0; i < (int)(sizeof(V) / sizeof(float)); ++i) p[i * kStride] = v[i];
}

template <int kStride, typename V>
static inline void dnn_store_f16_apart(uint16_t* p, V v) {
  const dnn_math::halves_of<V> h = dnn_math::f32_to_f16<V>(v);
  for (int i = 0; i < (int)(sizeof(V) / sizeof(float)); ++i) p[i * kStride] = h[i];
}

template <int kStride, typename V>
static inline void dnn_store_bf16_apart(uint16_t* p, V v) {
  const dnn_math::halves_of<V> h = dnn_math::f32_to_bf16<V>(v);
  for (int i = 0; i < (int)(sizeof(V) / sizeof(float)); ++i) p[i * kStride] = h[i];
}

#endif  // RULES_DNN_RUNTIME_DNN_KERNEL_H_
