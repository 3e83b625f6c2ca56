// The functions of dnn_f64.h that are exact, or need one rounding.
#include <stdint.h>

#include "runtime/dsp/dnn_bits.h"
#include "runtime/dsp/dnn_f64.h"
#include "runtime/dsp/dnn_wide.h"

// Rounds towards 0.
double dnn_f64_trunc(double x) {
  const int e = (int)(dnn_bits(x) >> 52 & 0x7ff) - 1023;
  if (e >= 52) return x;
  if (e < 0) return dnn_from_bits(dnn_bits(x) & kDnnSign);
  return dnn_from_bits(dnn_bits(x) & ~(((UINT64_C(1) << 52) - 1) >> e));
}

double dnn_f64_floor(double x) {
  const double whole = dnn_f64_trunc(x);
  return whole > x ? whole - 1 : whole;
}

// The result for -1 < x < 0 is -0.
double dnn_f64_ceil(double x) {
  const double whole = dnn_f64_trunc(x);
  return whole < x ? dnn_from_bits(dnn_bits(whole + 1) | (dnn_bits(x) & kDnnSign)) : whole;
}

// Rounds to nearest, half to even.
double dnn_f64_rint(double x) {
  const double whole = dnn_f64_trunc(x), rest = x - whole;
  const double away = dnn_from_bits((dnn_bits(x) & kDnnSign) | dnn_bits(1.0));
  const double magnitude = dnn_from_bits(dnn_bits(rest) & ~kDnnSign);
  if (magnitude < 0.5) return whole;
  if (magnitude > 0.5) return whole + away;
  if (!(magnitude == 0.5)) return x;  // NaN
  const double half = whole * 0.5;
  return dnn_f64_trunc(half) == half ? whole : whole + away;
}

double dnn_f64_fmod(double x, double y) {
  const uint64_t sign = dnn_bits(x) & kDnnSign, a = dnn_bits(x) & ~kDnnSign,
                 b = dnn_bits(y) & ~kDnnSign;
  if (a >= kDnnInfinity || b > kDnnInfinity || b == 0) return dnn_from_bits(kDnnNan);
  if (a < b) return x;
  int ea, eb;
  uint64_t r = dnn_split(a, &ea);
  const uint64_t d = dnn_split(b, &eb);
  for (;; --ea) {
    if (r >= d) r -= d;
    if (ea == eb) break;
    r <<= 1;
  }
  return r == 0 ? dnn_from_bits(sign) : dnn_rounded(sign, r, eb);
}

// Each step takes two bits of the number and produces one bit of the root.
double dnn_f64_sqrt(double x) {
  const uint64_t u = dnn_bits(x);
  if (x == 0 || u == kDnnInfinity || x != x) return x;
  if (u >> 63) return dnn_from_bits(kDnnNan);
  int e;
  uint64_t m = dnn_split(u, &e), root = 0, rest = 0;
  const int shift = e & 1 ? 11 : 10;  // moves the first pair of bits to the top; makes e even
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
