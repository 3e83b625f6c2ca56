// Counter-based random numbers: an element depends only on a seed, a stream, an iteration and its
// index, so that any chip and any number of threads produce the same bits. Package opaque of the
// compiler has the same functions in Go; random.go describes what they compute.
//
// Everything has internal linkage, as in dnn_math.h.
#ifndef RULES_DNN_RUNTIME_DNN_RANDOM_H_
#define RULES_DNN_RUNTIME_DNN_RANDOM_H_

#include <stdint.h>

#include "runtime/dnn_elements.h"

namespace dnn_random {

// Computes block `block` of Philox4x32-10.
static inline void Words(int64_t block, int64_t iteration, int64_t stream, int64_t seed,
                         uint32_t w[4]) {
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)iteration;
  uint32_t c2 = (uint32_t)((uint64_t)iteration >> 32), c3 = (uint32_t)stream;
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)((uint64_t)seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)b;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
}

// Multiplies two numbers with 31 fraction bits; kOne is 1.
constexpr int64_t kOne = (int64_t)1 << 31;
static inline int64_t Times(int64_t a, int64_t b) { return (a * b) >> 31; }

// Returns -2 log((w + 1/2) / 2^32).
static inline int64_t TwiceLog(uint32_t w) {
  constexpr int64_t kTwo32 = (int64_t)1 << 32, kRootOf2 = 6074000999;
  constexpr int64_t kSeries[] = {195225786, 238609294, 306783378, 429496730, 715827883, kOne};
  const uint64_t m = ((uint64_t)w << 1) | 1;
  int64_t e = 64 - __builtin_clzll(m);
  int64_t x = (int64_t)(m << (33 - e));
  if (x > kRootOf2) x >>= 1, ++e;
  const int64_t s = (x - kTwo32) * ((int64_t)1 << 29) / ((x + kTwo32) >> 2);
  const int64_t z = Times(s, s);
  int64_t p = 165191050;
  for (int64_t c : kSeries) p = Times(p, z) + c;
  const int64_t y = -2 * ((e - 34) * 1488522236 + 2 * Times(s, p));
  return y > 0 ? y : 0;
}

// Computes the sine and cosine of turn / 2^32 of a full turn.
static inline void SinCos(uint32_t turn, int64_t* sine, int64_t* cosine) {
  constexpr int64_t kSine[] = {19522579, 29826162, 51130563, 107374182, 357913941};
  constexpr int64_t kCosine[] = {16268816, 23860929, 38347922, 71582788, 178956971, kOne / 2};
  const uint32_t quarter = (turn + (1u << 29)) >> 30;
  const int64_t a = ((int64_t)(int32_t)(turn - (quarter << 30)) * 1686629713) >> 29;
  const int64_t z = Times(a, a);
  int64_t s = kOne, c = kOne;
  for (int64_t k : kSine) s = kOne - Times(Times(z, k), s);
  for (int64_t k : kCosine) c = kOne - Times(Times(z, k), c);
  s = Times(a, s);
  const bool swapped = quarter & 1;
  const int64_t p = swapped ? c : s, q = swapped ? -s : c;
  *sine = quarter & 2 ? -p : p;
  *cosine = quarter & 2 ? -q : q;
}

// Returns the integer part of a square root.
static inline int64_t Root(uint64_t x) {
  uint64_t r = 0;
  for (uint64_t bit = (uint64_t)1 << 31; bit > 0; bit >>= 1) {
    const uint64_t t = r | bit;
    if (t * t <= x) r = t;
  }
  return (int64_t)r;
}

// Computes two numbers of the normal distribution. The root has 28 fraction bits, and the products
// have 59.
static inline void Normals(uint32_t length, uint32_t turn, float* x, float* y) {
  const int64_t r = Root((uint64_t)TwiceLog(length) << 25);
  int64_t s, c;
  SinCos(turn, &s, &c);
  *x = (float)(r * c) / 576460752303423488.0f;
  *y = (float)(r * s) / 576460752303423488.0f;
}

// Converts an argument's bits to a float.
static inline float Number(int64_t bits) {
  const uint32_t b = (uint32_t)bits;
  float x;
  __builtin_memcpy(&x, &b, sizeof x);
  return x;
}

static inline float Uniform(uint32_t w) { return (float)(w >> 8) / 16777216.0f; }

}  // namespace dnn_random

namespace dnn_opaque {

// Writes n numbers a + b * x, where x has a normal distribution or is uniform in [0, 1).
template <class E>
static void Random(const int64_t* seed, const int64_t* iteration, typename E::Stored* y, int64_t n,
                   bool normal, int64_t a, int64_t b, int64_t stream, int*) {
  const double from = (double)dnn_random::Number(a), by = (double)dnn_random::Number(b);
  const int64_t pass = iteration == nullptr ? 0 : *iteration;
  for (int64_t i = 0; i < n; i += 4) {
    uint32_t w[4];
    dnn_random::Words(i / 4, pass, stream, *seed, w);
    for (int64_t k = 0; k < 4 && i + k < n; k += 2) {
      float x[2] = {dnn_random::Uniform(w[k]), dnn_random::Uniform(w[k + 1])};
      if (normal) dnn_random::Normals(w[k], w[k + 1], &x[0], &x[1]);
      for (int64_t h = 0; h < 2 && i + k + h < n; ++h) {
        const float v = (float)((double)x[h] * by + from);  // the product is exact
        y[i + k + h] = E::stored((typename E::Number)v);
      }
    }
  }
}

}  // namespace dnn_opaque

#endif  // RULES_DNN_RUNTIME_DNN_RANDOM_H_
