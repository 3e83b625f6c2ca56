// Functions of dnn_wide.h, as sums of series.
#include "runtime/dsp/dnn_bits.h"
#include "runtime/dsp/dnn_wide.h"

enum { kBits = 32 * kDnnLimbs };

static const dnn_wide kPi = {{UINT32_C(0x8a67cc74), UINT32_C(0x29024e08), UINT32_C(0x80dc1cd1),
                              UINT32_C(0xc4c6628b), UINT32_C(0x2168c234), UINT32_C(0xc90fdaa2)},
                             2,
                             false};

static const dnn_wide kLn2 = {{UINT32_C(0x7298b62d), UINT32_C(0x40f34326), UINT32_C(0x03f2f6af),
                               UINT32_C(0xc9e3b398), UINT32_C(0xd1cf79ab), UINT32_C(0xb17217f7)},
                              0,
                              false};

// The fraction bits of 2/pi.
static const uint32_t kTwoOverPi[] = {
    0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
    0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
    0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu,
    0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u,
    0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u,
    0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du, 0xa9e39161u, 0x5ee61b08u};

dnn_wide dnn_wide_pi(void) { return kPi; }

// Reports whether a term is too small to change the sum.
static bool Ends(const dnn_wide* term, const dnn_wide* sum) {
  return dnn_wide_zero(term) || term->e < sum->e - kBits;
}

// Returns the sum of sign^k s^(2k+1) / (2k+1): the hyperbolic inverse tangent of a small s, or the
// circular one if `negative`.
static dnn_wide OddPowers(dnn_wide s, bool negative) {
  dnn_wide square = dnn_wide_times(s, s), power = s, sum = s;
  if (negative) square = dnn_wide_neg(square);
  for (uint32_t k = 3;; k += 2) {
    power = dnn_wide_times(power, square);
    const dnn_wide term = dnn_wide_over_int(power, k);
    if (Ends(&term, &sum)) return sum;
    sum = dnn_wide_plus(sum, term);
  }
}

dnn_wide dnn_wide_log(dnn_wide a) {
  int32_t e = a.e;
  a.e = 0;                                          // from 1/2 to 1
  if (a.m[kDnnLimbs - 1] < UINT32_C(0xb3333333)) {  // 0.7
    a.e = 1;
    --e;
  }
  const dnn_wide one = dnn_wide_int(1);
  const dnn_wide s = dnn_wide_over(dnn_wide_minus(a, one), dnn_wide_plus(a, one));
  return dnn_wide_plus(dnn_wide_shifted(OddPowers(s, false), 1),
                       dnn_wide_times(dnn_wide_int(e), kLn2));
}

// Returns the integer part of a number below 2^31.
static int32_t Whole(const dnn_wide* a) {
  if (a->e <= 0) return 0;
  const int32_t n = (int32_t)(a->m[kDnnLimbs - 1] >> (32 - a->e));
  return a->negative ? -n : n;
}

dnn_wide dnn_wide_exp(dnn_wide a) {
  enum { kSquarings = 8 };
  if (dnn_wide_zero(&a)) return dnn_wide_int(1);
  const dnn_wide times = dnn_wide_over(a, kLn2);
  const int32_t n = Whole(&times);
  const dnn_wide r =
      dnn_wide_shifted(dnn_wide_minus(a, dnn_wide_times(dnn_wide_int(n), kLn2)), -kSquarings);
  dnn_wide sum = dnn_wide_int(1), term = sum;
  for (uint32_t k = 1;; ++k) {
    term = dnn_wide_over_int(dnn_wide_times(term, r), k);
    if (Ends(&term, &sum)) break;
    sum = dnn_wide_plus(sum, term);
  }
  for (int i = 0; i < kSquarings; ++i) sum = dnn_wide_times(sum, sum);
  return dnn_wide_shifted(sum, n);
}

// Returns a^k / k! - a^(k+2) / (k+2)! + ..., for k = 0 or 1.
static dnn_wide Alternating(dnn_wide a, uint32_t k) {
  const dnn_wide square = dnn_wide_neg(dnn_wide_times(a, a));
  dnn_wide term = k == 0 ? dnn_wide_int(1) : a, sum = term;
  for (;; k += 2) {
    term = dnn_wide_over_int(dnn_wide_times(term, square), (k + 1) * (k + 2));
    if (Ends(&term, &sum)) return sum;
    sum = dnn_wide_plus(sum, term);
  }
}

