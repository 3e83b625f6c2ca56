// What the generated kernels include: fixed-width integers, vectors, half types.
// Free of the C++ library, so that kernels for several instruction sets link into one program.
#ifndef RULES_DNN_RUNTIME_DNN_KERNEL_H_
#define RULES_DNN_RUNTIME_DNN_KERNEL_H_

#include <stdint.h>

#include "runtime/dnn_index.h"
#include "runtime/dnn_lanes.h"
#include "runtime/dnn_math.h"

// Vectors in registers, and loads and stores of them at any alignment of float.
typedef float dnn_f32x4 __attribute__((vector_size(16)));
typedef float dnn_f32x8 __attribute__((vector_size(32)));
typedef float dnn_f32x16 __attribute__((vector_size(64)));
typedef int32_t dnn_i32x4 __attribute__((vector_size(16)));
typedef int32_t dnn_i32x8 __attribute__((vector_size(32)));
typedef int32_t dnn_i32x16 __attribute__((vector_size(64)));

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

// Where vectors lie, and how many bytes of one a register holds.
#if defined(__AVX512F__)
#define DNN_VECTOR "+v"
#define DNN_VECTOR_BYTES 64
#elif defined(__AVX__)
#define DNN_VECTOR "+x"
#define DNN_VECTOR_BYTES 32
#elif defined(__x86_64__)
#define DNN_VECTOR "+x"
#define DNN_VECTOR_BYTES 16
#elif defined(__aarch64__)
#define DNN_VECTOR "+w"
#define DNN_VECTOR_BYTES 16
#endif

// Hides what a pointer is until a register has its value: what is read from the pointer after this
// is read after the value is computed. Elsewhere compilers would put off what uses a load, and run
// out of registers.
template <typename T, typename V>
static inline __attribute__((always_inline)) void dnn_opaque_after(T*& p, V& v) {
#if defined(DNN_VECTOR)
  if constexpr (sizeof(V) <= DNN_VECTOR_BYTES) {
    __asm__("" : "+r"(p), DNN_VECTOR(v));
    return;
  }
#endif
  (void)v;
  DNN_OPAQUE(p);
}

// How the name of a label in assembly begins that is no symbol.
#if defined(__APPLE__)
#define DNN_LOCAL "L"
#else
#define DNN_LOCAL ".L"
#endif

template <typename V, typename T>
static inline V dnn_load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}

template <typename V, typename T>
static inline void dnn_store(T* p, V v) {
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
// A group of neighbours, 32 bits of them, in each lane.
template <typename V, typename T>
static inline V dnn_group(const T* p) {
  int32_t g;
  __builtin_memcpy(&g, p, sizeof(g));
  return g - V{};
}

// Instructions that multiply integers and add. They are assembly, as compilers have different
// built-in functions for some, and what declares all of them includes the C library.
#if defined(__SSE2__)
static inline dnn_i32x4 dnn_maddwd(dnn_i32x4 a, dnn_i32x4 x, dnn_i32x4 w) {
#if defined(__AVX__)
  __asm__("vpmaddwd %1, %0, %0" : "+x"(x) : "x"(w));
#else
  __asm__("pmaddwd %1, %0" : "+x"(x) : "x"(w));
#endif
  return a + x;
}
#endif

#if defined(__AVX2__)
static inline dnn_i32x8 dnn_maddwd(dnn_i32x8 a, dnn_i32x8 x, dnn_i32x8 w) {
  dnn_i32x8 y;
  __asm__("vpmaddwd %2, %1, %0" : "=x"(y) : "x"(x), "x"(w));
  return a + y;
}
#endif

#if defined(__AVX512BW__)
static inline dnn_i32x16 dnn_maddwd(dnn_i32x16 a, dnn_i32x16 x, dnn_i32x16 w) {
  dnn_i32x16 y;
  __asm__("vpmaddwd %2, %1, %0" : "=v"(y) : "v"(x), "v"(w));
  return a + y;
}
#endif

#if defined(__AVX512VNNI__)
static inline dnn_i32x16 dnn_dpbusd(dnn_i32x16 a, dnn_i32x16 u8, dnn_i32x16 i8) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(a) : "v"(u8), "v"(i8));
  return a;
}
#endif

#if defined(__AVXVNNI__)
static inline dnn_i32x8 dnn_dpbusd(dnn_i32x8 a, dnn_i32x8 u8, dnn_i32x8 i8) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(a) : "x"(u8), "x"(i8));
  return a;
}
#endif

#if defined(__aarch64__)
// Four products of neighbours a lane, which 16 bits hold one by one, and two of them do not.
static inline dnn_i32x4 dnn_smull(dnn_i32x4 a, dnn_i32x4 x, dnn_i32x4 y) {
  dnn_i32x4 low, high;
  __asm__("smull %0.8h, %1.8b, %2.8b" : "=w"(low) : "w"(x), "w"(y));
  __asm__("smull2 %0.8h, %1.16b, %2.16b" : "=w"(high) : "w"(x), "w"(y));
  __asm__("saddlp %0.4s, %0.8h" : "+w"(low));
  __asm__("saddlp %0.4s, %0.8h" : "+w"(high));
  __asm__("addp %0.4s, %0.4s, %1.4s" : "+w"(low) : "w"(high));
  return a + low;
}

