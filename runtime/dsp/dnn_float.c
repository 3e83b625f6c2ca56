// Floating point for which Hexagon has no instruction, correctly rounded. As in dnn_builtins.c a program's own go before.
#include <stdint.h>

#include "runtime/dsp/dnn_dsp.h"

static uint64_t Bits(double x) {
  uint64_t u;
  __builtin_memcpy(&u, &x, sizeof(u));
  return u;
}

static double FromBits(uint64_t u) {
  double x;
  __builtin_memcpy(&x, &u, sizeof(x));
  return x;
}

static const uint64_t kSign = UINT64_C(1) << 63;
static const uint64_t kHidden = UINT64_C(1) << 52;
static const uint64_t kInfinity = UINT64_C(0x7ff) << 52;
static const uint64_t kNan = UINT64_C(0x7ff8) << 48;

static int Length(uint64_t m) { return 64 - __builtin_clzll(m); }

// Rounded is m * 2^e, m not 0; m's last bit may stand for what is less than it.
static double Rounded(uint64_t sign, uint64_t m, int e) {
  int lsb = e + Length(m) - 53;
  if (lsb < -1074) lsb = -1074;
  const int drop = lsb - e;
  if (drop <= 0) {
    m <<= -drop;
  } else if (drop > 63) {
    m = 0;
  } else {
    const uint64_t rest = m & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
    m >>= drop;
    if (rest > half || (rest == half && (m & 1))) ++m;
  }
  if (m >> 53) {
    m >>= 1;
    ++lsb;
  }
  if (!(m & kHidden)) return FromBits(sign | m);
  if (lsb + 1075 >= 2047) return FromBits(sign | kInfinity);
  return FromBits(sign | (uint64_t)(lsb + 1075) << 52 | (m & (kHidden - 1)));
}

// Split gives the mantissa of a finite number that is not 0, with 53 bits, and its exponent.
static uint64_t Split(uint64_t u, int* e) {
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

DNN_DSP_WEAK double __hexagon_divdf3(double x, double y);
double __hexagon_divdf3(double x, double y) {
  const uint64_t sign = (Bits(x) ^ Bits(y)) & kSign, a = Bits(x) & ~kSign, b = Bits(y) & ~kSign;
  if (a > kInfinity || b > kInfinity || (a == b && (a == 0 || a == kInfinity)))
    return FromBits(kNan);
  if (a == kInfinity || b == 0) return FromBits(sign | kInfinity);
  if (a == 0 || b == kInfinity) return FromBits(sign);
  int ea, eb;
  uint64_t r = Split(a, &ea);
  const uint64_t d = Split(b, &eb);
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
  return Rounded(sign, q | (r != 0), ea - eb - 62);
}

DNN_DSP_WEAK float __hexagon_sqrtf(float x);
float __hexagon_sqrtf(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, sizeof(u));
  if (x == 0 || u == 0x7f800000u || x != x) return x;
  if (u >> 31) return __builtin_nanf("");
  int e;
  uint64_t m = Split(Bits((double)x), &e);  // 53 bits, of which the last 29 are 0
  m = (e & 1) ? m << 1 : m;
  e = (e & 1) ? e - 1 : e;
  uint64_t q = 0;
  for (int bit = 26; bit >= 0; --bit) {
    const uint64_t next = q | UINT64_C(1) << bit;
    if (next * next <= m) q = next;
  }
  return (float)Rounded(0, q << 1 | (q * q != m), e / 2 - 1);
}

DNN_DSP_WEAK double floor(double x);
double floor(double x) {
  const int e = (int)(Bits(x) >> 52 & 0x7ff) - 1023;
  if (e >= 52) return x;
  if (e < 0) return x >= 0 ? FromBits(Bits(x) & kSign) : -1.0;
  const uint64_t fraction = (kHidden - 1) >> e;
  const double whole = FromBits(Bits(x) & ~fraction);
  return whole > x ? whole - 1 : whole;
}

DNN_DSP_WEAK double fmod(double x, double y);
double fmod(double x, double y) {
  const uint64_t sign = Bits(x) & kSign, a = Bits(x) & ~kSign, b = Bits(y) & ~kSign;
  if (a >= kInfinity || b > kInfinity || b == 0) return FromBits(kNan);
  if (a < b) return x;
  int ea, eb;
  uint64_t r = Split(a, &ea);
  const uint64_t d = Split(b, &eb);
  for (;; --ea) {
    if (r >= d) r -= d;
    if (ea == eb) break;
    r <<= 1;
  }
  return r == 0 ? FromBits(sign) : Rounded(sign, r, eb);
}
