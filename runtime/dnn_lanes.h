// Vectors of any number type: lane-wise conversions and selections that match dnn_math.h's scalar
// functions. A vector of bool is a mask: signed integers, each 0 or -1.
#ifndef RULES_DNN_RUNTIME_DNN_LANES_H_
#define RULES_DNN_RUNTIME_DNN_LANES_H_

#include <stdint.h>

#include "runtime/dnn_math.h"

// A vector of kLanes lanes.
template <class T, int kLanes>
using dnn_vec = typename dnn_math::vector_of<T, kLanes>::type;

namespace dnn_math {

template <class T>
constexpr bool is_float = is_same<T, float>::value || is_same<T, double>::value;

// GCC emits compare and select for bounds that one instruction computes, widens in two halves, and
// masks before it narrows. These functions use the instructions; Clang selects them itself.
#if defined(__AVX2__) && !defined(__clang__)
#define DNN_MATH_AVX2 1
// widened_lanes widens integers to a full register.
template <class V, class S>
DNN_MATH_FN V widened_lanes(S x) {
  constexpr int to = sizeof(lane_of<V>), from = sizeof(lane_of<S>);
  constexpr bool sign = is_signed<lane_of<S>>;
  V y;
#define DNN_WIDEN(instruction) __asm__(instruction " %1, %0" : "=x"(y) : "xm"(x))
  if constexpr (to == 4 && from == 1) {
    double eight;  // the bytes, in a type that fits a register
    __builtin_memcpy(&eight, &x, sizeof(eight));
    if constexpr (sign) {
      __asm__("vpmovsxbd %1, %0" : "=x"(y) : "xm"(eight));
    } else {
      __asm__("vpmovzxbd %1, %0" : "=x"(y) : "xm"(eight));
    }
  } else if constexpr (to == 4) {
    if constexpr (sign) {
      DNN_WIDEN("vpmovsxwd");
    } else {
      DNN_WIDEN("vpmovzxwd");
    }
  } else if constexpr (sign) {
    DNN_WIDEN("vpmovsxbw");
  } else {
    DNN_WIDEN("vpmovzxbw");
  }
#undef DNN_WIDEN
  return y;
}
#endif

// convert_lanes converts lanes as a C cast does. Each step doubles or halves the width, because GCC
// converts larger steps lane by lane.
template <class V, class S>
DNN_MATH_FN V convert_lanes(const S& x) {
  typedef lane_of<V> T;
  typedef lane_of<S> F;
  constexpr int to = sizeof(T), from = sizeof(F);
  if constexpr (is_same<T, F>::value) {
    return x;
  } else if constexpr (is_float<T> && !is_float<F> && from < to) {
    typedef with_lanes<typename integer_of<to, true>::type, S> I;
    return __builtin_convertvector(convert_lanes<I>(x), V);
#if defined(DNN_MATH_AVX2)
  } else if constexpr (!is_float<T> && !is_float<F> && from < to && to <= 4 && sizeof(V) == 32) {
    return widened_lanes<V>(x);
#endif
  } else if constexpr (!is_float<T> && !is_float<F> && (to > 2 * from || from > 2 * to)) {
    constexpr int step = to > from ? 2 * from : from / 2;
    typedef with_lanes<typename integer_of<step, is_signed<F>>::type, S> I;
    return convert_lanes<V>(__builtin_convertvector(x, I));
  } else {
    return __builtin_convertvector(x, V);
  }
}

// mask converts a mask to lanes of another width.
template <class M, class C>
DNN_MATH_FN M mask(C c) {
  if constexpr (sizeof(M) == sizeof(C)) {
    return reinterpret_cast<M>(c);
  } else {
    return convert_lanes<M>(
        reinterpret_cast<with_lanes<typename integer_of<sizeof(lane_of<C>), true>::type, C>>(c));
  }
}

// same_mask sets all lanes to b.
template <class M>
DNN_MATH_FN M same_mask(bool b) {
  return M{} - static_cast<lane_of<M>>(b);
}

// counted returns first, first + kStep, first + 2 * kStep, ...
template <class V, int64_t kStep>
DNN_MATH_FN V counted(lane_of<V> first) {
  V steps{};
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(lane_of<V>)); ++i) {
    steps[i] = static_cast<lane_of<V>>(i * kStep);
  }
  return broadcast<V>(first) + steps;
}

// choose returns x where the mask is set, else y.
template <class C, class V>
DNN_MATH_FN V choose(C c, V x, V y) {
  typedef with_lanes<typename integer_of<sizeof(lane_of<V>), true>::type, V> M;
  return mask<M>(c) ? x : y;
}

// bounded clamps x to bounds of its type; NaN becomes the lower bound.
template <class V>
DNN_MATH_FN V bounded(V x, V least, V most) {
#if defined(DNN_MATH_AVX2)
  if constexpr (is_same<lane_of<V>, float>::value && sizeof(V) == 32) {
    __asm__("vmaxps %1, %0, %0" : "+x"(x) : "xm"(least));
    __asm__("vminps %1, %0, %0" : "+x"(x) : "xm"(most));
    return x;
  }
#endif
  x = x > least ? x : least;
  return x < most ? x : most;
}