static inline dnn_i32x4 dnn_umull(dnn_i32x4 a, dnn_i32x4 x, dnn_i32x4 y) {
  dnn_i32x4 low, high;
  __asm__("umull %0.8h, %1.8b, %2.8b" : "=w"(low) : "w"(x), "w"(y));
  __asm__("umull2 %0.8h, %1.16b, %2.16b" : "=w"(high) : "w"(x), "w"(y));
  __asm__("uaddlp %0.4s, %0.8h" : "+w"(low));
  __asm__("uaddlp %0.4s, %0.8h" : "+w"(high));
  __asm__("addp %0.4s, %0.4s, %1.4s" : "+w"(low) : "w"(high));
  return a + low;
}
#endif

#if defined(__ARM_FEATURE_DOTPROD)
static inline dnn_i32x4 dnn_sdot(dnn_i32x4 a, dnn_i32x4 x, dnn_i32x4 y) {
  __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(a) : "w"(x), "w"(y));
  return a;
}

static inline dnn_i32x4 dnn_udot(dnn_i32x4 a, dnn_i32x4 x, dnn_i32x4 y) {
  __asm__("udot %0.4s, %1.16b, %2.16b" : "+w"(a) : "w"(x), "w"(y));
  return a;
}
#endif

// Which lane of two vectors of kLanes, one after the other, lane i of a load of every kStep-th
// element is once the first part of them has been read: those up to the part come from the first
// vector, where they are in place but for the first time; the last part ends with the last element.
template <int kLanes, int kStep>
constexpr int dnn_lane_apart(int part, int i) {
  const int at = i * kStep;
  if (at < part * kLanes) return part == 1 ? at : i;
  if (at >= (part + 1) * kLanes) return 0;
  return kLanes + at - (part == kStep - 1 ? (kLanes - 1) * (kStep - 1) : part * kLanes);
}

// Joins a part of such elements to those before.
template <int kStep, int kPart, typename V, typename T>
static inline V dnn_join_apart(V x, const T* p) {
  constexpr int n = sizeof(V) / sizeof(T);
  const V y = dnn_load<V>(p + (kPart == kStep - 1 ? (n - 1) * (kStep - 1) : kPart * n));
#define DNN_AT(i) dnn_lane_apart<n, kStep>(kPart, i)
#define DNN_AT4(i) DNN_AT(i), DNN_AT(i + 1), DNN_AT(i + 2), DNN_AT(i + 3)
  if constexpr (n == 4) {
    x = __builtin_shufflevector(x, y, DNN_AT4(0));
  } else if constexpr (n == 8) {
    x = __builtin_shufflevector(x, y, DNN_AT4(0), DNN_AT4(4));
  } else {
    x = __builtin_shufflevector(x, y, DNN_AT4(0), DNN_AT4(4), DNN_AT4(8), DNN_AT4(12));
  }
#undef DNN_AT4
#undef DNN_AT
  if constexpr (kPart + 1 < kStep) {
    return dnn_join_apart<kStep, kPart + 1>(x, p);
  } else {
    return x;
  }
}

// Loads lanes that lie kStep elements apart, and reads nothing behind the last one.
template <typename V, int kStep, typename T>
static inline V dnn_load_apart(const T* p) {
  constexpr int n = sizeof(V) / sizeof(T);
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  if constexpr (sizeof(T) >= 4 && (n == 4 || n == 8 || n == 16)) {
    return dnn_join_apart<kStep, 1>(dnn_load<V>(p), p);
  }
#endif
#endif
  V v;
  for (int i = 0; i < n; ++i) v[i] = p[i * kStep];
  return v;
}

template <typename V, int kStep>
static inline V dnn_load_f16_apart(const uint16_t* p) {
  return dnn_math::f16_to_f32<V>(dnn_load_apart<dnn_math::halves_of<V>, kStep>(p));
}

template <typename V, int kStep>
static inline V dnn_load_bf16_apart(const uint16_t* p) {
  return dnn_math::bf16_to_f32<V>(dnn_load_apart<dnn_math::halves_of<V>, kStep>(p));
}

template <typename M, int kStep>
static inline M dnn_load_bool_apart(const bool* p) {
  M m;
  for (int i = 0; i < (int)(sizeof(M) / sizeof(m[0])); ++i) m[i] = -(int)p[i * kStep];
  return m;
}

// Stores the lanes kStride elements apart.
template <int kStride, typename V, typename T>
static inline void dnn_store_apart(T* p, V v) {
  for (int i = 0; i < (int)(sizeof(V) / sizeof(T)); ++i) p[i * kStride] = v[i];
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
