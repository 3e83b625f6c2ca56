// Includes everything that generated kernels need: fixed-width integers, vectors and half types. It
// uses no C++ library, so that kernels for several instruction sets link into one program.
#ifndef RULES_DNN_RUNTIME_DNN_KERNEL_H_
#define RULES_DNN_RUNTIME_DNN_KERNEL_H_

#include <stdint.h>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "runtime/dnn_amx.h"
#include "runtime/dnn_index.h"
#include "runtime/dnn_lanes.h"
#include "runtime/dnn_math.h"

// Vector types in registers; loads and stores have any alignment of float.
typedef float dnn_f32x4 __attribute__((vector_size(16)));
typedef float dnn_f32x8 __attribute__((vector_size(32)));
typedef float dnn_f32x16 __attribute__((vector_size(64)));
typedef int32_t dnn_i32x4 __attribute__((vector_size(16)));
typedef int32_t dnn_i32x8 __attribute__((vector_size(32)));
typedef int32_t dnn_i32x16 __attribute__((vector_size(64)));

// A micro-kernel is a leaf function, so that it can use all registers.
#define DNN_LEAF __attribute__((noinline, unused)) static

// A micro-kernel that is inlined, so that its caller reads the sums from registers. Tools that
// analyze a micro-kernel's instructions define DNN_JOINED as DNN_LEAF.
#ifndef DNN_JOINED
#define DNN_JOINED __attribute__((always_inline, unused)) static inline
#endif

// Disables unrolling of a loop whose body is already unrolled in the source.
#if defined(__clang__)
#define DNN_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define DNN_ROLLED _Pragma("GCC unroll 1")
#endif

// Hides the origin of a pointer, so that the compiler does not merge loads before and after it into
// registers that accumulators need.
#define DNN_OPAQUE(p) __asm__("" : "+r"(p))

// The assembly constraint of vectors, and the number of bytes in a vector register.
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

// Makes p depend on v, so that loads through p come after the computation of v. On other
// architectures compilers would delay the uses of loads until registers run out.
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

// The prefix of a local label in assembly, which creates no symbol.
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

