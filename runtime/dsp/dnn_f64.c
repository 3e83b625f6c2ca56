// The functions of dnn_f64.h that are sums of series, as in the compiler
// (gen/ir/scalar/float64.go).
#include "runtime/dsp/dnn_f64.h"

#include <stdbool.h>
#include <stdint.h>

#include "runtime/dsp/dnn_wide.h"

// If |x| > kOutside, e^x is infinite or 0. If |x| < kTiny, odd functions whose series begins with x
// are x. If |x| < kLeast, so are other functions whose series begins with x.
static const double kOutside = 750, kTiny = 0x1p-28, kLeast = 0x1p-60;

static double Nan(void) { return __builtin_nan(""); }

static double Infinity(void) { return __builtin_inf(); }

static double Magnitude(double x) { return __builtin_fabs(x); }

static double Signed(double magnitude, double x) { return __builtin_copysign(magnitude, x); }

static bool Special(double x) { return !(Magnitude(x) < Infinity()); }

static double Nearest(dnn_wide a) { return dnn_wide_nearest(&a); }

static dnn_wide One(void) { return dnn_wide_int(1); }

static dnn_wide HalfPi(void) { return dnn_wide_shifted(dnn_wide_pi(), -1); }

double dnn_f64_exp(double x) {
  if (x != x) return x;
  if (x > kOutside) return Infinity();
  if (x < -kOutside) return 0;
  return Nearest(dnn_wide_exp(dnn_wide_of(x)));
}

double dnn_f64_expm1(double x) {
  if (x != x || Magnitude(x) < kLeast) return x;
  if (x > kOutside) return Infinity();
  if (x < -kOutside) return -1;
  return Nearest(dnn_wide_minus(dnn_wide_exp(dnn_wide_of(x)), One()));
}

double dnn_f64_log(double x) {
  if (x < 0) return Nan();
  if (x == 0) return -Infinity();
  if (Special(x)) return x;
  return Nearest(dnn_wide_log(dnn_wide_of(x)));
}

double dnn_f64_log1p(double x) {
  if (x < -1) return Nan();
  if (x == -1) return -Infinity();
  if (Special(x) || Magnitude(x) < kLeast) return x;
  return Nearest(dnn_wide_log(dnn_wide_plus(dnn_wide_of(x), One())));
}

double dnn_f64_erf(double x) {
  if (x != x || x == 0) return x;
  if (Magnitude(x) > 6) return Signed(1, x);
  return Nearest(dnn_wide_erf(dnn_wide_of(x)));
}

// Returns the sine of n quarter turns plus rest.
static dnn_wide Turned(uint32_t n, dnn_wide rest) {
  const dnn_wide s = n & 1 ? dnn_wide_cos(rest) : dnn_wide_sin(rest);
  return n & 2 ? dnn_wide_neg(s) : s;
}

static uint32_t Quarters(double x, dnn_wide* rest) {
  if (Magnitude(x) >= kTiny) return dnn_wide_quarters(x, rest);
  *rest = dnn_wide_of(x);
  return 0;
}

double dnn_f64_sin(double x) {
  if (Special(x)) return Nan();
  if (Magnitude(x) < kTiny) return x;
  dnn_wide rest;
  const uint32_t n = Quarters(x, &rest);
  return Nearest(Turned(n, rest));
}

double dnn_f64_cos(double x) {
  if (Special(x)) return Nan();
  dnn_wide rest;
  const uint32_t n = Quarters(x, &rest);
  return Nearest(Turned(n + 1, rest));
}

double dnn_f64_tan(double x) {
  if (Special(x)) return Nan();
  if (Magnitude(x) < kTiny) return x;
  dnn_wide rest;
  const uint32_t n = Quarters(x, &rest);
  return Nearest(dnn_wide_over(Turned(n, rest), Turned(n + 1, rest)));
}

double dnn_f64_asin(double x) {
  const double a = Magnitude(x);
  if (x != x || a > 1) return Nan();
  if (a < kTiny) return x;
  if (a == 1) return Signed(Nearest(HalfPi()), x);
  const dnn_wide w = dnn_wide_of(x), one = One();
  const dnn_wide square = dnn_wide_times(dnn_wide_minus(one, w), dnn_wide_plus(one, w));
  return Nearest(dnn_wide_atan(dnn_wide_over(w, dnn_wide_sqrt(square))));
}

