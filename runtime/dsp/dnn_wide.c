// Arithmetic of dnn_wide.h.
#include "runtime/dsp/dnn_wide.h"

#include "runtime/dsp/dnn_bits.h"

static const dnn_wide kZero = {{0}, 0, false};

bool dnn_wide_zero(const dnn_wide* a) { return a->m[kDnnLimbs - 1] == 0; }

// Shifts limbs to the left by less than 32 bits.
static void Left(uint32_t* m, int limbs, int n) {
  if (n == 0) return;
  for (int i = limbs - 1; i > 0; --i) m[i] = m[i] << n | m[i - 1] >> (32 - n);
  m[0] <<= n;
}

// Shifts limbs to the right and drops the bits that are shifted out.
static void Right(uint32_t* m, int32_t n) {
  const int whole = n / 32, rest = n % 32;
  for (int i = 0; i < kDnnLimbs; ++i) {
    const uint32_t low = i + whole < kDnnLimbs ? m[i + whole] : 0;
    const uint32_t high = i + whole + 1 < kDnnLimbs ? m[i + whole + 1] : 0;
    m[i] = (uint32_t)(((uint64_t)high << 32 | low) >> rest);
  }
}

// Normalizes the fraction 0.m with the given number of limbs, times 2^e.
static dnn_wide Normal(uint32_t* m, int limbs, int32_t e, bool negative) {
  int top = limbs - 1;
  while (top >= 0 && m[top] == 0) --top;
  if (top < 0) return kZero;
  const int n = __builtin_clz(m[top]);
  Left(m, top + 1, n);
  dnn_wide out = {{0}, e - 32 * (limbs - 1 - top) - n, negative};
  for (int i = 0; i < kDnnLimbs && i <= top; ++i) out.m[kDnnLimbs - 1 - i] = m[top - i];
  return out;
}

static dnn_wide OfInteger(uint64_t magnitude, bool negative) {
  uint32_t m[2] = {(uint32_t)magnitude, (uint32_t)(magnitude >> 32)};
  return Normal(m, 2, 64, negative);
}

dnn_wide dnn_wide_int(int64_t n) { return OfInteger(n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0); }

dnn_wide dnn_wide_of(double x) {
  const uint64_t u = dnn_bits(x);
  const uint64_t magnitude = u << 1 >> 1;
  if (magnitude == 0) return kZero;
  int e;
  const uint64_t m = dnn_split(magnitude, &e);
  return dnn_wide_shifted(OfInteger(m, u >> 63 != 0), e);
}

double dnn_wide_nearest(const dnn_wide* a) {
  if (dnn_wide_zero(a)) return 0;
  uint64_t m = (uint64_t)a->m[kDnnLimbs - 1] << 32 | a->m[kDnnLimbs - 2];
  for (int i = 0; i < kDnnLimbs - 2; ++i) m |= a->m[i] != 0;
  return dnn_rounded((uint64_t)a->negative << 63, m, a->e - 64);
}

dnn_wide dnn_wide_neg(dnn_wide a) {
  a.negative = !a.negative;
  return a;
}

dnn_wide dnn_wide_shifted(dnn_wide a, int32_t n) {
  if (!dnn_wide_zero(&a)) a.e += n;
  return a;
}

static bool Less(const uint32_t* a, const uint32_t* b) {
  for (int i = kDnnLimbs; i-- > 0;) {
    if (a[i] != b[i]) return a[i] < b[i];
  }
  return false;
}

static void Subtract(uint32_t* a, const uint32_t* b) {
  uint64_t borrow = 0;
  for (int i = 0; i < kDnnLimbs; ++i) {
    const uint64_t d = (uint64_t)a[i] - b[i] - borrow;
    a[i] = (uint32_t)d;
    borrow = d >> 63;
  }
}