// V may be wider than a register, and GCC warns if such a vector is passed by value.
template <typename V, typename T>
static inline void dnn_store(T* p, const V& v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

// f16 in memory, float in registers.
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

// The number at p, in all lanes.
template <typename V>
static inline V dnn_each_f16(const uint16_t* p) {
#if defined(__F16C__) || defined(__aarch64__)
  return dnn_math::f16_to_f32<V>(*p - dnn_math::halves_of<V>{});
#else  // many instructions for a conversion: of one number, not of all lanes
  return dnn_math::f16_to_f32(*p) - V{};
#endif
}

template <typename V>
static inline V dnn_each_bf16(const uint16_t* p) {
  typedef uint16_t H __attribute__((vector_size(sizeof(V))));
  const H h = *p - H{};
  dnn_math::bits_of<V> bits;
  __builtin_memcpy(&bits, &h, sizeof bits);
  return dnn_math::from_bits<V>(bits << 16);
}

// Stores floats that bf16 represents exactly.
template <typename V>
static inline void dnn_store_exact_bf16(uint16_t* p, V v) {
  const dnn_math::halves_of<V> h = dnn_math::exact_bf16<V>(v);
  __builtin_memcpy(p, &h, sizeof h);
}

// Stores each lane of both vectors as a pair of neighbours.
template <typename V>
static inline void dnn_store_pairs_bf16(uint16_t* p, V first, V second) {
  const auto pairs = dnn_math::to_bits(first) >> 16 | (dnn_math::to_bits(second) & 0xffff0000u);
  __builtin_memcpy(p, &pairs, sizeof pairs);
}

// Broadcasts a group of neighbouring elements, 32 bits in all, to each lane.
template <typename V, typename T>
static inline V dnn_group(const T* p) {
  int32_t g;
  __builtin_memcpy(&g, p, sizeof(g));
  return g - V{};
}

// Lookups in tables of 256 bytes for each byte of a vector, by instructions that select bytes of
// registers.
#if defined(__AVX512BW__)
typedef uint8_t dnn_table_bytes __attribute__((vector_size(64)));
typedef uint16_t dnn_table_words __attribute__((vector_size(64)));

// Looks up words 0 to 127 of the table; two registers hold 64 of them.
static inline dnn_table_words dnn_table_words_at(const uint8_t* table, dnn_table_words at) {
  const auto part = [table](int i) { return dnn_load<dnn_table_words>(table + 64 * i); };
  dnn_table_words low = at, high = at;
  __asm__("vpermi2w %2, %1, %0" : "+v"(low) : "v"(part(0)), "v"(part(1)));
  __asm__("vpermi2w %2, %1, %0" : "+v"(high) : "v"(part(2)), "v"(part(3)));
  return (at & 64) != 0 ? high : low;
}

static inline dnn_table_bytes dnn_table_at(const uint8_t* table, dnn_table_bytes at) {
  const dnn_table_words x = reinterpret_cast<dnn_table_words>(at), first = x & 255, second = x >> 8;
  const dnn_table_words a = dnn_table_words_at(table, first >> 1) >> (first & 1) * 8;
  const dnn_table_words b = dnn_table_words_at(table, second >> 1) >> (second & 1) * 8;
  return reinterpret_cast<dnn_table_bytes>((a & 255) | b << 8);
}
#elif defined(__AVX2__)
typedef uint8_t dnn_table_bytes __attribute__((vector_size(32)));

// Each part of 16 bytes is in both halves of a register. Indices into other parts have their
// highest bit set, and select zero.
static inline dnn_table_bytes dnn_table_at(const uint8_t* table, dnn_table_bytes at) {
  typedef uint8_t part __attribute__((vector_size(16)));
  const dnn_table_bytes others = dnn_table_bytes{} + 0x70;
  dnn_table_bytes out = {}, first = {};  // the number of the part's first byte
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i, first += 0x10) {
    dnn_table_bytes entries, x = at ^ first;
    __asm__("vbroadcasti128 %1, %0"
            : "=x"(entries)
            : "m"(*reinterpret_cast<const part*>(table + 16 * i)));
    __asm__("vpaddusb %1, %0, %0" : "+x"(x) : "x"(others));
    __asm__("vpshufb %1, %2, %0" : "=x"(x) : "x"(x), "x"(entries));
    out |= x;
  }
  return out;
}
#elif defined(__aarch64__)
typedef uint8_t dnn_table_bytes __attribute__((vector_size(16)));

static inline dnn_table_bytes dnn_table_at(const uint8_t* table, dnn_table_bytes at) {
  const uint8x16_t x = (uint8x16_t)at;
  const auto part = [table](int i) { return vld1q_u8_x4(table + 64 * i); };
  uint8x16_t out = vqtbl4q_u8(part(0), x);
  out = vqtbx4q_u8(out, part(1), veorq_u8(x, vdupq_n_u8(64)));
  out = vqtbx4q_u8(out, part(2), veorq_u8(x, vdupq_n_u8(128)));
  out = vqtbx4q_u8(out, part(3), veorq_u8(x, vdupq_n_u8(192)));
  return (dnn_table_bytes)out;
}
#endif

// Looks up each byte of a vector in a table.
template <typename V, typename T, typename B>
static inline V dnn_table(const T* table, B at) {
  V out;
#if defined(__AVX2__) || defined(__aarch64__)
  if constexpr (sizeof(B) <= sizeof(dnn_table_bytes)) {
    dnn_table_bytes x = {};
    __builtin_memcpy(&x, &at, sizeof(at));
    x = dnn_table_at(reinterpret_cast<const uint8_t*>(table), x);
    __builtin_memcpy(&out, &x, sizeof(out));
    return out;
  }
#endif
  for (int i = 0; i < (int)sizeof(B); ++i) out[i] = table[at[i]];
  return out;
}

