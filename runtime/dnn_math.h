// Math functions for generated kernels. Most accept float or a GNU vector of floats.
//
// The float functions are polynomials. They use the same sequence of operations as the compiler
// (gen/ir/scalar), which states their error bounds, and need no libm. Without contraction of
// products, their results equal the compiler's bit for bit; with it, they are within the bounds.
// Functions of double are the C++ compiler's builtins. Integers wrap, and no operation on them
// traps.
//
// Everything has internal linkage: one program may hold kernels for several instruction sets, and
// the linker must not merge them. Square roots need -fno-math-errno to become one instruction.
#ifndef RULES_DNN_RUNTIME_DNN_MATH_H_
#define RULES_DNN_RUNTIME_DNN_MATH_H_

#include <stdint.h>

// Vectors are passed only between functions of one file, which is compiled with the same flags. The
// ABI of vectors that do not fit a register is therefore not a problem.
#if defined(__clang__)
#if __has_warning("-Wpsabi")
#pragma clang diagnostic ignored "-Wpsabi"
#endif
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#define DNN_MATH_FN __attribute__((always_inline, unused)) static inline

namespace dnn_math {

// Traits ---------------------------------------------------------------------

template <class A, class B>
struct is_same {
  static constexpr bool value = false;
};
template <class A>
struct is_same<A, A> {
  static constexpr bool value = true;
};

// is_vector reports whether a type has lanes.
template <class S>
struct is_vector {
  template <class T, class = decltype(T{}[0])>
  static constexpr bool test(int) {
    return true;
  }
  template <class T>
  static constexpr bool test(long) {
    return false;
  }
  static constexpr bool value = test<S>(0);
};

// lane_of<V> is the type of a vector's lanes; for a number it is V itself.
template <class T>
struct bare {
  typedef T type;
};
template <class T>
struct bare<T&> {
  typedef T type;
};
template <class T>
struct bare<T&&> {
  typedef T type;
};
template <class V, bool kVector = is_vector<V>::value>
struct lane {
  typedef V T;
};
template <class V>
struct lane<V, true> {
  typedef typename bare<decltype(V{}[0])>::type T;
};
template <class V>
using lane_of = typename lane<V>::T;

// vector_of<T, n>::type is a vector of n lanes of type T.
template <class T, int kLanes>
struct vector_of {
  typedef T type __attribute__((vector_size(sizeof(T) * kLanes)));
};

// integer_of<n, sign>::type has n bytes. with_lanes<T, V> is V with lanes of type T. unsigned_of<V>
// is V with unsigned lanes of the same size.
template <int kBytes, bool kSigned>
struct integer_of;
template <>
struct integer_of<1, true> {
  typedef int8_t type;
};
template <>
struct integer_of<2, true> {
  typedef int16_t type;
};
template <>
struct integer_of<4, true> {
  typedef int32_t type;
};
template <>
struct integer_of<8, true> {
  typedef int64_t type;
};
template <>
struct integer_of<1, false> {
  typedef uint8_t type;
};
template <>
struct integer_of<2, false> {
  typedef uint16_t type;
};
template <>
struct integer_of<4, false> {
  typedef uint32_t type;
};
template <>
struct integer_of<8, false> {
  typedef uint64_t type;
};
template <class T, class V>
using with_lanes = typename vector_of<T, static_cast<int>(sizeof(V) / sizeof(lane_of<V>))>::type;
template <class V>
using unsigned_of = with_lanes<typename integer_of<sizeof(lane_of<V>), false>::type, V>;

// lanes<V>::U holds the bits of V, which is a float or a vector of floats.
template <class V>
struct lanes {
  typedef uint32_t U __attribute__((vector_size(sizeof(V))));
  static constexpr int count = sizeof(V) / sizeof(float);
};
template <>
struct lanes<float> {
  typedef uint32_t U;
  static constexpr int count = 1;
};

template <class V>
using bits_of = typename lanes<V>::U;

// broadcast returns x in every lane.
template <class V>
DNN_MATH_FN V broadcast(lane_of<V> x) {
  if constexpr (is_same<V, lane_of<V>>::value) {
    return x;
  } else {
    return x - V{};
  }
}

template <class V>
DNN_MATH_FN bits_of<V> to_bits(V x) {
  bits_of<V> u;
  __builtin_memcpy(&u, &x, sizeof u);
  return u;
}

template <class V>
DNN_MATH_FN V from_bits(bits_of<V> u) {
  V x;
  __builtin_memcpy(&x, &u, sizeof x);
  return x;
}

// bits reinterprets the bits of x as type T.
template <class T, class S>
DNN_MATH_FN T bits(S x) {
  static_assert(sizeof(T) == sizeof(S), "numbers of unequal sizes");
  T y;
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}

// by_lane applies a function of floats to each lane.
template <class V, class F>
DNN_MATH_FN V by_lane(F f, V x) {
  if constexpr (is_same<V, float>::value) {
    return f(x);
  } else {
    V r = x;
    for (int i = 0; i < lanes<V>::count; i++) r[i] = f(x[i]);
    return r;
  }
}

template <class V, class F>
DNN_MATH_FN V by_lane(F f, V x, V y) {
  if constexpr (is_same<V, float>::value) {
    return f(x, y);
  } else {
    V r = x;
    for (int i = 0; i < lanes<V>::count; i++) r[i] = f(x[i], y[i]);
    return r;
  }
}

template <class V>
DNN_MATH_FN bool any(V x, float above) {
  if constexpr (is_same<V, float>::value) {
    return !(x < above);
  } else {
    bool found = false;
    for (int i = 0; i < lanes<V>::count; i++) found |= !(x[i] < above);
    return found;
  }
}

// Exact functions ------------------------------------------------------------

template <class V>
DNN_MATH_FN V madd(V a, V b, V c) {
  return a * b + c;
}
template <class V>
DNN_MATH_FN V madd(V a, V b, float c) {
  return a * b + c;
}
template <class V>
DNN_MATH_FN V madd(V a, float b, V c) {
  return a * b + c;
}
DNN_MATH_FN float madd(float a, float b, float c) { return a * b + c; }

// product returns x * y, rounded: the assembly keeps compilers from fusing the product with an
// addition. Vectors wider than a register are hidden in memory.
template <class V>
DNN_MATH_FN V product(V x, V y) {
  V z = x * y;
#if defined(__AVX512F__)
  __asm__("" : "+v"(z));
#elif defined(__AVX__)
  if constexpr (sizeof(V) <= 32) {
    __asm__("" : "+x"(z));
  } else {
    __asm__("" : "+m"(z));
  }
#elif defined(__SSE2__) || defined(__aarch64__)
  if constexpr (sizeof(V) <= 16) {
#if defined(__aarch64__)
    __asm__("" : "+w"(z));
#else
    __asm__("" : "+x"(z));
#endif
  } else {
    __asm__("" : "+m"(z));
  }
#else
  __asm__("" : "+m"(z));
#endif
  return z;
}

// abs and sign also take double.
template <class V>
DNN_MATH_FN V abs(V x) {
  return from_bits<V>(to_bits<V>(x) & 0x7fffffffu);
}

// pick selects x or y by bit operations. Without a branch, compilers vectorize loops over numbers.
DNN_MATH_FN float pick(bool first, float x, float y) {
  const uint32_t all = 0u - static_cast<uint32_t>(first);
  return from_bits<float>((to_bits(x) & all) | (to_bits(y) & ~all));
}
DNN_MATH_FN double pick(bool first, double x, double y) { return first ? x : y; }

// with_sign returns r, which must not be negative, with the sign of x.
template <class V>
DNN_MATH_FN V with_sign(V r, V x) {
  return from_bits<V>(to_bits<V>(r) | (to_bits<V>(x) & 0x80000000u));
}

template <class V>
DNN_MATH_FN V sign(V x) {
  const V zero{};
  const V one = zero + 1;
  return x > 0.0f ? one : x < 0.0f ? -one : x == 0.0f ? zero : x;
}

// greater returns x if x > y, else y; lesser returns x if x < y, else y. Both return y if an
// operand is NaN. x86-64 has an instruction, but g++ compiles the expression to a mask and a select
// for AVX-512.
template <class V>
DNN_MATH_FN V greater(V x, V y) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (is_same<lane_of<V>, float>::value && sizeof(V) == 64) {
    return __builtin_ia32_maxps512_mask(x, y, x, 0xffff, 4);
  } else if constexpr (is_same<lane_of<V>, float>::value && sizeof(V) == 32) {
    return __builtin_ia32_maxps256(x, y);
  } else if constexpr (is_same<lane_of<V>, float>::value && sizeof(V) == 16) {
    return __builtin_ia32_maxps(x, y);
  }
#endif
  return x > y ? x : y;
}

