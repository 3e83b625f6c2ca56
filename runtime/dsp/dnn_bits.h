// Conversions between a double and its bits.
#ifndef RULES_DNN_RUNTIME_DSP_DNN_BITS_H_
#define RULES_DNN_RUNTIME_DSP_DNN_BITS_H_

#include <stdint.h>

static inline uint64_t dnn_bits(double x) {
  uint64_t u;
  __builtin_memcpy(&u, &x, sizeof(u));
  return u;
}

static inline double dnn_from_bits(uint64_t u) {
  double x;
  __builtin_memcpy(&x, &u, sizeof(x));
  return x;
}

static const uint64_t kDnnSign = UINT64_C(1) << 63;
static const uint64_t kDnnInfinity = UINT64_C(0x7ff) << 52;
static const uint64_t kDnnNan = UINT64_C(0x7ff8) << 48;

#endif  // RULES_DNN_RUNTIME_DSP_DNN_BITS_H_