// Integer multiply-add instructions. They are assembly, because compilers have different built-in
// functions for some of them, and the header that declares all of them includes the C library.
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

#if defined(__AVX512BF16__)
// Multiplies pairs of bf16 in each lane of x and w and adds them in f32: the upper product first.
// Each sum is rounded to nearest; denormal numbers count as zeros.
static inline dnn_f32x16 dnn_dpbf16(dnn_f32x16 a, dnn_i32x16 x, dnn_i32x16 w) {
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(a) : "v"(x), "v"(w));
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
// Adds four products of neighbours in each lane. 16 bits hold a product, but not the sum of two.
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

#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
typedef __fp16 dnn_f16x8 __attribute__((vector_size(16)));
typedef __fp16 dnn_f16x4 __attribute__((vector_size(8)));

namespace dnn_math {

// broadcast_half returns x as f16 in every lane.
template <class V>
DNN_MATH_FN V broadcast_half(float x) {
  const __fp16 h = static_cast<__fp16>(x);
  V v = {};
  for (unsigned i = 0; i < sizeof(V) / sizeof(h); ++i) v[i] = h;
  return v;
}

// Instructions that compilers do not always select for expressions. fused returns sum + x * y,
// rounded once. See also fmax and fmin.
#define DNN_HALVES(V, LANES)                                                            \
  static inline V max(V x, V y) {                                                       \
    V z;                                                                                \
    __asm__("fmax %0." LANES ", %1." LANES ", %2." LANES : "=w"(z) : "w"(x), "w"(y));   \
    return z;                                                                           \
  }                                                                                     \
  static inline V min(V x, V y) {                                                       \
    V z;                                                                                \
    __asm__("fmin %0." LANES ", %1." LANES ", %2." LANES : "=w"(z) : "w"(x), "w"(y));   \
    return z;                                                                           \
  }                                                                                     \
  static inline V product(V x, V y) {                                                   \
    V z;                                                                                \
    __asm__("fmul %0." LANES ", %1." LANES ", %2." LANES : "=w"(z) : "w"(x), "w"(y));   \
    return z;                                                                           \
  }                                                                                     \
  static inline V fused(V sum, V x, V y) {                                              \
    __asm__("fmla %0." LANES ", %1." LANES ", %2." LANES : "+w"(sum) : "w"(x), "w"(y)); \
    return sum;                                                                         \
  }                                                                                     \
  static inline V abs(V x) {                                                            \
    V z;                                                                                \
    __asm__("fabs %0." LANES ", %1." LANES : "=w"(z) : "w"(x));                         \
    return z;                                                                           \
  }                                                                                     \
  static inline V sqrt(V x) {                                                           \
    V z;                                                                                \
    __asm__("fsqrt %0." LANES ", %1." LANES : "=w"(z) : "w"(x));                        \
    return z;                                                                           \
  }
DNN_HALVES(dnn_f16x8, "8h")
DNN_HALVES(dnn_f16x4, "4h")
#undef DNN_HALVES

// logistic_half returns 1 / (1 + e^-x) as 1/16 / (1/16 + 2^r * 2^n / 16). -x / ln 2 is n + r, and n
// is an integer. 2^r is a polynomial (least squares, then a search of neighbours). The error is at
// most 2 units of f16, or 1.5e-6.
template <class V>
DNN_MATH_FN V logistic_half(V x) {
  const V magic =
      broadcast_half<V>(1547.0f);  // 1536 rounds to integers; 11 is the exponent of 1/16
  const V high = broadcast_half<V>(-0x1.714p+0f), low = broadcast_half<V>(-0x1.476p-12f);
  const V y = max(min(x, broadcast_half<V>(7.65f)), broadcast_half<V>(-14.0f));
  const V sum = fused(magic, y, high);
  with_lanes<uint16_t, V> bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  bits <<= 10;
  V power;
  __builtin_memcpy(&power, &bits, sizeof power);
  const V r = fused(fused(magic - sum, y, high), y, low);
  V p = fused(broadcast_half<V>(0x1.eecp-3f), r, broadcast_half<V>(0x1.c9p-5f));
  p = fused(broadcast_half<V>(0x1.62cp-1f), r, p);
  p = fused(broadcast_half<V>(1.0f), r, p);
  return broadcast_half<V>(0.0625f) / fused(broadcast_half<V>(0.0625f), p, power);
}

// exp2m1_half returns 2^y - 1 for y from -14 to 14. y is n + r, and n is an integer. 2^r - 1 is a
// polynomial without a constant, so results near 0 have all digits.
template <class V>
DNN_MATH_FN V exp2m1_half(V y) {
  const V magic = broadcast_half<V>(1551.0f);  // 15 is the exponent of 1
  const V sum = magic + y;
  with_lanes<uint16_t, V> bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  bits <<= 10;
  V power;
  __builtin_memcpy(&power, &bits, sizeof power);
  const V r = y - (sum - magic);
  V p = fused(broadcast_half<V>(0x1.f1p-3f), r, broadcast_half<V>(0x1.ca4p-5f));
  p = fused(broadcast_half<V>(0x1.63p-1f), r, p);
  return fused(power - broadcast_half<V>(1.0f), product(r, p), power);
}

// signed_half returns x with the sign of y.
template <class V>
DNN_MATH_FN V signed_half(V x, V y) {
  with_lanes<uint16_t, V> a, b;
  __builtin_memcpy(&a, &x, sizeof a);
  __builtin_memcpy(&b, &y, sizeof b);
  a = (a & 0x7fff) | (b & 0x8000);
  __builtin_memcpy(&x, &a, sizeof x);
  return x;
}

// erf_half returns 1 - 2^(-a q), where a is |x| and q a polynomial (least squares, then a search of
// neighbours). The error is at most 3 units of f16.
template <class V>
DNN_MATH_FN V erf_half(V x) {
  const V a = min(abs(x), broadcast_half<V>(2.703125f));
  V q = fused(broadcast_half<V>(-0x1.2p-3f), a, broadcast_half<V>(0x1.58cp-6f));  // -q
  q = fused(broadcast_half<V>(-0x1.d7cp-1f), a, q);
  q = fused(broadcast_half<V>(-0x1.a0cp+0f), a, q);
  return signed_half(exp2m1_half(product(a, q)), x);
}

// tanh_half returns e / (e + 2), where e is e^(2|x|) - 1. The error is at most 4 units of f16.
template <class V>
DNN_MATH_FN V tanh_half(V x) {
  const V a = min(abs(x), broadcast_half<V>(4.6015625f));
  const V e = exp2m1_half(product(a, broadcast_half<V>(0x1.714p+1f)));
  return signed_half(e / (e + broadcast_half<V>(2.0f)), x);
}

#define DNN_HALF_FUNCTIONS(V)                                \
  static inline V logistic(V x) { return logistic_half(x); } \
  static inline V erf(V x) { return erf_half(x); }           \
  static inline V tanh(V x) { return tanh_half(x); }
DNN_HALF_FUNCTIONS(dnn_f16x8)
DNN_HALF_FUNCTIONS(dnn_f16x4)
#undef DNN_HALF_FUNCTIONS

}  // namespace dnn_math