template <class V>
DNN_MATH_FN V lesser(V x, V y) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (is_same<lane_of<V>, float>::value && sizeof(V) == 64) {
    return __builtin_ia32_minps512_mask(x, y, x, 0xffff, 4);
  } else if constexpr (is_same<lane_of<V>, float>::value && sizeof(V) == 32) {
    return __builtin_ia32_minps256(x, y);
  } else if constexpr (is_same<lane_of<V>, float>::value && sizeof(V) == 16) {
    return __builtin_ia32_minps(x, y);
  }
#endif
  return x < y ? x : y;
}

#if defined(__aarch64__)
// four_floats reports whether instructions compute with V.
template <class V>
constexpr bool four_floats = is_same<lane_of<V>, float>::value && sizeof(V) == 16;

// known reports whether compilers know that y is the same number in all lanes.
template <class V>
DNN_MATH_FN bool known(V y) {
  const bool same = y[0] == y[1] && y[1] == y[2] && y[2] == y[3];
  return __builtin_constant_p(y[0] + y[1] + y[2] + y[3]) && same;
}

// fmax and fmin are the instructions.
template <class V>
DNN_MATH_FN V fmax(V x, V y) {
  V z;
  __asm__("fmax %0.4s, %1.4s, %2.4s" : "=w"(z) : "w"(x), "w"(y));
  return z;
}

template <class V>
DNN_MATH_FN V fmin(V x, V y) {
  V z;
  __asm__("fmin %0.4s, %1.4s, %2.4s" : "=w"(z) : "w"(x), "w"(y));
  return z;
}
#endif

// max and min return NaN if either operand is NaN, and y if the operands are equal. On 64-bit ARM,
// vectors of four f32 or of f16 order -0 before +0 instead, as FMAX and FMIN do. ONNX leaves open
// which zero is returned. So a quotient by such a zero may be an infinity of the other sign.
template <class V>
DNN_MATH_FN V max(V x, V y) {
#if defined(__aarch64__)
  if constexpr (four_floats<V>) return fmax(x, y);
#endif
  return x != x ? x : greater(x, y);
}

template <class V>
DNN_MATH_FN V min(V x, V y) {
#if defined(__aarch64__)
  if constexpr (four_floats<V>) return fmin(x, y);
#endif
  return x != x ? x : lesser(x, y);
}

// max_number and min_number are for a y that is a number and not 0. They return x if y is NaN or
// both are equal.
template <class V>
DNN_MATH_FN V max_number(V x, V y) {
#if defined(__aarch64__)
  if constexpr (four_floats<V>) {
    if (known(y) && y[0] != 0.0f) return fmax(x, y);
  }
#endif
  return greater(y, x);
}

template <class V>
DNN_MATH_FN V min_number(V x, V y) {
#if defined(__aarch64__)
  if constexpr (four_floats<V>) {
    if (known(y) && y[0] != 0.0f) return fmin(x, y);
  }
#endif
  return lesser(y, x);
}

DNN_MATH_FN float max(float x, float y) { return pick((x > y) | (x != x), x, y); }
DNN_MATH_FN float min(float x, float y) { return pick((x < y) | (x != x), x, y); }

template <class V>
DNN_MATH_FN auto isinf(V x) {
  return (x == __builtin_inff()) | (x == -__builtin_inff());
}

template <class V>
DNN_MATH_FN V sqrt(V x) {
  return by_lane([](float v) { return __builtin_sqrtf(v); }, x);
}

// round (half to even), and floor and ceil, which use it, add 2^23: the sum has no fraction.
template <class V>
DNN_MATH_FN V round(V x) {
  const V a = abs(x);
  return a < 0x1p23f ? with_sign((a + 0x1p23f) - 0x1p23f, x) : x;
}
// The same for one number, without branches.
DNN_MATH_FN float round(float x) {
  const float a = abs(x);
  return pick(a < 0x1p23f, with_sign((a + 0x1p23f) - 0x1p23f, x), x);
}
DNN_MATH_FN double round(double x) {
  const double a = __builtin_fabs(x);
  return a < 0x1p52 ? __builtin_copysign((a + 0x1p52) - 0x1p52, x) : x;
}

template <class V>
DNN_MATH_FN V floor(V x) {
  const V r = round(x);
  return r > x ? with_sign(abs(r - 1.0f), x) : r;
}

template <class V>
DNN_MATH_FN V ceil(V x) {
  const V r = round(x);
  return r < x ? with_sign(abs(r + 1.0f), x) : r;
}

template <class V>
DNN_MATH_FN V trunc(V x) {
  return x < 0.0f ? ceil(x) : floor(x);
}

// float_format describes the bits U of numbers of type F. The remainder is shifted by `step` bits
// at a time.
template <class F>
struct float_format;
template <>
struct float_format<float> {
  typedef uint32_t U;
  static constexpr int fraction = 23, step = 40;
  static constexpr U infinity = 0x7f800000u;
};
template <>
struct float_format<double> {
  typedef uint64_t U;
  static constexpr int fraction = 52, step = 11;
  static constexpr U infinity = 0x7ff0000000000000u;
};

// units returns the bits of n units in the last place of numbers with exponent e; n is less than
// the mantissa of such a number.
template <class F>
DNN_MATH_FN typename float_format<F>::U units(uint64_t n, int e) {
  constexpr int fraction = float_format<F>::fraction;
  if (n == 0) return 0;
  const int up = __builtin_clzll(n) - (63 - fraction);
  if (up >= e) n <<= e - 1;  // denormal
  if (up < e) n = (n << up) + (static_cast<uint64_t>(e - up - 1) << fraction);
  return static_cast<typename float_format<F>::U>(n);
}

