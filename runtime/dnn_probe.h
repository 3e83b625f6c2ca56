// The code behind rules_dnn::Probe, for one width of vectors. Only the file that a model's profile
// is printed to includes it, and that is compiled as the kernels are.
#ifndef RULES_DNN_RUNTIME_DNN_PROBE_H_
#define RULES_DNN_RUNTIME_DNN_PROBE_H_

#include "runtime/dnn_kernel.h"
#include "runtime/dnn_profile.h"

// Before a loop that is to be written out as a whole, so that what it indexes is in registers.
#if defined(__clang__)
#define DNN_WRITTEN_OUT _Pragma("clang loop unroll(full)")
#else
#define DNN_WRITTEN_OUT _Pragma("GCC unroll 64")
#endif

// Chains of products and sums, so many that the units which compute them never wait for a
// result: what one takes (4 cycles, 8 where product and sum are two) times the units (2 to 4).
template <typename V, int kChains>
static int64_t dnn_probe_multiply(int64_t rounds) {
  constexpr int kLanes = static_cast<int>(sizeof(V) / sizeof(float));
  float numbers[kLanes * (kChains + 2)];
  for (int i = 0; i < kLanes * (kChains + 2); ++i) numbers[i] = 0.5f + static_cast<float>(i) / 4096;
  float* from = numbers;
  DNN_OPAQUE(from);  // or all is computed by the compiler
  V sums[kChains];
  DNN_WRITTEN_OUT
  for (int i = 0; i < kChains; ++i) sums[i] = dnn_load<V>(from + i * kLanes);
  const V a = dnn_load<V>(from + kChains * kLanes), b = dnn_load<V>(from + (kChains + 1) * kLanes);
  DNN_ROLLED
  for (int64_t r = 0; r < rounds; ++r) {
    DNN_WRITTEN_OUT
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * a + b;
  }
  DNN_WRITTEN_OUT
  for (int i = 0; i < kChains; ++i) dnn_store(from + i * kLanes, sums[i]);
  __asm__ __volatile__("" : : "r"(from) : "memory");
  return rounds * kChains * kLanes;
}

template <typename V>
static float dnn_probe_read(const uint8_t* buffer, size_t bytes) {
  constexpr size_t kLanes = sizeof(V) / sizeof(float), kSums = 8;
  const float* const from = reinterpret_cast<const float*>(buffer);
  V sums[kSums] = {};
  for (size_t i = 0; i < bytes / sizeof(float); i += kSums * kLanes) {
    DNN_WRITTEN_OUT
    for (size_t k = 0; k < kSums; ++k) sums[k] += dnn_load<V>(from + i + k * kLanes);
  }
  float total = 0;
  for (size_t k = 0; k < kSums; ++k) {
    for (size_t l = 0; l < kLanes; ++l) total += sums[k][l];
  }
  return total;
}

#endif  // RULES_DNN_RUNTIME_DNN_PROBE_H_