// Returns the f16 with these bits in all lanes.
static inline dnn_f16x8 dnn_halves(uint16_t bits) {
  __fp16 h;
  __builtin_memcpy(&h, &bits, sizeof h);
  return dnn_f16x8{h, h, h, h, h, h, h, h};
}

// Returns a lane in all lanes.
template <int kLane>
static inline dnn_f16x8 dnn_halves(dnn_f16x8 x) {
  const __fp16 h = x[kLane];
  return dnn_f16x8{h, h, h, h, h, h, h, h};
}
#endif

#if defined(__ARM_FEATURE_FP16_FML) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
// A lane of a register, or a group of them.
template <int kLane, typename V>
struct dnn_lane_of {
  V of;
};

template <int kLane, typename V>
static inline dnn_lane_of<kLane, V> dnn_lane(V of) {
  return {of};
}
#endif

#if defined(__ARM_FEATURE_FP16_FML)
// Adds the products of f16 of x and y in f32, each rounded once.
static inline dnn_f32x4 dnn_fmlal(dnn_f32x4 a, dnn_f16x4 x, dnn_f16x4 y) {
  __asm__("fmlal %0.4s, %1.4h, %2.4h" : "+w"(a) : "w"(x), "w"(y));
  return a;
}

// The same with one lane of y for all of x. The instruction takes lanes of the first 16 registers.
template <int kLane>
static inline dnn_f32x4 dnn_fmlal(dnn_f32x4 a, dnn_f16x4 x, dnn_lane_of<kLane, dnn_f16x4> y) {
#if defined(__clang__)  // its constraint x takes registers of 128 bits only
  const dnn_f16x8 lanes = __builtin_shufflevector(y.of, y.of, 0, 1, 2, 3, 0, 1, 2, 3);
#else
  const dnn_f16x4 lanes = y.of;
#endif
  __asm__("fmlal %0.4s, %1.4h, %2.h[%3]" : "+w"(a) : "w"(x), "x"(lanes), "i"(kLane));
  return a;
}