// remainder has the sign of x, or, if floored, the sign of y, as in Python. It is exact, except for
// the sum of x and a larger y. It divides mantissas as integers: scaled floats could become
// denormal, and most runs flush those to zero.
template <class F>
__attribute__((unused)) static F remainder(F x, F y, bool floored) {
  typedef typename float_format<F>::U U;
  constexpr int fraction = float_format<F>::fraction, step = float_format<F>::step;
  constexpr U infinity = float_format<F>::infinity, hidden = U{1} << fraction;
  constexpr U sign = ~(~U{0} >> 1);
  const U bx = bits<U>(x), by = bits<U>(y), a = bx & ~sign, b = by & ~sign;
  if (a >= infinity || b > infinity || b == 0) return static_cast<F>(__builtin_nanf(""));
  const U sign_of = (floored ? by : bx) & sign;
  const bool across = floored && ((bx ^ by) & sign) != 0;  // the signs of x and y differ
  if (a == 0) return bits<F>(sign_of);
  if (a < b) return across ? x + y : x;
  const int ea = a >> fraction ? static_cast<int>(a >> fraction) : 1;
  const int eb = b >> fraction ? static_cast<int>(b >> fraction) : 1;
  const U ma = a >> fraction ? (a & (hidden - 1)) | hidden : a;
  const U mb = b >> fraction ? (b & (hidden - 1)) | hidden : b;
  uint64_t r = ma % mb;
  for (int left = ea - eb; left > 0 && r != 0; left -= step) {
    r = (r << (left < step ? left : step)) % mb;
  }
  if (across && r != 0) r = mb - r;
  return bits<F>(static_cast<U>(units<F>(r, eb) | sign_of));
}

template <class V>
DNN_MATH_FN V fmod(V x, V y) {
  return by_lane([](float a, float b) { return remainder(a, b, false); }, x, y);
}

template <class V>
DNN_MATH_FN V mod(V x, V y) {
  return by_lane([](float a, float b) { return remainder(a, b, true); }, x, y);
}
DNN_MATH_FN double mod(double x, double y) { return remainder(x, y, true); }

// Exponentials ---------------------------------------------------------------

constexpr float kLn2 = 0x1.62e43p-1f, kLn2Hi = 0x1.62e4p-1f, kLn2Lo = 0x1.7f7d1cp-20f;
constexpr float kMagic = 0x1.8p23f;  // added to a small float: the low bits are its integer
constexpr uint32_t kMagicBits = 0x4b400000u;

template <class V>
DNN_MATH_FN V exp_poly(V r) {
  V q = broadcast<V>(0x1.6bebep-10f);
  q = madd(q, r, 0x1.122886p-7f);
  q = madd(q, r, 0x1.555676p-5f);
  q = madd(q, r, 0x1.5554aep-3f);
  return madd(q, r, 0x1.fffffep-2f);
}

// exp_reduce splits x = n*ln2 + r; n is in two's complement, and k is n as floats.
template <class V>
DNN_MATH_FN V exp_reduce(V x, bits_of<V>* n, V* k) {
  const V sum = madd(x, broadcast<V>(0x1.715476p+0f), kMagic);
  *n = to_bits<V>(sum) - kMagicBits;
  *k = sum - kMagic;
  const V r = madd(*k, -kLn2Hi, x);
  return madd(*k, -kLn2Lo, r);
}

// scale returns p * 2^n; e is n as floats. It uses one instruction or two factors, so that denormal
// results round once. n is at least -254.
template <class V>
DNN_MATH_FN V scale(V p, bits_of<V> n, V e) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    V y;
    __asm__("vscalefps %2, %1, %0" : "=v"(y) : "v"(p), "v"(e));
    return y;
  }
#endif
  (void)e;
  const bits_of<V> all = n + 254u, half = all >> 1;  // of 2^(n/2), the exponent is n/2 + 127
  return p * from_bits<V>(half << 23) * from_bits<V>((all - half) << 23);
}

template <class V>
DNN_MATH_FN V clamp(V x, float lo, float hi) {
  const V most = broadcast<V>(hi), least = broadcast<V>(lo);
  x = min_number(x, most);
  return max_number(x, least);
}

// exp_scaled returns e^x * 2^k, with k in two's complement.
template <class V>
DNN_MATH_FN V exp_scaled(V x, uint32_t k) {
  bits_of<V> n;
  V e;
  const V r = exp_reduce(clamp(x, -105.0f, 90.0f), &n, &e);
  const V p = madd(madd(exp_poly(r), r, 1.0f), r, 1.0f);
  return scale(p, n + k, k == 0 ? e : e + static_cast<float>(static_cast<int32_t>(k)));
}

template <class V>
DNN_MATH_FN V exp(V x) {
  return exp_scaled(x, 0);
}

// logistic returns 1 / (1 + e^-x), as h / (h + h * e^-x) with h = 2^-24: no power of 2 overflows.
template <class V>
DNN_MATH_FN V logistic(V x) {
  constexpr float kBiased = kMagic + 103.0f, h = 0x1p-24f;
  x = clamp(x, -105.0f, 70.0f);
  const V sum = madd(x, broadcast<V>(-0x1.715476p+0f), kBiased);
  const V s = from_bits<V>(to_bits<V>(sum) << 23);  // h * 2^n
  const V k = sum - kBiased;
  const V r = madd(k, kLn2Lo, madd(k, kLn2Hi, x));  // e^-x = 2^n * e^-r
  const V z = r * r;
  const V high = madd(z, 0x1.6bebep-10f, madd(r, -0x1.122886p-7f, broadcast<V>(0x1.555676p-5f)));
  const V low = madd(r, -0x1.5554aep-3f, broadcast<V>(0x1.fffffep-2f));
  const V q = r - z * madd(z, high, low);  // 1 - e^-r
  return h / ((s + h) - s * q);
}

// exp_apart splits e^x = s + s*p for |x| < 32, with ln2 as a single float.
template <class V>
DNN_MATH_FN V exp_apart(V x, V* s) {
  const V sum = madd(x, broadcast<V>(0x1.715476p+0f), kMagic);
  *s = from_bits<V>((to_bits<V>(sum) << 23) + 0x3f800000u);
  const V r = madd(sum - kMagic, -kLn2, x);
  return madd(r * exp_poly(r), r, r);
}

template <class V>
DNN_MATH_FN V expm1(V x) {
  bits_of<V> n;
  V e;
  const V r = exp_reduce(clamp(x, -20.0f, 89.0f), &n, &e);
  const V p = madd(r * r, exp_poly(r), r);
  const V s = from_bits<V>((n + 126u) << 23);  // 2^(n-1): 2^n may overflow
  return abs(x) < 0x1p-25f ? x : 2.0f * madd(s, p, s - 0.5f);
}