double dnn_f64_acos(double x) {
  if (x != x || Magnitude(x) > 1) return Nan();
  if (x == -1) return Nearest(dnn_wide_pi());
  const dnn_wide w = dnn_wide_of(x), one = One();
  const dnn_wide square = dnn_wide_over(dnn_wide_minus(one, w), dnn_wide_plus(one, w));
  return Nearest(dnn_wide_shifted(dnn_wide_atan(dnn_wide_sqrt(square)), 1));
}

double dnn_f64_atan(double x) {
  if (x != x || Magnitude(x) < kTiny) return x;
  if (Special(x)) return Signed(Nearest(HalfPi()), x);
  return Nearest(dnn_wide_atan(dnn_wide_of(x)));
}

double dnn_f64_sinh(double x) {
  if (Special(x) || Magnitude(x) < kTiny) return x;
  if (Magnitude(x) > kOutside) return Signed(Infinity(), x);
  const dnn_wide e = dnn_wide_exp(dnn_wide_of(x));
  return Nearest(dnn_wide_shifted(dnn_wide_minus(e, dnn_wide_over(One(), e)), -1));
}

double dnn_f64_cosh(double x) {
  if (x != x) return x;
  if (Magnitude(x) > kOutside) return Infinity();
  const dnn_wide e = dnn_wide_exp(dnn_wide_of(x));
  return Nearest(dnn_wide_shifted(dnn_wide_plus(e, dnn_wide_over(One(), e)), -1));
}

double dnn_f64_tanh(double x) {
  if (x != x || Magnitude(x) < kTiny) return x;
  if (Magnitude(x) > 40) return Signed(1, x);
  const dnn_wide e = dnn_wide_exp(dnn_wide_shifted(dnn_wide_of(x), 1)), one = One();
  return Nearest(dnn_wide_over(dnn_wide_minus(e, one), dnn_wide_plus(e, one)));
}

double dnn_f64_asinh(double x) {
  if (Special(x) || Magnitude(x) < kTiny) return x;
  const dnn_wide w = dnn_wide_of(Magnitude(x));
  const dnn_wide root = dnn_wide_sqrt(dnn_wide_plus(dnn_wide_times(w, w), One()));
  return Signed(Nearest(dnn_wide_log(dnn_wide_plus(w, root))), x);
}

double dnn_f64_acosh(double x) {
  if (x < 1) return Nan();
  if (Special(x)) return x;
  const dnn_wide w = dnn_wide_of(x), one = One();
  const dnn_wide square = dnn_wide_times(dnn_wide_minus(w, one), dnn_wide_plus(w, one));
  return Nearest(dnn_wide_log(dnn_wide_plus(w, dnn_wide_sqrt(square))));
}

double dnn_f64_atanh(double x) {
  const double a = Magnitude(x);
  if (x != x || a > 1) return Nan();
  if (a < kTiny) return x;
  if (a == 1) return Signed(Infinity(), x);
  const dnn_wide w = dnn_wide_of(x), one = One();
  const dnn_wide ratio = dnn_wide_over(dnn_wide_plus(one, w), dnn_wide_minus(one, w));
  return Nearest(dnn_wide_shifted(dnn_wide_log(ratio), -1));
}

// Returns e^(y log a), for a finite y and a positive a.
static double Power(double a, double y) {
  const dnn_wide t = dnn_wide_times(dnn_wide_log(dnn_wide_of(a)), dnn_wide_of(y));
  const double n = dnn_wide_nearest(&t);
  if (n > kOutside) return Infinity();
  if (n < -kOutside) return 0;
  return Nearest(dnn_wide_exp(t));
}

double dnn_f64_pow(double x, double y) {
  const bool whole = dnn_f64_floor(y) == y;
  const bool odd = whole && Magnitude(y) < 0x1p53 && ((int64_t)y & 1) != 0;
  const double a = Magnitude(x);
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return Nan();
  if (x < 0 && !whole && !Special(x)) return Nan();
  double r = 0;
  if (a == 1) {
    r = 1;
  } else if (a == 0 || Special(a) || Special(y)) {
    if ((a > 1) == (y > 0)) r = Infinity();
  } else {
    r = Power(a, y);
  }
  return odd ? Signed(r, x) : r;
}