// The same with the f16 that has the bits y.
static inline dnn_f32x4 dnn_fmlal(dnn_f32x4 a, dnn_f16x4 x, uint16_t y) {
  __fp16 h;
  __builtin_memcpy(&h, &y, sizeof h);
  return dnn_fmlal(a, x, dnn_lane<0>(dnn_f16x4{h, h, h, h}));
}
#endif

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
// Adds both products of pairs of bf16 in each lane of x and y, and then a. Each sum is rounded to
// odd; denormal numbers count as zeros.
static inline dnn_f32x4 dnn_bfdot(dnn_f32x4 a, dnn_i32x4 x, dnn_i32x4 y) {
  __asm__("bfdot %0.4s, %1.8h, %2.8h" : "+w"(a) : "w"(x), "w"(y));
  return a;
}

template <int kLane>
static inline dnn_f32x4 dnn_bfdot(dnn_f32x4 a, dnn_i32x4 x, dnn_lane_of<kLane, dnn_i32x4> y) {
  __asm__("bfdot %0.4s, %1.8h, %2.2h[%3]" : "+w"(a) : "w"(x), "w"(y.of), "i"(kLane));
  return a;
}

// Computes a block of two rows and two lanes from four neighbours of each: as dnn_bfdot from the
// first pair of these, and then from the second.
static inline dnn_f32x4 dnn_bfmmla(dnn_f32x4 a, dnn_i32x4 x, dnn_i32x4 w) {
  __asm__("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(a) : "w"(x), "w"(w));
  return a;
}
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8)
// Computes a block of two rows and two lanes from eight neighbours of each.
static inline dnn_i32x4 dnn_smmla(dnn_i32x4 a, dnn_i32x4 x, dnn_i32x4 w) {
  __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(a) : "w"(x), "w"(w));
  return a;
}

static inline dnn_i32x4 dnn_ummla(dnn_i32x4 a, dnn_i32x4 x, dnn_i32x4 w) {
  __asm__("ummla %0.4s, %1.16b, %2.16b" : "+w"(a) : "w"(x), "w"(w));
  return a;
}

static inline dnn_i32x4 dnn_usmmla(dnn_i32x4 a, dnn_i32x4 x, dnn_i32x4 w) {
  __asm__("usmmla %0.4s, %1.16b, %2.16b" : "+w"(a) : "w"(x), "w"(w));
  return a;
}
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
// Loads eight bytes of each of two rows.
template <typename V, typename T>
static inline V dnn_rows(const T* first, const T* second) {
  V v;
  __builtin_memcpy(&v, first, 8);
  __builtin_memcpy(reinterpret_cast<char*>(&v) + 8, second, 8);
  return v;
}