template <class V>
DNN_MATH_FN V tanh(V x) {
  const V a = abs(x), z = a * a;
  V p = broadcast<V>(-0x1.75e1ccp-8f);
  p = madd(p, z, 0x1.52269ap-6f);
  p = madd(p, z, -0x1.b83c5ap-5f);
  p = madd(p, z, 0x1.110726p-3f);
  p = madd(p, z, -0x1.555532p-2f);
  const V small = madd(a * z, p, a);
  V s;
  const V q = exp_apart(2.0f * min_number(a, broadcast<V>(10.0f)), &s);
  const V large = 1.0f - 2.0f / madd(s, q, s + 1.0f);
  return with_sign(a < 0.625f ? small : large, x);
}

template <class V>
DNN_MATH_FN V sinh(V x) {
  const V a = abs(x), z = a * a;
  V p = broadcast<V>(0x1.7a15b4p-19f);
  p = madd(p, z, 0x1.9ffe92p-13f);
  p = madd(p, z, 0x1.111134p-7f);
  p = madd(p, z, 0x1.555556p-3f);
  const V small = madd(a * z, p, a);
  const V e = exp_scaled(a, ~0u);  // e^a / 2
  return with_sign(a < 1.0f ? small : e - 0.25f / e, x);
}

template <class V>
DNN_MATH_FN V cosh(V x) {
  const V e = exp_scaled(abs(x), ~0u);
  return e + 0.25f / e;
}

// erf is 1 - erfc(a). A polynomial times a approximates 8*ln(erfc(a)), because without the factor 8
// terms may be denormal. From 3.95 on, erf rounds to 1.
template <class V>
DNN_MATH_FN V erf(V x) {
  const V a = min_number(abs(x), broadcast<V>(3.95f));
  V q = broadcast<V>(0x1.3b0c50p-17f);
  q = madd(q, a, -0x1.f292d2p-14f);
  q = madd(q, a, 0x1.4e2c0ap-11f);
  q = madd(q, a, -0x1.b7462cp-10f);
  q = madd(q, a, 0x1.637faap-13f);
  q = madd(q, a, 0x1.39b7c8p-6f);
  q = madd(q, a, -0x1.a4f8c4p-4f);
  q = madd(q, a, -0x1.45f2fep-1f);
  q = madd(q, a, -0x1.06eba8p-3f);
  const V eight = 8.0f * a;
  V s;
  const V p = exp_apart(0.125f * madd(q, eight, -eight), &s);
  return with_sign(madd(-s, p, 1.0f - s), x);
}

// Logarithms -----------------------------------------------------------------

// log_sum returns ln(x * 2^-shift) + c for a finite, positive, normal x and a small c.
template <class V>
DNN_MATH_FN V log_sum(V x, V shift, V c) {
  const bits_of<V> b = to_bits<V>(x);
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)); e is two's complement.
  const bits_of<V> e = ((b + (0x40000000u - 0x3f3504f3u)) >> 23) - 128u;
  const V m = from_bits<V>(b - (e << 23));
  const V k = from_bits<V>(kMagicBits + e) - kMagic - shift;
  const V f = m - 1.0f, z = f * f;
  V p = broadcast<V>(0x1.1457c0p-4f);
  p = madd(p, f, -0x1.de3c42p-4f);
  p = madd(p, f, 0x1.e6f078p-4f);
  p = madd(p, f, -0x1.fc2202p-4f);
  p = madd(p, f, 0x1.233766p-3f);
  p = madd(p, f, -0x1.555c4ep-3f);
  p = madd(p, f, 0x1.99a4b6p-3f);
  p = madd(p, f, -0x1.000006p-2f);
  p = madd(p, f, 0x1.555548p-2f);
  V y = madd(f * z, p, c);
  y = madd(k, kLn2Lo, y);
  y = madd(z, -0.5f, y);
  return madd(k, kLn2Hi, f + y);
}

template <class V>
DNN_MATH_FN V log(V x) {
  const V inf = broadcast<V>(__builtin_inff()), nan = broadcast<V>(__builtin_nanf(""));
  const V zero{};
  const auto tiny = x < 0x1p-126f;
  const V r = log_sum(tiny ? x * 0x1p23f : x, tiny ? zero + 23.0f : zero, zero);
  return x > 0.0f ? (x < __builtin_inff() ? r : inf) : x == 0.0f ? -inf : nan;
}

// log_one_plus returns ln(1+t) for t > -1; c of log_sum corrects the rounding error of the sum.
template <class V>
DNN_MATH_FN V log_one_plus(V t) {
  const V u = 1.0f + t;
  const V d = t > 1.0f ? 1.0f - (u - t) : t - (u - 1.0f);
  return log_sum(u, V{}, d / u);
}

template <class V>
DNN_MATH_FN V log1p(V x) {
  const V inf = broadcast<V>(__builtin_inff()), nan = broadcast<V>(__builtin_nanf(""));
  const V r = ((x == 0.0f) | (x == __builtin_inff())) ? x : log_one_plus(x);
  return x > -1.0f ? r : x == -1.0f ? -inf : nan;
}

template <class V>
DNN_MATH_FN V asinh(V x) {
  const V a = abs(x), z = a * a, zero{};
  const V large = log_sum(a, zero, broadcast<V>(kLn2));
  const V r = log_one_plus(a + z / (sqrt(z + 1.0f) + 1.0f));
  const V finite = a > 4096.0f ? large : r;  // a*a + 1 rounds to a*a or overflows
  return ((a < __builtin_inff()) & (a > 0.0f)) ? with_sign(finite, x) : x;
}

template <class V>
DNN_MATH_FN V acosh(V x) {
  const V t = x - 1.0f, zero{};
  const V large = log_sum(x, zero, broadcast<V>(kLn2));
  const V r = log_one_plus(t + sqrt(madd(t, t, 2.0f * t)));
  const V finite = x > 4096.0f ? large : r;
  return x >= 1.0f ? (x < __builtin_inff() ? finite : x) : broadcast<V>(__builtin_nanf(""));
}

template <class V>
DNN_MATH_FN V atanh(V x) {
  const V a = abs(x);
  const V r = 0.5f * log_one_plus(2.0f * a / (1.0f - a));
  const V in = a == 1.0f ? broadcast<V>(__builtin_inff()) : a < 0x1p-13f ? a : r;
  return a <= 1.0f ? with_sign(in, x) : broadcast<V>(__builtin_nanf(""));
}

// Trigonometry ---------------------------------------------------------------

constexpr float kPio2Hi = 0x1.921fb6p+0f, kPio2Lo = -0x1.777a5cp-25f;

