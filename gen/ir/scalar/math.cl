// Scalar functions for kernels in OpenCL C 1.2: those of runtime/dnn_math.h, in the same sequence of
// operations, on floats and vectors of them.
//
// This is a text from which the printer takes the functions that a program uses (cl.go). Functions
// stand apart by an empty line, each after those that it calls. One whose name ends in _T exists for
// several types: T stands for the type, U for unsigned integers of T's shape (float4: uint4), and N
// for how many elements T has. An exact name (dnn_pow_float) comes before one of many types.

// Indices. dnn_index is an integer of 32 bits, or of 64 where a program needs them.
// Minima are the language's own: where a comparison subtracts a work-item's number from a symbol, as
// that of a ternary expression does, Intel's driver for processors (2026.2) inverts the guards of all
// kernels that stand after this one in the program.

static dnn_index dnn_min(dnn_index a, dnn_index b) { return min(a, b); }

static dnn_index dnn_max(dnn_index a, dnn_index b) { return max(a, b); }

static dnn_index dnn_bounded(long v, long lo, long hi, int* bad) {
  *bad |= v < lo || v > hi;
  return (dnn_index)(v < lo ? lo : v > hi ? hi : v);
}

static dnn_index dnn_floordiv(dnn_index a, dnn_index b) {
  if (b <= 0) return 0;
  return a / b - (a % b < 0);
}

static dnn_index dnn_floormod(dnn_index a, dnn_index b) {
  if (b <= 0) return 0;
  const dnn_index r = a % b;
  return r < 0 ? r + b : r;
}

// A lane of a texel.

static float dnn_lane(float4 v, dnn_index i) { return i < 2 ? (i < 1 ? v.s0 : v.s1) : (i < 3 ? v.s2 : v.s3); }

// Exact functions.

static T dnn_abs_T(T x) { return as_T(as_U(x) & 0x7fffffffu); }

static T dnn_with_sign_T(T r, T x) { return as_T(as_U(r) | (as_U(x) & 0x80000000u)); }

static T dnn_sign_T(T x) { return x > (T)(0) ? (T)(1) : x < (T)(0) ? -(T)(1) : x == (T)(0) ? (T)(0) : x; }

static T dnn_product_T(T x, T y) { return fma(x, y, -(T)(0)); }

static T dnn_max_T(T x, T y) { return ((x > y) | (x != x)) ? x : y; }

static T dnn_min_T(T x, T y) { return ((x < y) | (x != x)) ? x : y; }

static T dnn_max_number_T(T x, T y) { return y > x ? y : x; }

static int dnn_isinf_T(T x) { return (x == (T)(INFINITY)) | (x == -(T)(INFINITY)); }

static T dnn_sqrt_T(T x) { return sqrt(x); }

static double dnn_round_double(double x) { return rint(x); }

static T dnn_round_T(T x) {
  const T a = dnn_abs_T(x);
  return a < 0x1p23f ? dnn_with_sign_T((a + 0x1p23f) - 0x1p23f, x) : x;
}

static T dnn_floor_T(T x) {
  const T r = dnn_round_T(x);
  return r > x ? dnn_with_sign_T(dnn_abs_T(r - 1.0f), x) : r;
}

static T dnn_ceil_T(T x) {
  const T r = dnn_round_T(x);
  return r < x ? dnn_with_sign_T(dnn_abs_T(r + 1.0f), x) : r;
}

static T dnn_trunc_T(T x) { return x < 0.0f ? dnn_ceil_T(x) : dnn_floor_T(x); }

// Divides mantissas, and stays among integers: see dnn_math.h.
static float dnn_remainder(float x, float y, int floored) {
  const uint bx = as_uint(x), by = as_uint(y), a = bx & 0x7fffffffu, b = by & 0x7fffffffu;
  if (a >= 0x7f800000u || b > 0x7f800000u || b == 0) return NAN;
  const uint sign = (floored ? by : bx) & 0x80000000u;
  const int across = floored && ((bx ^ by) & 0x80000000u) != 0;
  if (a == 0) return as_float(sign);
  if (a < b) return across ? x + y : x;
  const int ea = a >> 23 ? (int)(a >> 23) : 1;
  const int eb = b >> 23 ? (int)(b >> 23) : 1;
  const uint ma = a >> 23 ? (a & 0x7fffffu) | 0x800000u : a;
  const uint mb = b >> 23 ? (b & 0x7fffffu) | 0x800000u : b;
  ulong r = ma % mb;
  for (int left = ea - eb; left > 0 && r != 0; left -= 40) r = (r << (left < 40 ? left : 40)) % mb;
  if (across && r != 0) r = mb - r;
  if (r == 0) return as_float(sign);
  const uint n = (uint)r;
  const int up = (int)clz(n) - 8;
  if (up >= eb) return as_float(sign | n << (eb - 1));
  return as_float(sign | ((n << up) + ((uint)(eb - up - 1) << 23)));
}