// saturate_lanes truncates floats to integers and saturates; NaN becomes 0.
template <class V, class S>
DNN_MATH_FN V saturate_lanes(S x) {
  typedef lane_of<V> T;
  typedef lane_of<S> F;
  constexpr int bits = 8 * sizeof(T) - is_signed<T>;
  if constexpr (sizeof(T) < 4) {
    constexpr F most = static_cast<F>((1 << bits) - 1), least = is_signed<T> ? -most - 1 : F(0);
    typedef with_lanes<int32_t, S> I;
    const S number = x == x ? x : S{};
    return convert_lanes<V>(
        __builtin_convertvector(bounded(number, broadcast<S>(least), broadcast<S>(most)), I));
  } else {
    constexpr F limit = static_cast<F>(uint64_t{1} << (bits - 1)) * 2;
    constexpr T most = static_cast<T>(~uint64_t{0} >> (64 - bits));
    const auto large = x >= limit, inside = (x < limit) & (is_signed<T> ? x >= -limit : x >= F(1));
    const V y = __builtin_convertvector(inside ? x : S{}, V);  // undefined for lanes outside
    const V beyond = choose(large, broadcast<V>(most), V{});
    if constexpr (is_signed<T>) {
      return choose(inside, y, choose(x < -limit, broadcast<V>(static_cast<T>(~most)), beyond));
    } else {
      return choose(inside, y, beyond);
    }
  }
}

// cast_lanes converts between number types as cast does.
template <class V, class S>
DNN_MATH_FN V cast_lanes(S x) {
  if constexpr (is_float<lane_of<S>> && !is_float<lane_of<V>>) {
    return saturate_lanes<V>(x);
  } else {
    return convert_lanes<V>(x);
  }
}

#if defined(DNN_MATH_AVX2)
// narrowed_lanes narrows 8 integers that fit the narrower type.
template <class V, class I>
DNN_MATH_FN V narrowed_lanes(I x) {
  typedef lane_of<V> T;
  dnn_vec<T, 16 / static_cast<int>(sizeof(T))> y;
  V out;
  if constexpr (is_same<T, uint16_t>::value) {
    __asm__("vextracti128 $1, %1, %0\n\tvpackusdw %0, %x1, %0" : "=&x"(y) : "x"(x));
  } else {
    __asm__("vextracti128 $1, %1, %0\n\tvpackssdw %0, %x1, %0" : "=&x"(y) : "x"(x));
  }
  if constexpr (sizeof(T) == 1 && is_signed<T>) {
    __asm__("vpacksswb %0, %0, %0" : "+x"(y));
  } else if constexpr (sizeof(T) == 1) {
    __asm__("vpackuswb %0, %0, %0" : "+x"(y));
  }
  __builtin_memcpy(&out, &y, sizeof(out));
  return out;
}
#endif

#if defined(__AVX2__)
// quantize_eight rounds 8 floats to unsigned integers. Values below the range and NaN become
// INT32_MIN, which narrowing saturates to 0.
template <class V, class F>
DNN_MATH_FN V quantize_eight(F x, F most, with_lanes<int32_t, F> zero) {
  typedef int32_t quarters __attribute__((vector_size(16)));
  typedef long long pairs __attribute__((vector_size(32)));
  typedef with_lanes<int32_t, F> I;
  const pairs q = reinterpret_cast<pairs>(
      reinterpret_cast<I>(__builtin_ia32_cvtps2dq256(__builtin_ia32_minps256(most, x))) + zero);
  const auto low = reinterpret_cast<quarters>(__builtin_ia32_extract128i256(q, 0));
  const auto high = reinterpret_cast<quarters>(__builtin_ia32_extract128i256(q, 1));
  V out;
  if constexpr (sizeof(lane_of<V>) == 2) {
    const auto y = __builtin_ia32_packusdw128(low, high);
    __builtin_memcpy(&out, &y, sizeof(out));
  } else {
    const auto words = __builtin_ia32_packssdw128(low, high);
    const auto y = __builtin_ia32_packuswb128(words, words);
    __builtin_memcpy(&out, &y, sizeof(out));
  }
  return out;
}
#endif

// quantize_lanes matches quantize. After adding 1.5 * 2^23 to a float, its low bits are the
// integer.
template <class V, class F>
DNN_MATH_FN V quantize_lanes(F x, V zero) {
  typedef lane_of<V> T;
  typedef with_lanes<int32_t, V> I;
  constexpr float most = static_cast<float>((1 << (8 * sizeof(T) - is_signed<T>)) - 1);
  constexpr float least = is_signed<T> ? -most - 1.0f : 0.0f;
#if defined(__AVX2__)
  if constexpr (sizeof(F) == 32 && sizeof(lane_of<F>) == 4 && !is_signed<T> && sizeof(T) <= 2) {
    return quantize_eight<V>(x, most - convert_lanes<F>(zero), convert_lanes<I>(zero));
  }
#endif
  const F z = convert_lanes<F>(zero), y = bounded(x, least - z, most - z);
  const I q = bits<I>(y + 0x1.8p23f) - 0x4b400000 + convert_lanes<I>(zero);
  const I number = least == 0.0f ? q : (x == x ? q : I{});  // NaN is clamped to the lower bound
#if defined(DNN_MATH_AVX2)
  if constexpr (sizeof(I) == 32) return narrowed_lanes<V>(number);
#endif
  return convert_lanes<V>(number);
}

}  // namespace dnn_math

// bool in memory, a mask in registers.
template <typename M>
static inline M dnn_load_bool(const bool* p) {
  dnn_math::with_lanes<int8_t, M> b;
  __builtin_memcpy(&b, p, sizeof b);
  return dnn_math::mask<M>(b != 0);
}

template <typename M>
static inline void dnn_store_bool(bool* p, M m) {
  const auto b = dnn_math::convert_lanes<dnn_math::with_lanes<int8_t, M>>(m) & 1;
  __builtin_memcpy(p, &b, sizeof b);
}

template <int kStride, typename M>
static inline void dnn_store_bool_apart(bool* p, M m) {
  for (int i = 0; i < (int)(sizeof(M) / sizeof(m[0])); ++i) p[i * kStride] = m[i] != 0;
}

#endif  // RULES_DNN_RUNTIME_DNN_LANES_H_