// Adds magnitudes; a's exponent is at least b's.
static dnn_wide Add(dnn_wide a, const uint32_t* b) {
  uint32_t m[kDnnLimbs + 1];
  uint64_t carry = 0;
  for (int i = 0; i < kDnnLimbs; ++i) {
    carry += (uint64_t)a.m[i] + b[i];
    m[i] = (uint32_t)carry;
    carry >>= 32;
  }
  m[kDnnLimbs] = (uint32_t)carry;
  return Normal(m, kDnnLimbs + 1, a.e + 32, a.negative);
}

dnn_wide dnn_wide_plus(dnn_wide a, dnn_wide b) {
  if (dnn_wide_zero(&a)) return b;
  if (dnn_wide_zero(&b)) return a;
  if (a.e < b.e) {
    const dnn_wide t = a;
    a = b;
    b = t;
  }
  const int32_t apart = a.e - b.e;
  if (apart >= 32 * kDnnLimbs) return a;
  Right(b.m, apart);
  if (a.negative == b.negative) return Add(a, b.m);
  if (Less(a.m, b.m)) {  // both have the same exponent
    const dnn_wide t = a;
    a = b;
    b = t;
  }
  Subtract(a.m, b.m);
  return Normal(a.m, kDnnLimbs, a.e, a.negative);
}

dnn_wide dnn_wide_minus(dnn_wide a, dnn_wide b) { return dnn_wide_plus(a, dnn_wide_neg(b)); }

dnn_wide dnn_wide_times(dnn_wide a, dnn_wide b) {
  uint32_t m[2 * kDnnLimbs] = {0};
  for (int i = 0; i < kDnnLimbs; ++i) {
    uint64_t carry = 0;
    for (int k = 0; k < kDnnLimbs; ++k) {
      carry += (uint64_t)a.m[i] * b.m[k] + m[i + k];
      m[i + k] = (uint32_t)carry;
      carry >>= 32;
    }
    m[i + kDnnLimbs] = (uint32_t)carry;
  }
  return Normal(m, 2 * kDnnLimbs, a.e + b.e, a.negative != b.negative);
}

dnn_wide dnn_wide_over(dnn_wide a, dnn_wide b) {
  if (dnn_wide_zero(&a)) return a;
  dnn_wide q = {{0}, a.e - b.e + 1, a.negative != b.negative};
  bool more = false;  // the bit before a's first one
  if (Less(a.m, b.m)) {
    more = true;
    Left(a.m, kDnnLimbs, 1);
    --q.e;
  }
  for (int i = 32 * kDnnLimbs; i-- > 0;) {
    if (more || !Less(a.m, b.m)) {
      Subtract(a.m, b.m);
      q.m[i / 32] |= UINT32_C(1) << (i % 32);
    }
    more = a.m[kDnnLimbs - 1] >> 31 != 0;
    Left(a.m, kDnnLimbs, 1);
  }
  return q;
}

dnn_wide dnn_wide_over_int(dnn_wide a, uint32_t divisor) {
  uint32_t q[kDnnLimbs + 1];
  uint64_t rest = 0;
  for (int i = kDnnLimbs; i >= 0; --i) {
    rest = rest << 32 | (i > 0 ? a.m[i - 1] : 0);
    const uint64_t whole = rest / divisor;
    q[i] = (uint32_t)whole;
    rest -= whole * divisor;
  }
  return Normal(q, kDnnLimbs + 1, a.e, a.negative);
}

dnn_wide dnn_wide_sqrt(dnn_wide a) {
  if (dnn_wide_zero(&a)) return a;
  const int32_t half = (a.e - (a.e & 1)) / 2;
  a.e &= 1;
  dnn_wide root = dnn_wide_int(1);  // a is from 1/2 to 2: each step doubles the correct bits
  for (int i = 0; i < 8; ++i) {
    root = dnn_wide_shifted(dnn_wide_plus(root, dnn_wide_over(a, root)), -1);
  }
  return dnn_wide_shifted(root, half);
}