static float dnn_fmod_float(float x, float y) { return dnn_remainder(x, y, 0); }

static T dnn_fmod_T(T x, T y) {
  float a[N], b[N];
  vstoreN(x, 0, a);
  vstoreN(y, 0, b);
  for (int i = 0; i < N; i++) a[i] = dnn_remainder(a[i], b[i], 0);
  return vloadN(0, a);
}

static double dnn_mod_double(double x, double y) {
  const double r = fmod(x, y);
  return r == 0 ? copysign(0.0, y) : (r < 0) != (y < 0) ? r + y : r;
}

static float dnn_mod_float(float x, float y) { return dnn_remainder(x, y, 1); }

static T dnn_mod_T(T x, T y) {
  float a[N], b[N];
  vstoreN(x, 0, a);
  vstoreN(y, 0, b);
  for (int i = 0; i < N; i++) a[i] = dnn_remainder(a[i], b[i], 1);
  return vloadN(0, a);
}

// Exponentials.

static T dnn_exp_poly_T(T r) {
  T q = (T)(0x1.6bebep-10f);
  q = q * r + 0x1.122886p-7f;
  q = q * r + 0x1.555676p-5f;
  q = q * r + 0x1.5554aep-3f;
  return q * r + 0x1.fffffep-2f;
}

static T dnn_exp_reduce_T(T x, U* n) {
  T k = x * 0x1.715476p+0f + 0x1.8p23f;
  *n = as_U(k) - 0x4b400000u;
  k = k - 0x1.8p23f;
  const T r = k * -0x1.62e4p-1f + x;
  return k * -0x1.7f7d1cp-20f + r;
}

static T dnn_scale_T(T p, U n) {
  const U halved = (n + 512u) >> 1;
  const T a = as_T((halved - 129u) << 23);
  const T b = as_T((n + 512u - halved - 129u) << 23);
  return p * a * b;
}

static T dnn_clamp_T(T x, float lo, float hi) {
  x = x > hi ? (T)(hi) : x;
  return x < lo ? (T)(lo) : x;
}

static T dnn_exp_scaled_T(T x, uint k) {
  U n;
  const T r = dnn_exp_reduce_T(dnn_clamp_T(x, -105.0f, 90.0f), &n);
  const T p = (dnn_exp_poly_T(r) * r + 1.0f) * r + 1.0f;
  return dnn_scale_T(p, n + k);
}

static T dnn_exp_T(T x) { return dnn_exp_scaled_T(x, 0u); }

// 1 / (1 + e^-x), as h / (h + h * e^-x) with h = 2^-24.
static T dnn_logistic_T(T x) {
  const T t = dnn_clamp_T(x, -105.0f, 70.0f);
  T k = t * -0x1.715476p+0f + 0x1.8000cep23f;
  const T s = as_T(as_U(k) << 23);
  k = k - 0x1.8000cep23f;
  const T r = k * 0x1.7f7d1cp-20f + (k * 0x1.62e4p-1f + t), z = r * r;
  const T high = z * 0x1.6bebep-10f + (r * -0x1.122886p-7f + 0x1.555676p-5f);
  const T low = r * -0x1.5554aep-3f + 0x1.fffffep-2f;
  return 0x1p-24f / ((s + 0x1p-24f) - s * (r - z * (z * high + low)));
}

static T dnn_exp_apart_T(T x, T* s) {
  T k = x * 0x1.715476p+0f + 0x1.8p23f;
  *s = as_T((as_U(k) << 23) + 0x3f800000u);
  k = k - 0x1.8p23f;
  const T r = k * -0x1.62e43p-1f + x;
  return r * dnn_exp_poly_T(r) * r + r;
}

static T dnn_expm1_T(T x) {
  U n;
  const T r = dnn_exp_reduce_T(dnn_clamp_T(x, -20.0f, 89.0f), &n);
  const T p = r * r * dnn_exp_poly_T(r) + r;
  const T s = as_T((n + 126u) << 23);
  return dnn_abs_T(x) < 0x1p-25f ? x : 2.0f * (s * p + (s - 0.5f));
}