// Return the first and the second row of two blocks.
template <typename V>
static inline V dnn_first(V a, V b) {
  return V{a[0], a[1], b[0], b[1]};
}

template <typename V>
static inline V dnn_second(V a, V b) {
  return V{a[2], a[3], b[2], b[3]};
}
#endif

// Selects lanes for a strided load in parts: lane i of the result is element i * kStep. Returns the
// index in the concatenation of the previous result and part `part` of the input. Lanes before the
// part come from the previous result; they are in place except for part 1. The last part ends with
// the last element.
template <int kLanes, int kStep>
constexpr int dnn_lane_apart(int part, int i) {
  const int at = i * kStep;
  if (at < part * kLanes) return part == 1 ? at : i;
  if (at >= (part + 1) * kLanes) return 0;
  return kLanes + at - (part == kStep - 1 ? (kLanes - 1) * (kStep - 1) : part * kLanes);
}

// Merges part kPart of a strided load into x.
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

// GCC 11 does not recognize that a loop sets all lanes.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// Loads lanes that are kStep elements apart; does not read beyond the last one.
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
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

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

// Stores lanes kStride elements apart.
template <int kStride, typename V, typename T>
static inline void dnn_store_apart(T* p, V v) {
  for (int i = 0; i < (int)(sizeof(V) / sizeof(T)); ++i) p[i * kStride] = v[i];
}

// Returns the source of lane i in a step of dnn_turn, as an index in the concatenation of two
// vectors. Round 0 makes pairs of lanes within groups of four. Later rounds exchange half of each
// 2^(kRound + 1) lanes.
template <int kLanes, int kRound, bool kSecond>
constexpr int dnn_turned_lane(int i) {
  if (kRound == 0) return i / 4 * 4 + kSecond * 2 + i % 4 / 2 + i % 2 * kLanes;
  const int half = 1 << kRound;
  if (i / half % 2) return kSecond ? kLanes + i : kLanes + i - half;
  return kSecond ? i + half : i;
}

// Returns the source of lane i when two vectors are interleaved.
template <int kLanes, bool kSecond>
constexpr int dnn_zipped_lane(int i) {
  return kSecond * kLanes / 2 + i / 2 + i % 2 * kLanes;
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define DNN_SHUFFLES 1
#define DNN_AT4(at, i) at(i), at(i + 1), at(i + 2), at(i + 3)
// Shuffles two vectors; lane i of the result is lane at(i) of their concatenation.
#define DNN_SHUFFLED(to, n, x, y, at)                                                  \
  if constexpr (n == 4) {                                                              \
    to = __builtin_shufflevector(x, y, DNN_AT4(at, 0));                                \
  } else if constexpr (n == 8) {                                                       \
    to = __builtin_shufflevector(x, y, DNN_AT4(at, 0), DNN_AT4(at, 4));                \
  } else {                                                                             \
    to = __builtin_shufflevector(x, y, DNN_AT4(at, 0), DNN_AT4(at, 4), DNN_AT4(at, 8), \
                                 DNN_AT4(at, 12));                                     \
  }

// Transposes kLanes vectors of kLanes lanes; columns 1 and 2 of each four are exchanged.
template <int kRound, int kLanes, typename V>
static inline __attribute__((always_inline)) void dnn_turn(V (&x)[kLanes]) {
  constexpr int half = 1 << kRound;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if (i / half % 2) continue;
    const V a = x[i], b = x[i + half];
    DNN_SHUFFLED(x[i], kLanes, a, b, (dnn_turned_lane<kLanes, kRound, false>))
    DNN_SHUFFLED(x[i + half], kLanes, a, b, (dnn_turned_lane<kLanes, kRound, true>))
  }
  if constexpr (2 * half < kLanes) dnn_turn<kRound + 1>(x);
}