// huge_quadrant multiplies the mantissa by the 96 relevant bits of 2/pi (Payne and Hanek); higher
// bits only add whole turns.
__attribute__((unused)) static float huge_quadrant(float a, uint32_t* q) {
  // The bits of 2/pi, with 32 zeros before the binary point.
  static const uint32_t table[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                   0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
  if (!(a < __builtin_inff())) {
    *q = 0;
    return __builtin_nanf("");
  }
  const uint32_t b = to_bits(a);
  const uint64_t m = (b & 0x7fffffu) | 0x800000u;
  // a = m * 2^e; the window begins e-2 bits after the binary point (e >= -13).
  const uint32_t s = (b >> 23) - 150u - 2u + 32u;
  uint64_t w[3];
  for (uint32_t i = 0; i < 3; i++) {
    const uint64_t pair = static_cast<uint64_t>(table[s / 32 + i]) << 32 | table[s / 32 + i + 1];
    w[i] = static_cast<uint32_t>(pair << s % 32 >> 32);
  }
  const uint64_t p = (m * w[0] << 32) + m * w[1] + (m * w[2] >> 32);
  const int64_t frac = static_cast<int64_t>(p << 2);
  *q = static_cast<uint32_t>(p >> 62) + (frac < 0 ? 1u : 0u);
  return static_cast<float>(static_cast<double>(frac) * 0x1.921fb54442d18p-64);
}

// quadrant splits a >= 0 into q quarter turns and r in [-pi/4, pi/4]. pi/2 is split into parts of
// 14 bits, whose products with q < 2^10 are exact, and a tail.
template <class V>
DNN_MATH_FN V quadrant(V a, bits_of<V>* q) {
  V k = madd(a, broadcast<V>(0x1.45f306p-1f), kMagic);
  *q = to_bits<V>(k) - kMagicBits;
  k = k - kMagic;
  V r = madd(k, -0x1.9218p+0f, a);
  r = madd(k, -0x1.ed5p-14f, r);
  r = madd(k, -0x1.10ap-30f, r);
  r = madd(k, -0x1.4611a6p-42f, r);
  if (__builtin_expect(any(a, 1600.0f), 0)) {
    if constexpr (is_same<V, float>::value) {
      r = huge_quadrant(a, q);
    } else {
      for (int i = 0; i < lanes<V>::count; i++) {
        if (a[i] < 1600.0f) continue;
        uint32_t turns;
        r[i] = huge_quadrant(a[i], &turns);
        (*q)[i] = turns;
      }
    }
  }
  return r;
}

template <class V>
DNN_MATH_FN V sin_poly(V r) {
  const V z = r * r;
  V p = broadcast<V>(-0x1.99436ep-13f);
  p = madd(p, z, 0x1.11073ap-7f);
  p = madd(p, z, -0x1.555546p-3f);
  return madd(r * z, p, r);
}

template <class V>
DNN_MATH_FN V cos_poly(V r) {
  const V z = r * r;
  V p = broadcast<V>(0x1.99eb34p-16f);
  p = madd(p, z, -0x1.6c0c32p-10f);
  p = madd(p, z, 0x1.55554ap-5f);
  return madd(z * z, p, madd(z, broadcast<V>(-0.5f), 1.0f));
}

// sin_turned returns the sine of r plus q quarter turns.
template <class V>
DNN_MATH_FN V sin_turned(bits_of<V> q, V r) {
  const V y = (q & 1u) != 0u ? cos_poly(r) : sin_poly(r);
  return from_bits<V>(to_bits<V>(y) ^ (q << 30 & 0x80000000u));
}

template <class V>
DNN_MATH_FN V sin(V x) {
  bits_of<V> q;
  const V r = quadrant(abs(x), &q);
  return from_bits<V>(to_bits<V>(sin_turned(q, r)) ^ (to_bits<V>(x) & 0x80000000u));
}

template <class V>
DNN_MATH_FN V cos(V x) {
  bits_of<V> q;
  const V r = quadrant(abs(x), &q);
  return sin_turned(q + 1u, r);
}

template <class V>
DNN_MATH_FN V tan(V x) {
  bits_of<V> q;
  const V r = quadrant(abs(x), &q);
  const V s = sin_poly(r), c = cos_poly(r);
  const auto odd = (q & 1u) != 0u;
  const V t = (odd ? -c : s) / (odd ? s : c);
  return from_bits<V>(to_bits<V>(t) ^ (to_bits<V>(x) & 0x80000000u));
}

// asin_poly returns (asin(s) - s) / s^3 for z = s^2 <= 1/4.
template <class V>
DNN_MATH_FN V asin_poly(V z) {
  V p = broadcast<V>(0x1.596d2ap-5f);
  p = madd(p, z, 0x1.8c283cp-6f);
  p = madd(p, z, 0x1.747e4ap-5f);
  p = madd(p, z, 0x1.3301e4p-4f);
  return madd(p, z, 0x1.5555c8p-3f);
}

template <class V>
DNN_MATH_FN V asin(V x) {
  const V a = abs(x);
  const auto big = a > 0.5f;
  const V z = big ? (1.0f - a) * 0.5f : a * a;
  const V s = big ? sqrt(z) : a;
  const V p = madd(s * z, asin_poly(z), s);
  return with_sign(big ? kPio2Hi - (2.0f * p - kPio2Lo) : p, x);
}

template <class V>
DNN_MATH_FN V acos(V x) {
  const V a = abs(x);
  const auto big = a > 0.5f;
  const V z = big ? (1.0f - a) * 0.5f : x * x;
  const V s = big ? sqrt(z) : x;
  const V p = madd(s * z, asin_poly(z), s), p2 = 2.0f * p;
  const V far = x < 0.0f ? 2.0f * kPio2Hi - (p2 - 2.0f * kPio2Lo) : p2;
  return big ? far : kPio2Hi - (p - kPio2Lo);
}

template <class V>
DNN_MATH_FN V atan(V x) {
  const V a = abs(x), zero{}, one = zero + 1.0f;
  const auto steep = a > 2.414213562f;    // tan(3/8 pi)
  const auto middle = a > 0.4142135624f;  // tan(pi/8)
  const V num = steep ? -one : middle ? a - 1.0f : a;
  const V den = steep ? a : middle ? a + 1.0f : one;
  const V hi = steep ? zero + kPio2Hi : middle ? zero + kPio2Hi / 2 : zero;
  const V lo = steep ? zero + kPio2Lo : middle ? zero + kPio2Lo / 2 : zero;
  const V t = num / den, z = t * t;
  V p = broadcast<V>(-0x1.f1ed4cp-5f);
  p = madd(p, z, 0x1.b1ec24p-4f);
  p = madd(p, z, -0x1.23b522p-3f);
  p = madd(p, z, 0x1.999196p-3f);
  p = madd(p, z, -0x1.55554ap-2f);
  return with_sign(hi + (t + madd(t * z, p, lo)), x);
}

// Powers ---------------------------------------------------------------------

DNN_MATH_FN double log2_wide(float a) {
  if (a == 0) return -__builtin_inf();
  if (a == __builtin_inff()) return __builtin_inf();
  const double wide = a;
  uint64_t bits;
  __builtin_memcpy(&bits, &wide, sizeof bits);
  const uint64_t e = ((bits + (0x4000000000000000u - 0x3fe6a09e667f3bcdu)) >> 52) - 1024u;
  const uint64_t mantissa = bits - (e << 52);
  double m;
  __builtin_memcpy(&m, &mantissa, sizeof m);
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 0x1.91159fed70eb0p-4;
  p = p * z + 0x1.c62b1368aadadp-4;
  p = p * z + 0x1.249411f225fd0p-3;
  p = p * z + 0x1.999996a940528p-3;
  p = p * z + 0x1.555555561e472p-2;
  p = p * z + 1;
  return s * 0x1.71547652b82fep+1 * p + static_cast<double>(static_cast<int64_t>(e));
}

DNN_MATH_FN double exp2_wide(double t) {
  t = t < -200 ? -200 : t > 200 ? 200 : t;
  const double k = t + 0x1.8p52;
  uint64_t n;
  __builtin_memcpy(&n, &k, sizeof n);
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
  const uint64_t power = (n - 0x4338000000000000u + 1023u) << 52;
  double factor;
  __builtin_memcpy(&factor, &power, sizeof factor);
  return p * factor;
}

// pow_scalar computes 2^(y*log2|x|) in double; about 36 bits are correct.
__attribute__((unused)) static float pow_scalar(float x, float y) {
  if (x == 1 || y == 0) return 1;
  if (x != x || y != y) return __builtin_nanf("");
  const float a = abs(x);
  const bool even = abs(y) >= 0x1p24f, whole = even || trunc(y) == y;
  const bool odd = !even && whole && (static_cast<int32_t>(y) & 1) != 0;
  if (x < 0 && !whole && a < __builtin_inff()) return __builtin_nanf("");
  const double l = log2_wide(a);
  const float r = static_cast<float>(exp2_wide(l == 0 ? 0 : static_cast<double>(y) * l));
  return odd ? with_sign(r, x) : r;
}

template <class V>
DNN_MATH_FN V pow(V x, V y) {
  return by_lane(pow_scalar, x, y);
}

// Integers -------------------------------------------------------------------

template <class T>
constexpr bool is_signed = T(-1) < T(0);

// Arithmetic uses uint64_t, or unsigned lanes in vectors, where it wraps; the conversion to T
// wraps, too.
template <class T>
DNN_MATH_FN T iadd(T a, T b) {
  if constexpr (is_vector<T>::value) {
    return reinterpret_cast<T>(reinterpret_cast<unsigned_of<T>>(a) +
                               reinterpret_cast<unsigned_of<T>>(b));
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}
template <class T>
DNN_MATH_FN T isub(T a, T b) {
  if constexpr (is_vector<T>::value) {
    return reinterpret_cast<T>(reinterpret_cast<unsigned_of<T>>(a) -
                               reinterpret_cast<unsigned_of<T>>(b));
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
}
template <class T>
DNN_MATH_FN T imul(T a, T b) {
  if constexpr (is_vector<T>::value) {
    return reinterpret_cast<T>(reinterpret_cast<unsigned_of<T>>(a) *
                               reinterpret_cast<unsigned_of<T>>(b));
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
}
template <class T>
DNN_MATH_FN T ineg(T a) {
  return isub<T>(T{}, a);
}
template <class T>
DNN_MATH_FN T iabs(T a) {
  if constexpr (!is_signed<lane_of<T>>) {
    return a;
  } else if constexpr (is_vector<T>::value) {
    return a < 0 ? ineg<T>(a) : a;
  } else {
    return a < T(1) ? ineg<T>(a) : a;
  }
}
template <class T>
DNN_MATH_FN T isign(T a) {
  if constexpr (is_vector<T>::value && is_signed<lane_of<T>>) {
    return reinterpret_cast<T>((a < 0) - (a > 0));  // a true comparison is -1
  } else if constexpr (is_vector<T>::value) {
    return reinterpret_cast<T>(a != 0) & 1;
  } else {
    return static_cast<T>((a > T(0)) - (a < T(1) && a != T(0)));
  }
}
template <class T>
DNN_MATH_FN T imin(T a, T b) {
  return a < b ? a : b;
}
template <class T>
DNN_MATH_FN T imax(T a, T b) {
  return a > b ? a : b;
}

// idiv truncates. A quotient by zero is zero, and the smallest integer divided by -1 wraps.
template <class T>
DNN_MATH_FN T idiv(T a, T b) {
  if (b == T(0)) return T(0);
  if (is_signed<T> && b == T(-1)) return ineg<T>(a);
  return static_cast<T>(a / b);
}
// ifmod returns a remainder with the sign of a, imod with the sign of b.
template <class T>
DNN_MATH_FN T ifmod(T a, T b) {
  if (b == T(0) || (is_signed<T> && b == T(-1))) return T(0);
  return static_cast<T>(a % b);
}
template <class T>
DNN_MATH_FN T imod(T a, T b) {
  const T r = ifmod<T>(a, b);
  return r != T(0) && is_signed<T> && (r < T(1)) != (b < T(1)) ? static_cast<T>(r + b) : r;
}

// The checked functions also set *bad to 1 if the divisor is 0.
template <class T>
DNN_MATH_FN T idiv_checked(T a, T b, int* bad) {
  *bad |= b == T(0);
  return idiv<T>(a, b);
}
template <class T>
DNN_MATH_FN T ifmod_checked(T a, T b, int* bad) {
  *bad |= b == T(0);
  return ifmod<T>(a, b);
}
template <class T>
DNN_MATH_FN T imod_checked(T a, T b, int* bad) {
  *bad |= b == T(0);
  return imod<T>(a, b);
}

// ipow wraps. A negative exponent returns the quotient truncated to zero, and 0 for a = 0.
template <class T>
DNN_MATH_FN T ipow(T a, T n) {
  if (is_signed<T> && n < T(1) && n != T(0)) {
    if (a == T(1) || (a == T(-1) && n % 2 == 0)) return T(1);
    return a == T(-1) ? a : T(0);
  }
  uint64_t r = 1, square = static_cast<uint64_t>(a);
  for (uint64_t k = static_cast<uint64_t>(n); k != 0; k >>= 1) {
    if (k & 1) r *= square;
    square *= square;
  }
  return static_cast<T>(r);
}

// A shift by the width or more returns what a wider register would hold: 0, or the sign bits.
template <class T>
DNN_MATH_FN T shl(T a, T n) {
  const uint64_t by = static_cast<uint64_t>(n);
  return by > 63 ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << by);
}
template <class T>
DNN_MATH_FN T shr(T a, T n) {
  const uint64_t by = static_cast<uint64_t>(n), most = 8 * sizeof(T) - 1;
  if (by > most) return is_signed<T> ? static_cast<T>(a >> most) : T(0);
  return static_cast<T>(a >> by);
}

// Conversions ----------------------------------------------------------------

// For 8 and 16 bits, whose bounds are exact floats. Without branches, compilers vectorize it.
template <class T, class F>
DNN_MATH_FN T saturate_short(F x) {
  constexpr F least = is_signed<T> ? -static_cast<F>(1 << (8 * sizeof(T) - 1)) : F(0);
  constexpr F most = static_cast<F>((1 << (8 * sizeof(T) - is_signed<T>)) - 1);
  x = pick(x == x, x, F(0));
  x = pick(x > least, x, least);
  x = pick(x < most, x, most);
  return static_cast<T>(static_cast<int32_t>(x));
}

template <class T, class F>
DNN_MATH_FN T saturate(F x) {
  if constexpr (sizeof(T) < 4) return saturate_short<T>(x);
  constexpr int bits = 8 * sizeof(T) - is_signed<T>;
  constexpr F limit = static_cast<F>(uint64_t{1} << (bits - 1)) * 2;
  constexpr uint64_t most = ~uint64_t{0} >> (64 - bits);
  if (x >= limit) return static_cast<T>(most);
  if constexpr (is_signed<T>) {
    if (x < -limit) return static_cast<T>(~most);
    return x == x ? static_cast<T>(x) : T(0);
  } else {
    return x >= 1 ? static_cast<T>(x) : T(0);
  }
}

// quantize rounds x to the nearest integer, half to even, adds the zero point and saturates to its
// type; NaN becomes 0. It clamps x first, so that the operand of the rounding is not a product that
// could be fused with the addition. After adding 1.5 * 2^23 to a float, its low bits are the
// integer.
template <class T>
DNN_MATH_FN T quantize(float x, T zero) {
  const float z = static_cast<float>(zero);
  constexpr float least = is_signed<T> ? -static_cast<float>(1 << (8 * sizeof(T) - 1)) : 0.0f;
  constexpr float most = static_cast<float>((1 << (8 * sizeof(T) - is_signed<T>)) - 1);
  float y = pick(x > least - z, x, least - z);
  y = pick(y < most - z, y, most - z);
  const int32_t q = bits<int32_t>(y + 0x1.8p23f) - 0x4b400000 + zero;
  return static_cast<T>(q & -static_cast<int32_t>(x == x));
}

// rounded hides conversions between float and double from GCC before 14. When these versions
// vectorize neighbouring statements, they drop conversions from double to float and back,
// because they compare numbers of lanes instead of precisions.
DNN_MATH_FN float rounded(float x) {
#if !defined(__GNUC__) || defined(__clang__) || __GNUC__ >= 14
  return x;
#elif defined(__x86_64__)
  __asm__("" : "+x"(x));
#elif defined(__aarch64__)
  __asm__("" : "+w"(x));
#else
  __asm__("" : "+m"(x));
#endif
  return x;
}

// cast converts between number types and bool. Floats to integers truncate and saturate, and NaN
// becomes 0; integers wrap.
template <class T, class S>
DNN_MATH_FN T cast(S x) {
  constexpr bool from_float = is_same<S, float>::value || is_same<S, double>::value;
  constexpr bool to_float = is_same<T, float>::value || is_same<T, double>::value;
  if constexpr (from_float && !to_float) {
    return saturate<T, S>(x);
  } else if constexpr (is_same<T, float>::value && is_same<S, double>::value) {
    return rounded(static_cast<float>(x));
  } else if constexpr (is_same<T, double>::value && is_same<S, float>::value) {
    return static_cast<double>(rounded(x));
  } else {
    return static_cast<T>(x);
  }
}

// Halves: f16 and bf16 have 16 bits in memory and are float in registers, in vectors of the same
// number of lanes. They are converted by the processor's instruction, or by integer operations
// without branches, which compilers vectorize. Both produce the same bits. A NaN becomes quiet; it
// keeps its sign and the bits of its payload that fit.
template <class V>
struct halves {
  typedef uint16_t U __attribute__((vector_size(sizeof(V) / 2)));
};
template <>
struct halves<float> {
  typedef uint16_t U;
};
template <class V>
using halves_of = typename halves<V>::U;

// convert converts each lane to the lane type of To.
template <class To, class From>
DNN_MATH_FN To convert(From x) {
  if constexpr (is_same<From, uint16_t>::value || is_same<From, uint32_t>::value) {
    return static_cast<To>(x);
  } else {
    return __builtin_convertvector(x, To);
  }
}

// zero_extended converts to lanes of 32 bits. GCC splits long vectors into halves although one
// instruction does it.
template <class V>
DNN_MATH_FN bits_of<V> zero_extended(halves_of<V> h) {
#if defined(__AVX2__) && !defined(__clang__)
  typedef short S __attribute__((vector_size(16)));
  if constexpr (lanes<V>::count == 8) {
    return reinterpret_cast<bits_of<V>>(__builtin_ia32_pmovzxwd256(reinterpret_cast<S>(h)));
  }
#endif
#if defined(__AVX512F__) && !defined(__clang__)
  typedef short S16 __attribute__((vector_size(32)));
  typedef int I16 __attribute__((vector_size(64)));
  if constexpr (lanes<V>::count == 16) {
    const S16 s = reinterpret_cast<S16>(h);
    return reinterpret_cast<bits_of<V>>(__builtin_ia32_pmovzxwd512_mask(s, I16{}, 0xffff));
  }
#endif
  return convert<bits_of<V>>(h);
}

template <class V>
DNN_MATH_FN V f16_to_f32_by_integers(halves_of<V> h) {
  typedef bits_of<V> U;
  const U u = zero_extended<V>(h), size = (u & 0x7fffu) << 13;
  const V small = from_bits<V>(size + 0x38800000u) - 0x1p-14f;  // below the smallest normal half
  const U special = (size + 0x70000000u) | (size > 0x0f800000u ? U{} + 0x400000u : U{});
  const U normal = size >= 0x0f800000u ? special : size + 0x38000000u;
  return from_bits<V>((size < 0x00800000u ? to_bits(small) : normal) | (u & 0x8000u) << 16);
}

template <class V>
DNN_MATH_FN halves_of<V> f32_to_f16_by_integers(V x) {
  typedef bits_of<V> U;
  const U u = to_bits(x), b = u & 0x7fffffffu;
  const U small = to_bits(from_bits<V>(b) + 0.5f) - 0x3f000000u;  // units of 2^-24
  const U normal = (b + 0xfffu + (b >> 13 & 1u) - 0x38000000u) >> 13;
  const U nan = (b >> 13 & 0x3ffu) | 0x7e00u;
  const U finite = b < 0x38800000u ? small : normal;
  const U greatest =
      b >= 0x477ff000u ? U{} + 0x7c00u : finite;  // 65520 and above round to infinity
  return convert<halves_of<V>>((b > 0x7f800000u ? nan : greatest) | (u >> 16 & 0x8000u));
}

#if defined(__F16C__)
typedef short f16c_lanes __attribute__((vector_size(16)));
typedef float f16c_f32x4 __attribute__((vector_size(16)));
typedef float f16c_f32x8 __attribute__((vector_size(32)));
typedef float f16c_f32x16 __attribute__((vector_size(64)));
typedef short f16c_lanes16 __attribute__((vector_size(32)));
#endif

#if defined(__F16C__)
// LLVM would compare halves before it widens them. On processors without half arithmetic it does
// that lane by lane.
template <class Y>
DNN_MATH_FN Y widened(Y y) {
#if defined(__clang__)
  __asm__("" : "+v"(y));
#endif
  return y;
}
#endif

template <class V>
DNN_MATH_FN V f16_to_f32(halves_of<V> h) {
#if defined(__F16C__)
  constexpr int count = lanes<V>::count;
  if constexpr (count == 1 || count == 4) {
    f16c_lanes r = {};
    __builtin_memcpy(&r, &h, sizeof h);
    const f16c_f32x4 y = widened(__builtin_ia32_vcvtph2ps(r));
    V x;
    __builtin_memcpy(&x, &y, sizeof x);
    return x;
  }
  if constexpr (count == 8) {
    f16c_lanes r;
    __builtin_memcpy(&r, &h, sizeof r);
    return reinterpret_cast<V>(widened(__builtin_ia32_vcvtph2ps256(r)));
  }
#if defined(__AVX512F__)
  if constexpr (count == 16) {
    f16c_lanes16 r;
    __builtin_memcpy(&r, &h, sizeof r);
    return reinterpret_cast<V>(
        widened(__builtin_ia32_vcvtph2ps512_mask(r, f16c_f32x16{}, 0xffff, 4)));
  }
#endif
#elif defined(__aarch64__)
  if constexpr (lanes<V>::count == 1) {
    __fp16 y;
    __builtin_memcpy(&y, &h, sizeof y);
    return y;
  }
  if constexpr (lanes<V>::count == 4) {
    V x;
    __asm__("fcvtl %0.4s, %1.4h" : "=w"(x) : "w"(h));
    return x;
  }
#endif
  return f16_to_f32_by_integers<V>(h);
}
DNN_MATH_FN float f16_to_f32(uint16_t h) { return f16_to_f32<float>(h); }

template <class V>
DNN_MATH_FN halves_of<V> f32_to_f16(V x) {
#if defined(__F16C__)
  constexpr int count = lanes<V>::count;
  if constexpr (count == 1 || count == 4) {
    f16c_f32x4 y = {};
    __builtin_memcpy(&y, &x, sizeof x);
    const f16c_lanes r = __builtin_ia32_vcvtps2ph(y, 0);
    halves_of<V> h;
    __builtin_memcpy(&h, &r, sizeof h);
    return h;
  }
  if constexpr (count == 8) {
    return reinterpret_cast<halves_of<V>>(__builtin_ia32_vcvtps2ph256(x, 0));
  }
#if defined(__AVX512F__)
  if constexpr (count == 16) {
    return reinterpret_cast<halves_of<V>>(
        __builtin_ia32_vcvtps2ph512_mask(x, 0, f16c_lanes16{}, 0xffff));
  }
#endif
#elif defined(__aarch64__)
  if constexpr (lanes<V>::count == 1) {
    const __fp16 y = static_cast<__fp16>(x);
    halves_of<V> h;
    __builtin_memcpy(&h, &y, sizeof h);
    return h;
  }
  if constexpr (lanes<V>::count == 4) {
    halves_of<V> h;
    __asm__("fcvtn %0.4h, %1.4s" : "=w"(h) : "w"(x));
    return h;
  }
#endif
  return f32_to_f16_by_integers<V>(x);
}

template <class V>
DNN_MATH_FN V bf16_to_f32(halves_of<V> h) {
#if defined(__aarch64__)
  if constexpr (lanes<V>::count == 4) {
    V x;
    __asm__("shll %0.4s, %1.4h, #16" : "=w"(x) : "w"(h));
    return x;
  }
#endif
  return from_bits<V>(zero_extended<V>(h) << 16);
}
DNN_MATH_FN float bf16_to_f32(uint16_t h) { return bf16_to_f32<float>(h); }

template <class V>
DNN_MATH_FN halves_of<V> f32_to_bf16_by_integers(V x) {
  typedef bits_of<V> U;
  const U b = to_bits(x), near = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
  return convert<halves_of<V>>((b & 0x7fffffffu) > 0x7f800000u ? (b >> 16 | 0x40u) : near);
}

// f32_to_bf16 rounds to the nearest bf16. If denormal numbers are zeros in a run, instructions of
// ARM convert them to zeros.
template <class V>
DNN_MATH_FN halves_of<V> f32_to_bf16(V x) {
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  if constexpr (lanes<V>::count == 1) {
    __fp16 y;
    __asm__("bfcvt %h0, %s1" : "=w"(y) : "w"(x));
    halves_of<V> h;
    __builtin_memcpy(&h, &y, sizeof h);
    return h;
  }
  if constexpr (lanes<V>::count == 4) {
    halves_of<V> h;
    __asm__("bfcvtn %0.4h, %1.4s" : "=w"(h) : "w"(x));
    return h;
  }
#endif
  return f32_to_bf16_by_integers<V>(x);
}

// exact_bf16 converts floats that bf16 represents exactly.
template <class V>
DNN_MATH_FN halves_of<V> exact_bf16(V x) {
  return convert<halves_of<V>>(to_bits(x) >> 16);
}

// round_odd rounds to odd, so that rounding the result once more rounds x correctly.
DNN_MATH_FN float round_odd(double x) {
  const float f = rounded(static_cast<float>(x));
  if (static_cast<double>(f) == x || x != x || isinf(f)) return f;
  uint32_t b = to_bits(f);
  if (__builtin_fabs(static_cast<double>(f)) > __builtin_fabs(x)) b--;
  return from_bits<float>(b | 1u);
}

// round_f16 and round_bf16 round a number, or each lane of a vector of floats, to the type and
// return it as float.
template <class S>
DNN_MATH_FN auto round_f16(S x) {
  if constexpr (is_same<S, float>::value || is_vector<S>::value) {
    return f16_to_f32<S>(f32_to_f16<S>(x));
  } else {
    return f16_to_f32<float>(f32_to_f16<float>(round_odd(static_cast<double>(x))));
  }
}

template <class S>
DNN_MATH_FN auto round_bf16(S x) {
  if constexpr (is_same<S, float>::value || is_vector<S>::value) {
    return bf16_to_f32<S>(f32_to_bf16<S>(x));
  } else {
    return bf16_to_f32<float>(f32_to_bf16<float>(round_odd(static_cast<double>(x))));
  }
}

// held_f16 and held_bf16 return the operand of the function narrow: x, but a finite x beyond the
// type's range becomes the largest number with the sign of x. With fma, adding x * 2^-126 restores
// infinities and NaN; for other x the product is less than half a unit of the result.
template <class V>
DNN_MATH_FN V held(V x, float most) {
#if defined(__aarch64__)
  V y = x;
  if constexpr (lanes<V>::count == 4) {
    const V hi = broadcast<V>(most), lo = broadcast<V>(-most);
    __asm__("fmin %0.4s, %0.4s, %1.4s\n\tfmax %0.4s, %0.4s, %2.4s" : "+w"(y) : "w"(hi), "w"(lo));
  } else {
    y = clamp(x, -most, most);
  }
#else
  const V y = clamp(x, -most, most);
#endif
#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
  return madd(x, 0x1p-126f, y);
#else
  return abs(x) == broadcast<V>(__builtin_inff()) ? x : y;
#endif
}

template <class V>
DNN_MATH_FN V held_f16(V x) {
  return held(x, 65504.0f);
}
template <class V>
DNN_MATH_FN V held_bf16(V x) {
  return held(x, 0x1.fep127f);
}

// double: functions that have no builtin.
DNN_MATH_FN double min(double x, double y) { return x < y || x != x ? x : y; }
DNN_MATH_FN double max(double x, double y) { return x > y || x != x ? x : y; }

// These builtins scale denormal operands up, which produces wrong results if denormals are flushed
// to zero on the way. The comparison makes such operands zero first.
DNN_MATH_FN double log(double x) { return x == 0 ? -__builtin_inf() : __builtin_log(x); }
DNN_MATH_FN double pow(double x, double y) {
  if (y == 0) return 1;
  return __builtin_pow(x == 0 ? __builtin_copysign(0.0, x) : x, y);
}

}  // namespace dnn_math

#endif  // RULES_DNN_RUNTIME_DNN_MATH_H_