static T dnn_tanh_T(T x) {
  const T a = dnn_abs_T(x), z = a * a;
  T p = (T)(-0x1.75e1ccp-8f);
  p = p * z + 0x1.52269ap-6f;
  p = p * z + -0x1.b83c5ap-5f;
  p = p * z + 0x1.110726p-3f;
  p = p * z + -0x1.555532p-2f;
  const T small = a * z * p + a;
  T s;
  const T q = dnn_exp_apart_T(2.0f * (a > 10.0f ? (T)(10.0f) : a), &s);
  const T large = 1.0f - 2.0f / (s * q + (s + 1.0f));
  return dnn_with_sign_T(a < 0.625f ? small : large, x);
}

static T dnn_sinh_T(T x) {
  const T a = dnn_abs_T(x), z = a * a;
  T p = (T)(0x1.7a15b4p-19f);
  p = p * z + 0x1.9ffe92p-13f;
  p = p * z + 0x1.111134p-7f;
  p = p * z + 0x1.555556p-3f;
  const T small = a * z * p + a;
  const T e = dnn_exp_scaled_T(a, ~0u);
  return dnn_with_sign_T(a < 1.0f ? small : e - 0.25f / e, x);
}

static T dnn_cosh_T(T x) {
  const T e = dnn_exp_scaled_T(dnn_abs_T(x), ~0u);
  return e + 0.25f / e;
}

static T dnn_erf_T(T x) {
  T a = dnn_abs_T(x);
  a = a > 3.95f ? (T)(3.95f) : a;
  T q = (T)(0x1.3b0c50p-17f);
  q = q * a + -0x1.f292d2p-14f;
  q = q * a + 0x1.4e2c0ap-11f;
  q = q * a + -0x1.b7462cp-10f;
  q = q * a + 0x1.637faap-13f;
  q = q * a + 0x1.39b7c8p-6f;
  q = q * a + -0x1.a4f8c4p-4f;
  q = q * a + -0x1.45f2fep-1f;
  q = q * a + -0x1.06eba8p-3f;
  const T eight = 8.0f * a;
  T s;
  const T p = dnn_exp_apart_T(0.125f * (q * eight - eight), &s);
  return dnn_with_sign_T((1.0f - s) - s * p, x);
}

// Logarithms.

static T dnn_log_sum_T(T x, T shift, T c) {
  const U b = as_U(x);
  const U e = ((b + (0x40000000u - 0x3f3504f3u)) >> 23) - 128u;
  const T m = as_T(b - (e << 23));
  const T k = as_T(0x4b400000u + e) - 0x1.8p23f - shift;
  const T f = m - 1.0f, z = f * f;
  T p = (T)(0x1.1457c0p-4f);
  p = p * f + -0x1.de3c42p-4f;
  p = p * f + 0x1.e6f078p-4f;
  p = p * f + -0x1.fc2202p-4f;
  p = p * f + 0x1.233766p-3f;
  p = p * f + -0x1.555c4ep-3f;
  p = p * f + 0x1.99a4b6p-3f;
  p = p * f + -0x1.000006p-2f;
  p = p * f + 0x1.555548p-2f;
  T y = f * z * p + c;
  y = k * 0x1.7f7d1cp-20f + y;
  y = z * -0.5f + y;
  return k * 0x1.62e4p-1f + (f + y);
}

static T dnn_log_T(T x) {
  const T r = dnn_log_sum_T(x < 0x1p-126f ? x * 0x1p23f : x, x < 0x1p-126f ? (T)(23.0f) : (T)(0.0f), (T)(0.0f));
  return x > 0.0f ? (x < INFINITY ? r : (T)(INFINITY)) : x == 0.0f ? (T)(-INFINITY) : (T)(NAN);
}

// Denormal doubles are numbers, or zeros at once: see dnn_math.h.

static double dnn_log_double(double x) { return x == 0 ? -(double)INFINITY : log(x); }

static T dnn_log_one_plus_T(T t) {
  const T u = 1.0f + t;
  const T d = t > 1.0f ? 1.0f - (u - t) : t - (u - 1.0f);
  return dnn_log_sum_T(u, (T)(0.0f), d / u);
}