// Interleaves the lanes of several vectors: the first lane of each, then the second of each, and so
// on.
template <int kLanes, int kDone, int kVectors, typename V>
static inline __attribute__((always_inline)) void dnn_zip(V (&x)[kVectors]) {
  V y[kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kVectors / 2; ++i) {
    const V a = x[i], b = x[i + kVectors / 2];
    DNN_SHUFFLED(y[2 * i], kLanes, a, b, (dnn_zipped_lane<kLanes, false>))
    DNN_SHUFFLED(y[2 * i + 1], kLanes, a, b, (dnn_zipped_lane<kLanes, true>))
  }
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) x[i] = y[i];
  if constexpr (2 * kDone < kVectors) dnn_zip<kLanes, 2 * kDone>(x);
}
#undef DNN_SHUFFLED
#undef DNN_AT4
#endif
#endif

// Stores vectors whose lanes are kStride elements apart; each vector begins one element after the
// previous one.
template <int kStride, typename T, typename V, typename... Vs>
static inline __attribute__((always_inline)) void dnn_store_turned(T* p, V first, Vs... rest) {
  constexpr int lanes = sizeof(V) / sizeof(T), n = 1 + sizeof...(rest);
  V x[n] = {first, rest...};
#if defined(DNN_SHUFFLES) && defined(DNN_VECTOR_BYTES)
  // Only if each vector has one register: for wider pairs compilers would spill.
  constexpr bool shuffled = lanes >= 4 && lanes <= 16 && sizeof(V) == DNN_VECTOR_BYTES;
  if constexpr (n == 2 && kStride == n && shuffled) {
    dnn_zip<lanes, 1>(x);
    dnn_store(p, x[0]);
    dnn_store(p + lanes, x[1]);
    return;
  }
#endif
  if constexpr (sizeof(T) < 4 && n * sizeof(T) == 4 && kStride == n) {  // groups of 32 bits
    typedef dnn_math::with_lanes<typename dnn_math::integer_of<sizeof(T), false>::type, V> U;
    dnn_math::with_lanes<uint32_t, V> all = {};
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i)
      all |= dnn_math::convert_lanes<decltype(all)>(reinterpret_cast<U>(x[i])) << 8 * sizeof(T) * i;
    dnn_store(p, all);
    return;
  }
#if defined(DNN_SHUFFLES)
  if constexpr (sizeof(T) == 1 && n == 16 && lanes % 16 == 0) {  // blocks of 16x16 bytes
    typedef T Row __attribute__((vector_size(16)));
    for (int at = 0; at < lanes; at += 16) {
      Row rows[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i)
        __builtin_memcpy(&rows[i], reinterpret_cast<const T*>(&x[i]) + at, 16);
      dnn_zip<16, 1>(rows);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) dnn_store(p + (at + i) * (int64_t)kStride, rows[i]);
    }
    return;
  }
  if constexpr (sizeof(T) == 4 && n == lanes) {
    dnn_turn<0>(x);
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i)
      dnn_store(p + i * kStride, x[i / 4 * 4 + i % 4 / 2 + i % 2 * 2]);
    return;
  }
  if constexpr (sizeof(T) == 4 && n < lanes) {
    dnn_zip<lanes, 1>(x);
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) {
      if constexpr (kStride == n) {
        dnn_store(p + i * lanes, x[i]);
      } else {
        for (int j = 0; j < lanes; j += n) {
          __builtin_memcpy(p + (i * lanes + j) / n * kStride,
                           reinterpret_cast<const char*>(&x[i]) + j * sizeof(T), n * sizeof(T));
        }
      }
    }
    return;
  }
#endif
  for (int i = 0; i < lanes; ++i) {
    for (int j = 0; j < n; ++j) p[i * (int64_t)kStride + j] = x[j][i];
  }
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
