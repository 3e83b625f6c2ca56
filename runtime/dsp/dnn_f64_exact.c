// Those of dnn_f64.h that are exact, or one rounding away.
#include <stdint.h>

#include "runtime/dsp/dnn_f64.h"
#include "runtime/dsp/dnn_wide.h"

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
static const uint64_t kInfinity = UINT64_C(0x7ff) << 52;
static const uint64_t kNan = UINT64_C(0x7ff8) << 48;

// The whole number next to x towards 0.
double dnn_f64_trunc(double x) {
  const int e = (int)(Bits(x) >> 52 & 0x7ff) - 1023;
  if (e >= 52) return x;
  if (e < 0) return FromBits(Bits(x) & kSign);
  return FromBits(Bits(x) & ~(((UINT64_C(1) << 52) - 1) >> e));
}

double dnn_f64_floor(double x) {
  const double whole = dnn_f64_trunc(x);
  return whole > x ? whole - 1 : whole;
}

// A negative fraction gives -0.
double dnn_f64_ceil(double x) {
  const double whole = dnn_f64_trunc(x);
  return whole < x ? FromBits(Bits(whole + 1) | (Bits(x) & kSign)) : whole;
}

// Of two whole numbers that are as near, the even one.
double dnn_f64_rint(double x) {
  const double whole = dnn_f64_trunc(x), rest = x - whole;
  const double away = FromBits((Bits(x) & kSign) | Bits(1.0));
  const double magnitude = FromBits(Bits(rest) & ~kSign);
  if (magnitude < 0.5) return whole;
  if (magnitude > 0.5) return whole + away;
  if (!(magnitude == 0.5)) return x;  // NaN
  const double half = whole * 0.5;
  return dnn_f64_trunc(half) == half ? whole : whole + away;
}

double dnn_f64_fmod(double x, double y) {
  const uint64_t sign = Bits(x) & kSign, a = Bits(x) & ~kSign, b = Bits(y) & ~kSign;
  if (a >= kInfinity || b > kInfinity || b == 0) return FromBits(kNan);
  if (a < b) return x;
  int ea, eb;
  uint64_t r = dnn_split(a, &ea);
  const uint64_t d = dnn_split(b, &eb);
  for (;; --ea) {
    if (r >= d) r -= d;
    if (ea == eb) break;
    r <<= 1;
  }
  return r == 0 ? FromBits(sign) : dnn_rounded(sign, r, eb);
}

// Two bits of the number a bit of the root.
double dnn_f64_sqrt(double x) {
  const uint64_t u = Bits(x);
  if (x == 0 || u == kInfinity || x != x) return x;
  if (u >> 63) return FromBits(kNan);
  int e;
  uint64_t m = dnn_split(u, &e), root = 0, rest = 0;
  const int shift =
      e & 1 ? 11 : 10;  // the first of its pairs of bits is on top, and the exponent even
  m <<= shift;
  e -= shift;
  for (int i = 0; i < 54; ++i) {
    rest = rest << 2 | m >> 62;
    m <<= 2;
    const uint64_t trial = root << 2 | 1;
    root <<= 1;
    if (rest >= trial) {
      rest -= trial;
      root |= 1;
    }
  }
  return dnn_rounded(0, root << 1 | (rest != 0), e / 2 - 23);
}