static T dnn_log1p_T(T x) {
  const T r = ((x == 0.0f) | (x == INFINITY)) ? x : dnn_log_one_plus_T(x);
  return x > -1.0f ? r : x == -1.0f ? (T)(-INFINITY) : (T)(NAN);
}

static T dnn_asinh_T(T x) {
  const T a = dnn_abs_T(x), z = a * a;
  const T large = dnn_log_sum_T(a, (T)(0.0f), (T)(0x1.62e43p-1f));
  const T r = dnn_log_one_plus_T(a + z / (dnn_sqrt_T(z + 1.0f) + 1.0f));
  const T finite = a > 4096.0f ? large : r;
  return ((a < INFINITY) & (a > 0.0f)) ? dnn_with_sign_T(finite, x) : x;
}

static T dnn_acosh_T(T x) {
  const T t = x - 1.0f;
  const T large = dnn_log_sum_T(x, (T)(0.0f), (T)(0x1.62e43p-1f));
  const T r = dnn_log_one_plus_T(t + dnn_sqrt_T(t * t + 2.0f * t));
  const T finite = x > 4096.0f ? large : r;
  return x >= 1.0f ? (x < INFINITY ? finite : x) : (T)(NAN);
}

static T dnn_atanh_T(T x) {
  const T a = dnn_abs_T(x);
  const T r = 0.5f * dnn_log_one_plus_T(2.0f * a / (1.0f - a));
  const T in = a == 1.0f ? (T)(INFINITY) : a < 0x1p-13f ? a : r;
  return a <= 1.0f ? dnn_with_sign_T(in, x) : (T)(NAN);
}

// Trigonometry.