dnn_wide dnn_wide_sin(dnn_wide a) { return Alternating(a, 1); }

dnn_wide dnn_wide_cos(dnn_wide a) { return Alternating(a, 0); }

// Halves the angle until the series converges quickly.
dnn_wide dnn_wide_atan(dnn_wide a) {
  enum { kHalvings = 3 };
  const dnn_wide one = dnn_wide_int(1);
  const bool negative = a.negative, large = a.e > 1;  // 2 or more
  if (dnn_wide_zero(&a)) return a;
  a.negative = false;
  if (large) a = dnn_wide_over(one, a);
  for (int i = 0; i < kHalvings; ++i) {
    const dnn_wide root = dnn_wide_sqrt(dnn_wide_plus(one, dnn_wide_times(a, a)));
    a = dnn_wide_over(a, dnn_wide_plus(one, root));
  }
  a = dnn_wide_shifted(OddPowers(a, true), kHalvings);
  if (large) a = dnn_wide_minus(dnn_wide_shifted(kPi, -1), a);
  return negative ? dnn_wide_neg(a) : a;
}

// Computes 2/sqrt(pi) e^(-x^2) (x + x (2x^2)/3 + x (2x^2)^2/(3*5) + ...).
dnn_wide dnn_wide_erf(dnn_wide a) {
  const dnn_wide square = dnn_wide_times(a, a);
  dnn_wide term = a, sum = a;
  for (uint32_t k = 1;; ++k) {
    term = dnn_wide_over_int(dnn_wide_times(term, dnn_wide_shifted(square, 1)), 2 * k + 1);
    if (Ends(&term, &sum)) break;
    sum = dnn_wide_plus(sum, term);
  }
  sum = dnn_wide_times(dnn_wide_shifted(sum, 1), dnn_wide_exp(dnn_wide_neg(square)));
  return dnn_wide_over(sum, dnn_wide_sqrt(kPi));
}

// For x = m 2^k it computes only the relevant bits of x * 2/pi: it drops multiples of four turns,
// and keeps enough fraction bits.
uint32_t dnn_wide_quarters(double x, dnn_wide* rest) {
  enum { kTaken = 11, kProduct = kTaken + 2 };
  const uint64_t u = dnn_bits(x);
  int k;
  const uint64_t m = dnn_split(u << 1 >> 1, &k);
  const int first = k > 2 ? (k - 2) / 32 : 0;
  uint32_t p[kProduct] = {0};  // times 2^(k - 32 (first + kTaken))
  for (int part = 0; part < 2; ++part) {
    uint64_t carry = 0;
    for (int i = 0; i < kTaken; ++i) {
      carry += (m >> 32 * part & UINT32_MAX) * kTwoOverPi[first + kTaken - 1 - i] + p[i + part];
      p[i + part] = (uint32_t)carry;
      carry >>= 32;
    }
    p[kTaken + part] += (uint32_t)carry;
  }
  const int point = 32 * (first + kTaken) - k;  // number of fraction bits
  uint32_t n = 0;
  for (int bit = 1; bit >= 0; --bit) {
    const int at = point + bit;
    n = n << 1 | (at < 32 * kProduct ? p[at / 32] >> (at % 32) & 1 : 0);
  }
  for (int i = 0; i < kProduct; ++i) {  // drop the bits before the binary point
    if (32 * i >= point) {
      p[i] = 0;
    } else if (32 * (i + 1) > point) {
      p[i] &= (UINT32_C(1) << (point % 32)) - 1;
    }
  }
  dnn_wide turns = dnn_wide_int(0);
  for (int i = kProduct; i-- > 0;) {
    turns = dnn_wide_plus(turns, dnn_wide_shifted(dnn_wide_int(p[i]), 32 * i - point));
  }
  if (turns.e == 0 && !dnn_wide_zero(&turns)) {  // a half or more: round up
    turns = dnn_wide_minus(turns, dnn_wide_int(1));
    ++n;
  }
  *rest = dnn_wide_times(turns, dnn_wide_shifted(kPi, -1));
  if (u >> 63 != 0) {
    *rest = dnn_wide_neg(*rest);
    n = 0 - n;
  }
  return n & 3;
}
