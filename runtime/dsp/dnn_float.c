// Floating-point operations without an instruction on Hexagon, correctly rounded. As in
// dnn_builtins.c, a program's own functions override them.
#include <stdint.h>

#include "runtime/dsp/dnn_bits.h"
#include "runtime/dsp/dnn_dsp.h"
#include "runtime/dsp/dnn_wide.h"

static const uint64_t kHidden = UINT64_C(1) << 52;

static int Length(uint64_t m) { return 64 - __builtin_clzll(m); }

double dnn_rounded(uint64_t sign, uint64_t m, int e) {
  int lsb = e + Length(m) - 53;
  if (lsb < -1074) lsb = -1074;
  const int drop = lsb - e;
  if (drop <= 0) {
    m <<= -drop;
  } else if (drop > 63) {  // the result depends only on whether it is more than half of the least
    m = drop == 64 && m > UINT64_C(1) << 63;
  } else {
    const uint64_t rest = m & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
    m >>= drop;
    if (rest > half || (rest == half && (m & 1))) ++m;
  }
  if (m >> 53) {
    m >>= 1;
    ++lsb;
  }
  if (!(m & kHidden)) return dnn_from_bits(sign | m);
  if (lsb + 1075 >= 2047) return dnn_from_bits(sign | kDnnInfinity);
  return dnn_from_bits(sign | (uint64_t)(lsb + 1075) << 52 | (m & (kHidden - 1)));
}

uint64_t dnn_split(uint64_t u, int* e) {
  const int biased = (int)(u >> 52 & 0x7ff);
  uint64_t m = u & (kHidden - 1);
  *e = -1074;
  if (biased > 0) {
    m |= kHidden;
    *e = biased - 1075;
  }
  const int shift = 53 - Length(m);
  *e -= shift;
  return m << shift;
}

// Needed before v67.
DNN_DSP_WEAK double __hexagon_muldf3(double x, double y);
double __hexagon_muldf3(double x, double y) {
  const uint64_t sign = (dnn_bits(x) ^ dnn_bits(y)) & kDnnSign, a = dnn_bits(x) & ~kDnnSign,
                 b = dnn_bits(y) & ~kDnnSign;
  if (a > kDnnInfinity || b > kDnnInfinity) return dnn_from_bits(kDnnNan);
  if (a == kDnnInfinity || b == kDnnInfinity)
    return dnn_from_bits(a == 0 || b == 0 ? kDnnNan : sign | kDnnInfinity);
  if (a == 0 || b == 0) return dnn_from_bits(sign);
  int ea, eb;
  const uint64_t p = dnn_split(a, &ea), q = dnn_split(b, &eb);  // 53 bits each; the product has 106
  const uint64_t p0 = (uint32_t)p, p1 = p >> 32, q0 = (uint32_t)q, q1 = q >> 32;
  const uint64_t middle = p1 * q0 + p0 * q1 + (p0 * q0 >> 32);  // below 2^54
  const uint64_t low = middle << 32 | (uint32_t)(p0 * q0);
  const uint64_t high = p1 * q1 + (middle >> 32);
  return dnn_rounded(sign, high << 22 | low >> 42 | ((low & ((UINT64_C(1) << 42) - 1)) != 0),
                     ea + eb + 42);
}

DNN_DSP_WEAK double __hexagon_divdf3(double x, double y);
double __hexagon_divdf3(double x, double y) {
  const uint64_t sign = (dnn_bits(x) ^ dnn_bits(y)) & kDnnSign, a = dnn_bits(x) & ~kDnnSign,
                 b = dnn_bits(y) & ~kDnnSign;
  if (a > kDnnInfinity || b > kDnnInfinity || (a == b && (a == 0 || a == kDnnInfinity)))
    return dnn_from_bits(kDnnNan);
  if (a == kDnnInfinity || b == 0) return dnn_from_bits(sign | kDnnInfinity);
  if (a == 0 || b == kDnnInfinity) return dnn_from_bits(sign);
  int ea, eb;
  uint64_t r = dnn_split(a, &ea);
  const uint64_t d = dnn_split(b, &eb);
  uint64_t q = r >= d;
  if (q) r -= d;
  for (int i = 0; i < 62; ++i) {
    r <<= 1;
    q <<= 1;
    if (r >= d) {
      r -= d;
      q |= 1;
    }
  }
  return dnn_rounded(sign, q | (r != 0), ea - eb - 62);
}

DNN_DSP_WEAK float __hexagon_sqrtf(float x);
float __hexagon_sqrtf(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, sizeof(u));
  if (x == 0 || u == 0x7f800000u || x != x) return x;
  if (u >> 31) return __builtin_nanf("");
  int e;
  uint64_t m = dnn_split(dnn_bits((double)x), &e);  // 53 bits; the last 29 are 0
  m = (e & 1) ? m << 1 : m;
  e = (e & 1) ? e - 1 : e;
  uint64_t q = 0;
  for (int bit = 26; bit >= 0; --bit) {
    const uint64_t next = q | UINT64_C(1) << bit;
    if (next * next <= m) q = next;
  }
  return (float)dnn_rounded(0, q << 1 | (q * q != m), e / 2 - 1);
}
