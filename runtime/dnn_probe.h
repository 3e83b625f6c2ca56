// The code behind rules_dnn::Probe, for one vector width. Only the generated file of a model's
// profile includes it; that file is compiled like the kernels.
#ifndef RULES_DNN_RUNTIME_DNN_PROBE_H_
#define RULES_DNN_RUNTIME_DNN_PROBE_H_

#include "runtime/dnn_kernel.h"
#include "runtime/dnn_profile.h"

// The probe measures arithmetic, so that sums must stay in registers with any compiler. Compilers
// do not always split an array into registers, so that each sum is a variable of its own. GCC 14
// still copies loop invariants in halves and adds on the stack; each value is therefore forced into
// a register from its load to its store.
// clang-format off
#define DNN_EACH_CHAIN(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) \
  X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
// clang-format on
constexpr int kDnnMostChains = 24;

// The constraint of a vector register, and the widest vector that the compiler may use.
#if defined(__AVX512F__)
#define DNN_VECTOR_REGISTER "v"
constexpr size_t kDnnVectorBytes = 64;
#elif defined(__AVX__)
#define DNN_VECTOR_REGISTER "x"
constexpr size_t kDnnVectorBytes = 32;
#elif defined(__SSE2__)
#define DNN_VECTOR_REGISTER "x"
constexpr size_t kDnnVectorBytes = 16;
#elif defined(__aarch64__)
#define DNN_VECTOR_REGISTER "w"
constexpr size_t kDnnVectorBytes = 16;
#endif

// Forces a value into a register here and hides its origin, so that it is neither recomputed nor
// reloaded where it is used.
template <typename V>
static DNN_ALWAYS_INLINE void dnn_in_register(V& v) {
#if defined(DNN_VECTOR_REGISTER)
  if constexpr (sizeof(V) >= 16 && sizeof(V) <= kDnnVectorBytes) {
    __asm__("" : "+" DNN_VECTOR_REGISTER(v));
  }
#endif
  (void)v;
}

// A product and a sum with the instructions that kernels use. A fused instruction adds to its
// result; the operand is hidden so that the product does not look invariant. With two instructions,
// the product is of the sum, so that neither needs a copy.
#if defined(__FMA__) || defined(__aarch64__)
#define DNN_MULTIPLY_ADD(sum, a, b) \
  do {                              \
    dnn_in_register(a);             \
    sum += a * b;                   \
  } while (0)
#else
#define DNN_MULTIPLY_ADD(sum, a, b) sum = sum * a + b
#endif

// Measures independent chains of products and sums. Their number hides the latency: cycles of a
// step (4, or 8 for separate product and sum) times the number of units (2 to 4).
template <typename V, int kChains>
static int64_t dnn_probe_multiply(int64_t rounds) {
  static_assert(kChains >= 1 && kChains <= kDnnMostChains, "a variable for each chain");
  constexpr int kLanes = static_cast<int>(sizeof(V) / sizeof(float));
  float numbers[kLanes * (kChains + 2)];
  for (int i = 0; i < kLanes * (kChains + 2); ++i) numbers[i] = 0.5f + static_cast<float>(i) / 4096;
  float* from = numbers;
  DNN_OPAQUE(from);  // otherwise the compiler computes everything
  V a = dnn_load<V>(from + kChains * kLanes), b = dnn_load<V>(from + (kChains + 1) * kLanes);
  dnn_in_register(a);
  dnn_in_register(b);
#define DNN_LOAD(k)                                              \
  V sum##k = dnn_load<V>(from + (k < kChains ? k : 0) * kLanes); \
  dnn_in_register(sum##k);
  DNN_EACH_CHAIN(DNN_LOAD)
#undef DNN_LOAD
  DNN_ROLLED
  for (int64_t r = 0; r < rounds; ++r) {
#define DNN_STEP(k)                 \
  if constexpr (k < kChains) {      \
    DNN_MULTIPLY_ADD(sum##k, a, b); \
    dnn_in_register(sum##k);        \
  }
    DNN_EACH_CHAIN(DNN_STEP)
#undef DNN_STEP
  }
#define DNN_STORE(k)                      \
  if constexpr (k < kChains) {            \
    dnn_in_register(sum##k);              \
    dnn_store(from + k * kLanes, sum##k); \
  }
  DNN_EACH_CHAIN(DNN_STORE)
#undef DNN_STORE
  __asm__ __volatile__("" : : "r"(from) : "memory");
  return rounds * kChains * kLanes;
}

// The same for another kind of products: Product::Add adds kProducts products of two operands to
// the lanes of a sum, by the instruction that kernels use.
template <typename Product, int kChains, int kProducts>
static int64_t dnn_probe_products(int64_t rounds) {
  static_assert(kChains >= 1 && kChains <= kDnnMostChains, "a variable for each chain");
  typedef typename Product::Sum Sum;
  typedef typename Product::Operand Operand;
  alignas(64) uint8_t numbers[sizeof(Sum) * kChains + 2 * sizeof(Operand)];
  for (uint8_t& n : numbers) n = 1;
  uint8_t* from = numbers;
  DNN_OPAQUE(from);
  Operand a = dnn_load<Operand>(from + kChains * sizeof(Sum));
  Operand b = dnn_load<Operand>(from + kChains * sizeof(Sum) + sizeof(Operand));
#define DNN_LOAD(k)                                                       \
  Sum sum##k = dnn_load<Sum>(from + (k < kChains ? k : 0) * sizeof(Sum)); \
  dnn_in_register(sum##k);
  DNN_EACH_CHAIN(DNN_LOAD)
#undef DNN_LOAD
  DNN_ROLLED
  for (int64_t r = 0; r < rounds; ++r) {
#define DNN_STEP(k)             \
  if constexpr (k < kChains) {  \
    dnn_in_register(a);         \
    Product::Add(sum##k, a, b); \
    dnn_in_register(sum##k);    \
  }
    DNN_EACH_CHAIN(DNN_STEP)
#undef DNN_STEP
  }
#define DNN_STORE(k)                           \
  if constexpr (k < kChains) {                 \
    dnn_in_register(sum##k);                   \
    dnn_store(from + k * sizeof(Sum), sum##k); \
  }
  DNN_EACH_CHAIN(DNN_STORE)
#undef DNN_STORE
  __asm__ __volatile__("" : : "r"(from) : "memory");
  return rounds * kChains * kProducts;
}

// Reads a buffer whose size is a multiple of eight vectors.
template <typename V>
static float dnn_probe_read(const uint8_t* buffer, size_t bytes) {
  constexpr size_t kLanes = sizeof(V) / sizeof(float);
  const float* const from = reinterpret_cast<const float*>(buffer);
  V s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {}, s7 = {};
  for (size_t i = 0; i < bytes / sizeof(float); i += 8 * kLanes) {
#define DNN_ADD(k)                            \
  s##k += dnn_load<V>(from + i + k * kLanes); \
  dnn_in_register(s##k);
    DNN_ADD(0) DNN_ADD(1) DNN_ADD(2) DNN_ADD(3) DNN_ADD(4) DNN_ADD(5) DNN_ADD(6) DNN_ADD(7)
#undef DNN_ADD
  }
  V sums = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
  dnn_in_register(sums);
  float total = 0;
  for (size_t l = 0; l < kLanes; ++l) total += sums[l];
  return total;
}

#endif  // RULES_DNN_RUNTIME_DNN_PROBE_H_