// The quadrant of a float of 1600 or more, as dnn_math.h has it, without doubles: the fraction's
// product with pi/2 is taken in integers.
static float dnn_huge_quadrant(float a, uint* q) {
  const uint table[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                        0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
  if (!(a < INFINITY)) {
    *q = 0;
    return NAN;
  }
  const uint b = as_uint(a);
  const ulong m = (b & 0x7fffffu) | 0x800000u;
  const uint s = (b >> 23) - 150u - 2u + 32u;
  ulong w[3];
  for (uint i = 0; i < 3; i++) {
    const ulong pair = (ulong)table[s / 32 + i] << 32 | table[s / 32 + i + 1];
    w[i] = (uint)(pair << s % 32 >> 32);
  }
  const ulong p = (m * w[0] << 32) + m * w[1] + (m * w[2] >> 32);
  const long frac = (long)(p << 2);
  *q = (uint)(p >> 62) + (frac < 0 ? 1u : 0u);
  if (frac == 0) return 0.0f;
  const ulong size = frac < 0 ? 0UL - (ulong)frac : (ulong)frac;
  const int shift = (int)clz(size);
  const float r = ldexp((float)mul_hi(size << shift, 0xc90fdaa22168c000UL), -63 - shift);
  return frac < 0 ? -r : r;
}

static float dnn_quadrant_float(float a, uint* q) {
  if (!(a < 1600.0f)) return dnn_huge_quadrant(a, q);
  float k = a * 0x1.45f306p-1f + 0x1.8p23f;
  *q = as_uint(k) - 0x4b400000u;
  k = k - 0x1.8p23f;
  float r = k * -0x1.9218p+0f + a;
  r = k * -0x1.ed5p-14f + r;
  r = k * -0x1.10ap-30f + r;
  return k * -0x1.4611a6p-42f + r;
}

static T dnn_quadrant_T(T a, U* q) {
  float r[N];
  uint turns[N];
  vstoreN(a, 0, r);
  for (int i = 0; i < N; i++) r[i] = dnn_quadrant_float(r[i], &turns[i]);
  *q = vloadN(0, turns);
  return vloadN(0, r);
}

static T dnn_sin_poly_T(T r) {
  const T z = r * r;
  T p = (T)(-0x1.99436ep-13f);
  p = p * z + 0x1.11073ap-7f;
  p = p * z + -0x1.555546p-3f;
  return r * z * p + r;
}

static T dnn_cos_poly_T(T r) {
  const T z = r * r;
  T p = (T)(0x1.99eb34p-16f);
  p = p * z + -0x1.6c0c32p-10f;
  p = p * z + 0x1.55554ap-5f;
  return z * z * p + (z * -0.5f + 1.0f);
}

static T dnn_sin_turned_T(U q, T r) {
  const T y = (q & 1u) != 0u ? dnn_cos_poly_T(r) : dnn_sin_poly_T(r);
  return as_T(as_U(y) ^ (q << 30 & 0x80000000u));
}

static T dnn_sin_T(T x) {
  U q;
  const T r = dnn_quadrant_T(dnn_abs_T(x), &q);
  return as_T(as_U(dnn_sin_turned_T(q, r)) ^ (as_U(x) & 0x80000000u));
}

static T dnn_cos_T(T x) {
  U q;
  const T r = dnn_quadrant_T(dnn_abs_T(x), &q);
  return dnn_sin_turned_T(q + 1u, r);
}

static T dnn_tan_T(T x) {
  U q;
  const T r = dnn_quadrant_T(dnn_abs_T(x), &q);
  const T s = dnn_sin_poly_T(r), c = dnn_cos_poly_T(r);
  const T t = ((q & 1u) != 0u ? -c : s) / ((q & 1u) != 0u ? s : c);
  return as_T(as_U(t) ^ (as_U(x) & 0x80000000u));
}

static T dnn_asin_poly_T(T z) {
  T p = (T)(0x1.596d2ap-5f);
  p = p * z + 0x1.8c283cp-6f;
  p = p * z + 0x1.747e4ap-5f;
  p = p * z + 0x1.3301e4p-4f;
  return p * z + 0x1.5555c8p-3f;
}

static T dnn_asin_T(T x) {
  const T a = dnn_abs_T(x);
  const T z = a > 0.5f ? (1.0f - a) * 0.5f : a * a;
  const T s = a > 0.5f ? dnn_sqrt_T(z) : a;
  const T p = s * z * dnn_asin_poly_T(z) + s;
  return dnn_with_sign_T(a > 0.5f ? 0x1.921fb6p+0f - (2.0f * p - -0x1.777a5cp-25f) : p, x);
}

static T dnn_acos_T(T x) {
  const T a = dnn_abs_T(x);
  const T z = a > 0.5f ? (1.0f - a) * 0.5f : x * x;
  const T s = a > 0.5f ? dnn_sqrt_T(z) : x;
  const T p = s * z * dnn_asin_poly_T(z) + s, p2 = 2.0f * p;
  const T far = x < 0.0f ? 2.0f * 0x1.921fb6p+0f - (p2 - 2.0f * -0x1.777a5cp-25f) : p2;
  return a > 0.5f ? far : 0x1.921fb6p+0f - (p - -0x1.777a5cp-25f);
}

static T dnn_atan_T(T x) {
  const T a = dnn_abs_T(x);
  const T num = a > 2.414213562f ? (T)(-1.0f) : a > 0.4142135624f ? a - 1.0f : a;
  const T den = a > 2.414213562f ? a : a > 0.4142135624f ? a + 1.0f : (T)(1.0f);
  const T hi = a > 2.414213562f ? (T)(0x1.921fb6p+0f) : a > 0.4142135624f ? (T)(0x1.921fb6p-1f) : (T)(0.0f);
  const T lo = a > 2.414213562f ? (T)(-0x1.777a5cp-25f) : a > 0.4142135624f ? (T)(-0x1.777a5cp-26f) : (T)(0.0f);
  const T t = num / den, z = t * t;
  T p = (T)(-0x1.f1ed4cp-5f);
  p = p * z + 0x1.b1ec24p-4f;
  p = p * z + -0x1.23b522p-3f;
  p = p * z + 0x1.999196p-3f;
  p = p * z + -0x1.55554ap-2f;
  return dnn_with_sign_T(hi + (t + (t * z * p + lo)), x);
}

// Powers, in doubles.

static double dnn_log2_wide(float a) {
  if (a == 0) return -(double)INFINITY;
  if (a == INFINITY) return (double)INFINITY;
  const ulong bits = as_ulong((double)a);
  const ulong e = ((bits + (0x4000000000000000UL - 0x3fe6a09e667f3bcdUL)) >> 52) - 1024UL;
  const double m = as_double(bits - (e << 52));
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 0x1.91159fed70eb0p-4;
  p = p * z + 0x1.c62b1368aadadp-4;
  p = p * z + 0x1.249411f225fd0p-3;
  p = p * z + 0x1.999996a940528p-3;
  p = p * z + 0x1.555555561e472p-2;
  p = p * z + 1;
  return s * 0x1.71547652b82fep+1 * p + (double)(long)e;
}

static double dnn_exp2_wide(double t) {
  t = t < -200 ? -200 : t > 200 ? 200 : t;
  const double k = t + 0x1.8p52;
  const ulong n = as_ulong(k);
  const double r = t - (k - 0x1.8p52);
  double p = 0x1.61c4d72196275p-20;
  p = p * r + 0x1.00d86be7f147ep-16;
  p = p * r + 0x1.430aa8d58988ap-13;
  p = p * r + 0x1.5d874ce2fa7c9p-10;
  p = p * r + 0x1.3b2ab5ed1d076p-7;
  p = p * r + 0x1.c6b08dcef0073p-5;
  p = p * r + 0x1.ebfbdff8ee379p-3;
  p = p * r + 0x1.62e42fef89c78p-1;
  p = p * r + 1;
  return p * as_double((n - 0x4338000000000000UL + 1023UL) << 52);
}

static float dnn_pow_float(float x, float y) {
  if (x == 1 || y == 0) return 1;
  if (x != x || y != y) return NAN;
  const float a = dnn_abs_float(x);
  const bool even = dnn_abs_float(y) >= 0x1p24f, whole = even || dnn_trunc_float(y) == y;
  const bool odd = !even && whole && ((int)y & 1) != 0;
  if (x < 0 && !whole && a < INFINITY) return NAN;
  const double l = dnn_log2_wide(a);
  const float r = (float)dnn_exp2_wide(l == 0 ? 0 : (double)y * l);
  return odd ? dnn_with_sign_float(r, x) : r;
}

static T dnn_pow_T(T x, T y) {
  float a[N], b[N];
  vstoreN(x, 0, a);
  vstoreN(y, 0, b);
  for (int i = 0; i < N; i++) a[i] = dnn_pow_float(a[i], b[i]);
  return vloadN(0, a);
}

static double dnn_pow_double(double x, double y) {
  if (y == 0) return 1;
  return pow(x == 0 ? copysign(0.0, x) : x, y);
}

// Integers: arithmetic wraps.

static T dnn_iadd_T(T a, T b) { return (T)((ulong)a + (ulong)b); }

static T dnn_isub_T(T a, T b) { return (T)((ulong)a - (ulong)b); }

static T dnn_imul_T(T a, T b) { return (T)((ulong)a * (ulong)b); }

static T dnn_ineg_T(T a) { return (T)(0UL - (ulong)a); }

static T dnn_iabs_T(T a) { return a < (T)1 && (T)-1 < (T)0 ? dnn_ineg_T(a) : a; }

static T dnn_isign_T(T a) { return (T)((a > (T)0) - (a < (T)1 && a != (T)0)); }

static T dnn_imin_T(T a, T b) { return a < b ? a : b; }

static T dnn_imax_T(T a, T b) { return a > b ? a : b; }

static T dnn_idiv_T(T a, T b) {
  if (b == (T)0) return (T)0;
  if ((T)-1 < (T)0 && b == (T)-1) return dnn_ineg_T(a);
  return (T)(a / b);
}

static T dnn_ifmod_T(T a, T b) {
  if (b == (T)0 || ((T)-1 < (T)0 && b == (T)-1)) return (T)0;
  return (T)(a % b);
}

static T dnn_imod_T(T a, T b) {
  const T r = dnn_ifmod_T(a, b);
  return r != (T)0 && (T)-1 < (T)0 && (r < (T)1) != (b < (T)1) ? (T)(r + b) : r;
}

static T dnn_idiv_checked_T(T a, T b, int* bad) {
  *bad |= b == (T)0;
  return dnn_idiv_T(a, b);
}

static T dnn_ifmod_checked_T(T a, T b, int* bad) {
  *bad |= b == (T)0;
  return dnn_ifmod_T(a, b);
}

static T dnn_imod_checked_T(T a, T b, int* bad) {
  *bad |= b == (T)0;
  return dnn_imod_T(a, b);
}

static T dnn_ipow_T(T a, T n) {
  if ((T)-1 < (T)0 && n < (T)1 && n != (T)0) {
    if (a == (T)1 || (a == (T)-1 && n % (T)2 == (T)0)) return (T)1;
    return a == (T)-1 ? a : (T)0;
  }
  ulong r = 1, square = (ulong)a;
  for (ulong k = (ulong)n; k != 0; k >>= 1) {
    if (k & 1) r *= square;
    square *= square;
  }
  return (T)r;
}

static T dnn_shl_T(T a, T n) {
  const ulong by = (ulong)n;
  return by > 63 ? (T)0 : (T)((ulong)a << by);
}

static T dnn_shr_T(T a, T n) {
  const ulong by = (ulong)n, most = 8 * sizeof(T) - 1;
  if (by > most) return (T)-1 < (T)0 ? (T)(a >> most) : (T)0;
  return (T)(a >> by);
}

// Conversions: floats to integers truncate and saturate, NaN gives 0.

static T dnn_saturate_T(float x) {
  const int bits = 8 * sizeof(T) - ((T)-1 < (T)0);
  const float limit = (float)(1UL << (bits - 1)) * 2;
  const ulong most = ~0UL >> (64 - bits);
  if (x >= limit) return (T)most;
  if ((T)-1 < (T)0) {
    if (x < -limit) return (T)~most;
    return x == x ? (T)x : (T)0;
  }
  return x >= 1 ? (T)x : (T)0;
}

static T dnn_saturate_wide_T(double x) {
  const int bits = 8 * sizeof(T) - ((T)-1 < (T)0);
  const double limit = (double)(1UL << (bits - 1)) * 2;
  const ulong most = ~0UL >> (64 - bits);
  if (x >= limit) return (T)most;
  if ((T)-1 < (T)0) {
    if (x < -limit) return (T)~most;
    return x == x ? (T)x : (T)0;
  }
  return x >= 1 ? (T)x : (T)0;
}

// Loads and stores of halves are in every OpenCL C, and not in C, and need no half arithmetic. What they make of a NaN's bits is left to devices, and
// a NaN it stays: a branch for its bits would have each load wait for the one before.
static float dnn_f16_to_f32(ushort h) {
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
  return vload_half(0, (const half*)&h);
#else
  const uint sign = (uint)(h & 0x8000u) << 16;
  const uint exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
  if (exponent == 31) return as_float(sign | 0x7f800000u | (fraction != 0 ? 0x400000u : 0u) | fraction << 13);
  if (exponent == 0) return as_float(sign | as_uint((float)fraction * 0x1p-24f));
  return as_float(sign | (exponent + 112u) << 23 | fraction << 13);
#endif
}

static ushort dnn_f32_to_f16(float x) {
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
  ushort h;
  vstore_half_rte(x, 0, (half*)&h);
  return h;
#else
  const uint b = as_uint(x), sign = b >> 16 & 0x8000u, size = b & 0x7fffffffu;
  if (size > 0x7f800000u) return (ushort)(sign | (b >> 13 & 0x3ffu) | 0x7e00u);
  if (size >= 0x477ff000u) return (ushort)(sign | 0x7c00u);
  if (size < 0x38800000u) return (ushort)(sign | (as_uint(as_float(size) + 0.5f) - 0x3f000000u));
  return (ushort)(sign | (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13);
#endif
}

static float dnn_bf16_to_f32(ushort h) { return as_float((uint)h << 16); }

static ushort dnn_f32_to_bf16(float x) {
  const uint b = as_uint(x);
  if (x != x) return (ushort)(b >> 16 | 0x40u);
  return (ushort)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}

// A number as a float whose next rounding rounds the number itself: towards zero, and odd where that
// is not exact.
static float dnn_odd_double(double x) {
  const float f = (float)x;
  if ((double)f == x || x != x || isinf(f)) return f;
  uint b = as_uint(f);
  if (fabs((double)f) > fabs(x)) b--;
  return as_float(b | 1u);
}

static float dnn_odd_T(T x) {
  const float f = convert_float_rtz(x);
  return (T)f == x ? f : as_float(as_uint(f) | 1u);
}

// What narrow rounds: a product that is less than half a unit of the greatest number, but infinite or NaN where x is, brings these back.
static float dnn_held(float x, float most) {
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
  return x * 0x1p-126f + clamp(x, -most, most);
#else
  const float y = x > most ? most : x < -most ? -most : x;
  return isinf(x) ? x : y;
#endif
}

static float dnn_held_f16(float x) { return dnn_held(x, 65504.0f); }

static float dnn_held_bf16(float x) { return dnn_held(x, 0x1.fep127f); }

static float dnn_round_f16(float x) { return dnn_f16_to_f32(dnn_f32_to_f16(x)); }

static float dnn_round_bf16(float x) { return dnn_bf16_to_f32(dnn_f32_to_bf16(x)); }
