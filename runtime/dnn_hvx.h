// What kernels for Hexagon include: vectors of 128 bytes (HVX) in memory, and what scalar functions
// need that C on Hexagon does not have. It is C11 and needs no C library: functions of double are
// in runtime/dsp.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_H_
#define RULES_DNN_RUNTIME_DNN_HVX_H_

#include <stdbool.h>
#include <stdint.h>

#if !defined(__HVX__) || __HVX_LENGTH__ != 128
#error "kernels for HVX want -mhvx -mhvx-length=128b"
#endif

#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>

#include "runtime/dsp/dnn_f64.h"

// A micro-kernel: a leaf of its own, so that all registers are its own.
#define DNN_HVX_LEAF __attribute__((noinline, unused)) static

// A micro-kernel that is packets of instructions alone: it uses registers that a call may, and no
// stack but for what it saves.
#define DNN_HVX_PACKETS __attribute__((naked, noinline, unused)) static

// Before a loop whose body is written out as far as is good.
#define DNN_HVX_ROLLED _Pragma("clang loop unroll(disable)")

// Elements of any type as a vector, or a group of four bytes as a word.
typedef HVX_Vector dnn_hvx_vector __attribute__((may_alias));
typedef int32_t dnn_hvx_word __attribute__((may_alias));

static inline HVX_Vector dnn_hvx_load(const void* p) { return *(const dnn_hvx_vector*)p; }

static inline void dnn_hvx_store(void* p, HVX_Vector v) { *(dnn_hvx_vector*)p = v; }

static inline int32_t dnn_hvx_group(const void* p) { return *(const dnn_hvx_word*)p; }

// Two groups of two bytes, or one and zeros, with the first bytes of both before the second ones.
static inline int32_t dnn_hvx_crossed(const void* a, const void* b) {
  typedef uint16_t dnn_hvx_half __attribute__((may_alias));
  const int32_t second = b ? *(const dnn_hvx_half*)b : 0;
  const int32_t word = Q6_R_combine_RlRl(second, *(const dnn_hvx_half*)a);
  const int64_t twice = Q6_P_combine_RR(word, word);
  return Q6_R_combine_RlRl(Q6_R_vtrunohb_P(twice), Q6_R_vtrunehb_P(twice));
}

// The bits of x as another type of its size.
#define dnn_as(T, x)                                                                      \
  ({                                                                                      \
    const __typeof__(x) dnn_as_from = (x);                                                \
    T dnn_as_to;                                                                          \
    _Static_assert(sizeof(dnn_as_from) == sizeof(dnn_as_to), "types of different sizes"); \
    __builtin_memcpy(&dnn_as_to, &dnn_as_from, sizeof(dnn_as_to));                        \
    dnn_as_to;                                                                            \
  })

// Vectors at any address.
typedef HVX_UVector dnn_hvx_unaligned __attribute__((may_alias));

static inline HVX_Vector dnn_hvx_load_any(const void* p) { return *(const dnn_hvx_unaligned*)p; }

static inline void dnn_hvx_store_any(void* p, HVX_Vector v) { *(dnn_hvx_unaligned*)p = v; }

// Words times a number of 16 bits.
static inline HVX_Vector dnn_hvx_scaled(HVX_Vector v, int32_t by) {
  return Q6_Vw_vmpyi_VwRh(v, Q6_R_combine_RlRl(by, by));
}

// Whether any bit is set.
static inline bool dnn_hvx_any(HVX_Vector mask) {
  for (int32_t shift = 64; shift >= 4; shift /= 2) {
    mask = Q6_V_vor_VV(mask, Q6_V_vror_VR(mask, shift));
  }
  return Q6_R_vextract_VR(mask, 0) != 0;
}

// The first n bytes from p on, from 1 to 128, and any others: what is read lies in the same 128
// bytes of memory as some of them.
static inline HVX_Vector dnn_hvx_load_part(const void* p, int32_t n) {
  const uintptr_t first = (uintptr_t)p & ~(uintptr_t)127;
  const uintptr_t last = ((uintptr_t)p + (uintptr_t)n - 1) & ~(uintptr_t)127;
  return Q6_V_valign_VVR(*(const dnn_hvx_vector*)last, *(const dnn_hvx_vector*)first,
                         (int32_t)(uintptr_t)p);
}

// The bytes of a vector from first to before last, of which there may be none.
static inline HVX_VectorPred dnn_hvx_lanes(int32_t first, int32_t last) {
  first = first < 0 ? 0 : first;
  last = last > 128 ? 128 : last;
  if (first >= last) return Q6_Q_vsetq_R(0) /* none: of 0 */;
  return Q6_Q_and_QQn(Q6_Q_vsetq2_R(last), Q6_Q_vsetq_R(first));
}

// The bytes from p + first to before p + last at their places in a vector, as far as there are
// some, and any others: nothing is read beyond the 128 bytes of memory in which some of them lie.
static inline HVX_Vector dnn_hvx_load_between(const uint8_t* p, int32_t first, int32_t last) {
  first = first < 0 ? 0 : first;
  last = last > 128 ? 128 : last;
  if (first >= last) return Q6_V_vzero();
  const uintptr_t low = (uintptr_t)(p + first) & ~(uintptr_t)127;
  const uintptr_t high = (uintptr_t)(p + last - 1) & ~(uintptr_t)127;
  return Q6_V_valign_VVR(*(const dnn_hvx_vector*)high, *(const dnn_hvx_vector*)low,
                         (int32_t)(uintptr_t)p);
}

// Whether whole vectors may be read of the bytes from p to before p + reach: those of a buffer of
// so many, and others in the same 128 bytes of memory.
static inline bool dnn_hvx_within(const uint8_t* p, int32_t reach, const void* buffer,
                                  int32_t size) {
  const uintptr_t first = (uintptr_t)buffer & ~(uintptr_t)127;
  const uintptr_t last = ((uintptr_t)buffer + (uintptr_t)size - 1) | 127;
  return (uintptr_t)p >= first && (uintptr_t)p <= last &&
         last - (uintptr_t)p >= (uintptr_t)reach - 1;
}

// Whether an address is a whole vector's.
static inline bool dnn_hvx_whole(const void* p) { return ((uintptr_t)p & 127) == 0; }

// The first 64 bytes of four lines in turns.
static inline HVX_VectorPair dnn_hvx_four_lines(HVX_Vector a, HVX_Vector b, HVX_Vector c,
                                                HVX_Vector d) {
  return Q6_W_vshuff_VVR(Q6_V_lo_W(Q6_W_vshuff_VVR(d, c, -1)), Q6_V_lo_W(Q6_W_vshuff_VVR(b, a, -1)),
                         -2);
}

// A number of 16 bits twice.
static inline int32_t dnn_hvx_twice(int32_t x) { return Q6_R_combine_RlRl(x, x); }

// Stores the first n bytes, from 1 to 128, at any address.
static inline void dnn_hvx_store_part(void* to, HVX_Vector v, int32_t n) {
  const int32_t at = (int32_t)((uintptr_t)to & 127);
  dnn_hvx_vector* first = (dnn_hvx_vector*)((uintptr_t)to & ~(uintptr_t)127);
  v = Q6_V_vlalign_VVR(v, v, at);
  const HVX_VectorPred before = Q6_Q_vsetq_R(at);
  if (at + n <= 128) {
    Q6_vmem_QRIV(Q6_Q_and_QQn(Q6_Q_vsetq2_R(at + n), before), (HVX_Vector*)first, v);
    return;
  }
  Q6_vmem_QnRIV(before, (HVX_Vector*)first, v);
  Q6_vmem_QRIV(Q6_Q_vsetq_R(at + n - 128), (HVX_Vector*)first + 1, v);
}

// The first bytes or halves as words.
static inline HVX_Vector dnn_hvx_words_u8(HVX_Vector v) {
  return Q6_V_lo_W(Q6_Wuw_vunpack_Vuh(Q6_V_lo_W(Q6_Wuh_vunpack_Vub(v))));
}

static inline HVX_Vector dnn_hvx_words_i8(HVX_Vector v) {
  return Q6_V_lo_W(Q6_Ww_vunpack_Vh(Q6_V_lo_W(Q6_Wh_vunpack_Vb(v))));
}

static inline HVX_Vector dnn_hvx_words_i16(HVX_Vector v) { return Q6_V_lo_W(Q6_Ww_vunpack_Vh(v)); }

// The low bytes of four vectors of words, one after the other.
static inline HVX_Vector dnn_hvx_bytes(HVX_Vector a, HVX_Vector b, HVX_Vector c, HVX_Vector d) {
  return Q6_Vb_vpacke_VhVh(Q6_Vh_vpacke_VwVw(d, c), Q6_Vh_vpacke_VwVw(b, a));
}

// The low bytes of the words of a and b, and of those of c and d, in turns.
static inline HVX_Vector dnn_hvx_in_turns(HVX_Vector a, HVX_Vector b, HVX_Vector c, HVX_Vector d) {
  return Q6_Vb_vshuffe_VbVb(Q6_Vh_vpacke_VwVw(d, c), Q6_Vh_vpacke_VwVw(b, a));
}

// The low bytes of four words beside each other.
static inline HVX_Vector dnn_hvx_interleave(HVX_Vector a, HVX_Vector b, HVX_Vector c,
                                            HVX_Vector d) {
  return Q6_Vh_vshuffe_VhVh(Q6_Vb_vshuffe_VbVb(d, c), Q6_Vb_vshuffe_VbVb(b, a));
}

// A factor of sums: its mantissa times 2^-up.
typedef struct {
  int32_t mantissa, up, limit;
} dnn_hvx_factor;

// Whether words can be scaled by a factor, as those can that quantized numbers have.
static inline bool dnn_hvx_scales(dnn_hvx_factor* f, float factor) {
  const uint32_t bits = dnn_as(uint32_t, factor);
  const int32_t q = 150 - (int32_t)(bits >> 23);  // the factor is its mantissa times 2^-q
  if (q < 15 || q > 75) return false;
  f->mantissa = (int32_t)((bits & 0x7fffffu) | 0x800000u) << 7;
  f->up = 44 - q;
  f->limit = f->up > 0 ? 1 << (30 - f->up) : 0;
  return true;
}

// Notes in near which of the fractions of so many bits are less than an error from a half, and cuts
// them off: words are integers plus a half and the error, times 2^bits.
static inline HVX_Vector dnn_hvx_cut(HVX_Vector v, int32_t bits, int32_t error, HVX_Vector* near) {
  const HVX_Vector fraction = Q6_V_vand_VV(v, Q6_V_vsplat_R((1 << bits) - 1));
  const HVX_VectorPred close = Q6_Q_vcmp_gt_VuwVuw(Q6_V_vsplat_R(2 * error), fraction);
  *near = Q6_V_vor_VV(*near, Q6_V_vand_QR(close, -1));
  return Q6_Vw_vasr_VwR(v, bits);
}

// Words plus zero, within bounds.
static inline HVX_Vector dnn_hvx_bounded(HVX_Vector v, int32_t zero, int32_t least, int32_t most) {
  v = Q6_Vw_vadd_VwVw(v, Q6_V_vsplat_R(zero));
  return Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(v, Q6_V_vsplat_R(least)), Q6_V_vsplat_R(most));
}

// Rounds 32 words times a factor, adds zero and keeps the result within bounds of 8 bits. All is as
// if it were computed in floats, half to even, but where that could make a difference, which is
// near halves: near has the words where it could.
static inline HVX_Vector dnn_hvx_requantize(HVX_Vector sum, const dnn_hvx_factor* f, int32_t zero,
                                            int32_t least, int32_t most, HVX_Vector* near) {
  if (f->up > 0) {  // what is beyond the limit is out of bounds for any zero
    sum = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(sum, Q6_V_vsplat_R(-f->limit)), Q6_V_vsplat_R(f->limit));
    sum = Q6_Vw_vasl_VwR(sum, f->up);
  }
  // With 20 bits of fraction: (sum * mantissa) >> 31. Here and in floats, what is not out of bounds
  // is off by less than 40 of 2^20.
  const HVX_Vector mantissa = Q6_V_vsplat_R(f->mantissa);
  HVX_Vector v = Q6_Vw_vmpye_VwVuh(sum, mantissa);
  v = Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift(v, sum, mantissa);
  if (f->up < 0) v = Q6_Vw_vasr_VwR(v, -f->up);
  v = Q6_Vw_vadd_VwVw_sat(v, Q6_V_vsplat_R((1 << 19) + 40));
  return dnn_hvx_bounded(dnn_hvx_cut(v, 20, 40, near), zero, least, most);
}

// The same of the sum of two bytes a and b, each times a factor of its own: all is in integers
// times 2^-bits, the factors times 256, and start has what bytes minus their zeros differ from
// bytes by, a half and the error.
static inline HVX_Vector dnn_hvx_add(HVX_Vector a, int32_t by_a, HVX_Vector b, int32_t by_b,
                                     int32_t start, int32_t bits, int32_t error, int32_t zero,
                                     int32_t least, int32_t most, HVX_Vector* near) {
  HVX_Vector v = Q6_Vw_vmpye_VwVuh(Q6_V_vsplat_R(by_a), Q6_Vw_vasl_VwR(a, 8));
  v = Q6_Vw_vadd_VwVw(v, Q6_Vw_vmpye_VwVuh(Q6_V_vsplat_R(by_b), Q6_Vw_vasl_VwR(b, 8)));
  v = Q6_Vw_vadd_VwVw(v, Q6_V_vsplat_R(start));
  return dnn_hvx_bounded(dnn_hvx_cut(v, bits, error, near), zero, least, most);
}

// Hides what a condition is: clang would make an instruction of "x > y ? x : y" that gives y where
// x is NaN.
static inline bool dnn_hvx_hidden(bool c) {
  int32_t hidden = c;
  __asm__("" : "+r"(hidden));
  return hidden != 0;
}

// x where a comparison of floats says so, or y: instructions that compilers do not see through, and
// need not hide.
static inline float dnn_hvx_either(int32_t condition, float x, float y) {
  return dnn_as(float, Q6_R_mux_pRR(condition, dnn_as(int32_t, x), dnn_as(int32_t, y)));
}

// min and max give NaN when either operand is; of equal numbers they give y.
static inline float dnn_max_float(float x, float y) {
  return dnn_hvx_either(Q6_p_or_pp(Q6_p_sfcmp_gt_RR(x, y), Q6_p_sfcmp_uo_RR(x, x)), x, y);
}

static inline float dnn_min_float(float x, float y) {
  return dnn_hvx_either(Q6_p_or_pp(Q6_p_sfcmp_gt_RR(y, x), Q6_p_sfcmp_uo_RR(x, x)), x, y);
}

static inline double dnn_max_double(double x, double y) {
  return dnn_hvx_hidden((x > y) | (x != x)) ? x : y;
}

static inline double dnn_min_double(double x, double y) {
  return dnn_hvx_hidden((x < y) | (x != x)) ? x : y;
}

static inline float dnn_clamp_float(float x, float lo, float hi) {
  x = dnn_hvx_either(Q6_p_sfcmp_gt_RR(x, hi), hi, x);
  return dnn_hvx_either(Q6_p_sfcmp_gt_RR(lo, x), lo, x);
}

// Products, rounded: what hides them keeps compilers from adding them unrounded to anything.
static inline float dnn_product_float(float x, float y) {
  float z = x * y;
  __asm__("" : "+r"(z));
  return z;
}

static inline double dnn_product_double(double x, double y) {
  double z = x * y;
  __asm__("" : "+r"(z));
  return z;
}

// Words with a fraction as bytes: start has a half and the error, in which they are off.
static inline HVX_Vector dnn_hvx_rounded(HVX_Vector v, int32_t start, int32_t bits, int32_t error,
                                         int32_t zero, int32_t least, int32_t most,
                                         HVX_Vector* near) {
  v = Q6_Vw_vadd_VwVw(v, Q6_V_vsplat_R(start));
  return dnn_hvx_bounded(dnn_hvx_cut(v, bits, error, near), zero, least, most);
}

// Bytes in words times a factor, of which by has 8 bits of fraction more than the result.
static inline HVX_Vector dnn_hvx_times(HVX_Vector bytes, int32_t by) {
  return Q6_Vw_vmpye_VwVuh(Q6_V_vsplat_R(by), Q6_Vw_vasl_VwR(bytes, 8));
}

// The upper 31 bits of products of two words.
static inline HVX_Vector dnn_hvx_upper(HVX_Vector a, HVX_Vector b) {
  return Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift(Q6_Vw_vmpye_VwVuh(a, b), a, b);
}

// Mantissas of floats, with 31 bits, and their exponents.
static inline HVX_Vector dnn_hvx_mantissa(HVX_Vector x) {
  const HVX_Vector bits = Q6_V_vand_VV(x, Q6_V_vsplat_R(0x7fffff));
  return Q6_Vw_vasl_VwR(Q6_V_vor_VV(bits, Q6_V_vsplat_R(0x800000)), 7);
}

static inline HVX_Vector dnn_hvx_exponent(HVX_Vector x) {
  return Q6_Vuw_vlsr_VuwR(Q6_Vw_vadd_VwVw(x, x), 24);
}

// Floats times a factor, which is minus that if negative, as integers with a fraction: mantissas
// times mantissa, shift less their exponents to the right. No result is beyond limit; near has the
// words which no number gives.
static inline HVX_Vector dnn_hvx_fixed(HVX_Vector x, int32_t mantissa, int32_t shift, int32_t limit,
                                       bool negative, HVX_Vector* near) {
  const HVX_Vector exponent = dnn_hvx_exponent(x);
  HVX_Vector by = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(shift), exponent);
  const HVX_VectorPred beyond = Q6_Q_vcmp_gt_VwVw(Q6_V_vzero(), by);
  by = Q6_Vw_vmin_VwVw(by, Q6_V_vsplat_R(31));
  HVX_Vector v = dnn_hvx_upper(dnn_hvx_mantissa(x), Q6_V_vsplat_R(mantissa));
  v = Q6_Vw_vmin_VwVw(Q6_Vw_vasr_VwVw(v, by), Q6_V_vsplat_R(limit));
  v = Q6_V_vmux_QVV(beyond, Q6_V_vsplat_R(limit), v);
  const HVX_VectorPred none = Q6_Q_vcmp_eq_VwVw(exponent, Q6_V_vsplat_R(255));
  *near = Q6_V_vor_VV(*near, Q6_V_vand_QR(none, -1));
  HVX_Vector sign = Q6_Vw_vasr_VwR(x, 31);
  if (negative) sign = Q6_V_vnot_V(sign);
  return Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(v, sign), sign);
}

// The same with a factor that is not known before, and as big as dnn_hvx_scales allows.
static inline HVX_Vector dnn_hvx_fixed_by(HVX_Vector x, float factor, int32_t bits, int32_t limit,
                                          HVX_Vector* near) {
  const uint32_t from = dnn_as(uint32_t, factor);
  const int32_t mantissa = (int32_t)((from & 0x7fffffu) | 0x800000u) << 7;
  return dnn_hvx_fixed(x, mantissa, 283 - (int32_t)(from >> 23) - bits, limit, false, near);
}

// (x - mean) times a factor and weights, plus biases that are integers with a fraction already, and
// smaller than most: near has the words that may be of other numbers than they are.
static inline HVX_Vector dnn_hvx_normalized(HVX_Vector x, float mean, float factor,
                                            HVX_Vector weight, HVX_Vector bias, int32_t bits,
                                            int32_t most, HVX_Vector* near) {
  const int32_t limit = (1 << 30) - 1;
  const HVX_Vector from = Q6_V_vsplat_R(dnn_as(int32_t, mean));
  const HVX_Vector a = dnn_hvx_fixed_by(x, factor, bits, limit, near);
  const HVX_Vector b = dnn_hvx_fixed_by(from, factor, bits, limit, near);
  const HVX_Vector v = Q6_Vw_vsub_VwVw(a, b);
  const HVX_Vector exponent = dnn_hvx_exponent(weight);
  HVX_VectorPred bad = Q6_Q_vcmp_gt_VwVw(Q6_Vw_vabs_Vw(v), Q6_V_vsplat_R((1 << 29) - 1));
  bad = Q6_Q_or_QQ(bad, Q6_Q_vcmp_gt_VwVw(Q6_Vw_vabs_Vw(b), Q6_V_vsplat_R((1 << 29) - 1)));
  bad = Q6_Q_or_QQ(bad, Q6_Q_vcmp_gt_VwVw(Q6_Vw_vabs_Vw(bias), Q6_V_vsplat_R(most - 1)));
  bad = Q6_Q_or_QQ(bad, Q6_Q_vcmp_gt_VwVw(exponent, Q6_V_vsplat_R(127)));
  *near = Q6_V_vor_VV(*near, Q6_V_vand_QR(bad, -1));
  // A weight is one of 31 bits times 2^(its exponent-157), and less than 2.
  HVX_Vector by = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(127), exponent);
  by = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(by, Q6_V_vzero()), Q6_V_vsplat_R(31));
  HVX_Vector product = dnn_hvx_upper(Q6_Vw_vadd_VwVw(v, v), dnn_hvx_mantissa(weight));
  product = Q6_Vw_vasr_VwVw(product, by);
  const HVX_Vector sign = Q6_Vw_vasr_VwR(weight, 31);
  product = Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(product, sign), sign);
  return Q6_Vw_vadd_VwVw(product, bias);
}

// dnn_hvx_requantize with a factor for each word, a float.
static inline HVX_Vector dnn_hvx_requantize_lanes(HVX_Vector sum, HVX_Vector factor, int32_t zero,
                                                  int32_t least, int32_t most, HVX_Vector* near) {
  // As dnn_hvx_scales has it; a sign is as good as an exponent that is too big.
  const HVX_Vector exponent = Q6_Vuw_vlsr_VuwR(factor, 23);
  const HVX_VectorPred bad = Q6_Q_or_QQ(Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R(79), exponent),
                                        Q6_Q_vcmp_gt_VwVw(exponent, Q6_V_vsplat_R(139)));
  *near = Q6_V_vor_VV(*near, Q6_V_vand_QR(bad, -1));
  const HVX_Vector up = Q6_Vw_vsub_VwVw(exponent, Q6_V_vsplat_R(110));
  const HVX_Vector left = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(up, Q6_V_vzero()), Q6_V_vsplat_R(31));
  const HVX_Vector limit = Q6_Vw_vlsr_VwVw(Q6_V_vsplat_R(0x7fffffff), left);
  sum = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(sum, Q6_Vw_vsub_VwVw(Q6_V_vzero(), limit)), limit);
  HVX_Vector v = dnn_hvx_upper(Q6_Vw_vasl_VwVw(sum, left), dnn_hvx_mantissa(factor));
  v = Q6_Vw_vasr_VwVw(v, Q6_Vw_vmin_VwVw(Q6_Vw_vsub_VwVw(left, up), Q6_V_vsplat_R(31)));
  v = Q6_Vw_vadd_VwVw_sat(v, Q6_V_vsplat_R(0x8000 + 8));
  return dnn_hvx_bounded(dnn_hvx_cut(v, 16, 8, near), zero, least, most);
}

// Bytes in words minus zero, times a scale, as floats: half to even, as hardware rounds. The scale
// is its mantissa of 24 bits times 2^(exponent - 150).
static inline HVX_Vector dnn_hvx_floats(HVX_Vector bytes, int32_t zero, int32_t mantissa,
                                        int32_t exponent) {
  const HVX_Vector d = Q6_Vw_vsub_VwVw(bytes, Q6_V_vsplat_R(zero));
  const HVX_Vector magnitude = Q6_Vw_vabs_Vw(d);
  const HVX_Vector product = Q6_Vw_vmpyie_VwVuh(Q6_V_vsplat_R(mantissa), magnitude);
  const HVX_Vector zeros = Q6_Vuw_vcl0_Vuw(product);
  const HVX_Vector bits = Q6_Vw_vasl_VwVw(product, zeros);  // of which the upper 24 stay
  const HVX_Vector kept = Q6_Vuw_vlsr_VuwR(bits, 8);
  HVX_Vector more = Q6_V_vand_VV(kept, Q6_V_vsplat_R(1));
  more = Q6_Vw_vadd_VwVw(more, Q6_V_vand_VV(bits, Q6_V_vsplat_R(255)));
  more = Q6_Vuw_vlsr_VuwR(Q6_Vw_vadd_VwVw(more, Q6_V_vsplat_R(127)), 8);
  HVX_Vector v = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(exponent + 7), zeros);
  v = Q6_Vw_vadd_VwVw(Q6_Vw_vasl_VwR(v, 23), Q6_Vw_vadd_VwVw(kept, more));
  v = Q6_V_vor_VV(v, Q6_V_vand_VV(d, Q6_V_vsplat_R((int32_t)0x80000000u)));
  return Q6_V_vand_QV(Q6_Q_vcmp_gt_VwVw(magnitude, Q6_V_vzero()), v);
}

// The entries of a table of 256 bytes at those of a vector.
static inline HVX_Vector dnn_hvx_table(HVX_Vector at, const void* table) {
  const HVX_Vector low = Q6_Vb_vshuff_Vb(dnn_hvx_load_any(table));
  const HVX_Vector high = Q6_Vb_vshuff_Vb(dnn_hvx_load_any((const uint8_t*)table + 128));
  HVX_Vector v = Q6_Vb_vlut32_VbVbI(at, low, 0);
  v = Q6_Vb_vlut32or_VbVbVbI(v, at, low, 1);
  v = Q6_Vb_vlut32or_VbVbVbI(v, at, low, 2);
  v = Q6_Vb_vlut32or_VbVbVbI(v, at, low, 3);
  v = Q6_Vb_vlut32or_VbVbVbI(v, at, high, 4);
  v = Q6_Vb_vlut32or_VbVbVbI(v, at, high, 5);
  v = Q6_Vb_vlut32or_VbVbVbI(v, at, high, 6);
  return Q6_Vb_vlut32or_VbVbVbI(v, at, high, 7);
}

// Stores the first n bytes, from 1 to 128, at any address, without a branch.
static inline void dnn_hvx_store_row(uint8_t* to, HVX_Vector v, int32_t n) {
  const int32_t at = (int32_t)((uintptr_t)to & 127), end = at + n;
  v = Q6_V_vlalign_VVR(v, v, at);
  const HVX_VectorPred own = Q6_Q_and_QQn(Q6_Q_vsetq2_R(Q6_R_min_RR(end, 128)), Q6_Q_vsetq_R(at));
  Q6_vmem_QRIV(own, (HVX_Vector*)((uintptr_t)to & ~(uintptr_t)127), v);
  // What lies in the next vector, if anything does.
  const HVX_VectorPred others = Q6_Q_vsetq_R(Q6_R_max_RR(end - 128, 0));
  Q6_vmem_QRIV(others, (HVX_Vector*)((uintptr_t)(to + n - 1) & ~(uintptr_t)127), v);
}

// The same, but bytes that are not zero in except stay as they are.
static inline void dnn_hvx_store_except(void* to, HVX_Vector v, int32_t n, HVX_Vector except) {
  const int32_t at = (int32_t)((uintptr_t)to & 127), end = at + n;
  v = Q6_V_vlalign_VVR(v, v, at);
  const HVX_VectorPred other = Q6_Q_vand_VR(Q6_V_vlalign_VVR(except, except, at), -1);
  const HVX_VectorPred own = Q6_Q_and_QQn(Q6_Q_vsetq2_R(Q6_R_min_RR(end, 128)), Q6_Q_vsetq_R(at));
  Q6_vmem_QRIV(Q6_Q_and_QQn(own, other), (HVX_Vector*)((uintptr_t)to & ~(uintptr_t)127), v);
  const HVX_VectorPred others = Q6_Q_and_QQn(Q6_Q_vsetq_R(Q6_R_max_RR(end - 128, 0)), other);
  Q6_vmem_QRIV(others, (HVX_Vector*)(((uintptr_t)to + (uintptr_t)n - 1) & ~(uintptr_t)127), v);
}

// Of up to 32 rows of sums: what is added to a sum, and its factor as a mantissa and how far sums
// that are within a limit are shifted before, for products with 20 bits of fraction.
typedef struct {
  int32_t bias[32], mantissa[32], up[32], limit[32], lowest[32];
} __attribute__((aligned(128))) dnn_hvx_rows;

// Fills rows, the first n of which matter, by the bits of their factors; false where one is of no
// such size.
static inline bool dnn_hvx_prepare(dnn_hvx_rows* rows, HVX_Vector factors, HVX_Vector bias,
                                   int32_t n) {
  const HVX_Vector up =
      Q6_Vw_vsub_VwVw(Q6_Vuw_vlsr_VuwR(factors, 23), Q6_V_vsplat_R(106));  // 44 - (150 - exponent)
  const HVX_Vector mantissa =
      Q6_V_vor_VV(Q6_V_vand_VV(factors, Q6_V_vsplat_R(0x7fffff)), Q6_V_vsplat_R(0x800000));
  const HVX_Vector limit =
      Q6_Vw_vasl_VwVw(Q6_V_vsplat_R(1), Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(30), up));
  dnn_hvx_store(rows->bias, bias);
  dnn_hvx_store(rows->mantissa, Q6_Vw_vasl_VwR(mantissa, 7));
  dnn_hvx_store(rows->up, up);
  dnn_hvx_store(rows->limit, limit);
  dnn_hvx_store(rows->lowest, Q6_Vw_vsub_VwVw(Q6_V_vzero(), limit));
  // As unsigned numbers, those below 0 are beyond 29.
  const HVX_VectorPred other = Q6_Q_vcmp_gt_VuwVuw(up, Q6_V_vsplat_R(29));
  return !dnn_hvx_any(Q6_V_vand_QR(Q6_Q_and_QQ(other, Q6_Q_vsetq2_R(4 * n)), -1));
}

// 32 sums of a row as dnn_hvx_requantize computes them: start is zero, a half and the error times
// 2^20. Nearest are the fractions that are nearest to a half.
static inline HVX_Vector dnn_hvx_row(HVX_Vector sum, const dnn_hvx_rows* rows, int32_t i,
                                     int32_t start, HVX_Vector* nearest) {
  sum = Q6_Vw_vadd_VwVw(sum, Q6_V_vsplat_R(rows->bias[i]));
  sum = Q6_Vw_vmin_VwVw(sum, Q6_V_vsplat_R(rows->limit[i]));
  sum = Q6_Vw_vmax_VwVw(sum, Q6_V_vsplat_R(rows->lowest[i]));
  sum = Q6_Vw_vasl_VwR(sum, rows->up[i]);
  const HVX_Vector mantissa = Q6_V_vsplat_R(rows->mantissa[i]);
  HVX_Vector v = Q6_Vw_vmpye_VwVuh(sum, mantissa);
  v = Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift(v, sum, mantissa);
  v = Q6_Vw_vadd_VwVw(v, Q6_V_vsplat_R(start));
  *nearest = Q6_Vw_vmin_VwVw(*nearest, Q6_V_vand_VV(v, Q6_V_vsplat_R(0xfffff)));
  return Q6_Vw_vasr_VwR(v, 20);
}

// Whether a fraction was so near to a half that floats may be rounded otherwise.
static inline int32_t dnn_hvx_any_near(HVX_Vector nearest) {
  return dnn_hvx_any(Q6_V_vand_QR(Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R(2 * 40), nearest), -1));
}

#define dnn_c_sqrt(x) _Generic((x), float: __builtin_sqrtf, default: dnn_f64_sqrt)(x)

#define dnn_c_clz(x) (sizeof(x) == 4 ? __builtin_clz((uint32_t)(x)) : __builtin_clzll(x))

// The upper half of a product.
static inline uint64_t dnn_c_mul_hi(uint64_t a, uint64_t b) {
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

// x * 2^e for exponents of normal numbers, and some below them.
static inline float dnn_c_ldexp(float x, int32_t e) {
  const float half = dnn_as(float, (uint32_t)(e / 2 + 127) << 23);
  const float rest = dnn_as(float, (uint32_t)(e - e / 2 + 127) << 23);
  return x * half * rest;
}

// An integer as a float, rounded towards zero.
static inline float dnn_hvx_rtz(uint64_t magnitude, bool negative) {
  if (magnitude >> 24) magnitude &= ~0ULL << (40 - __builtin_clzll(magnitude));
  return negative ? -(float)magnitude : (float)magnitude;
}

#define dnn_c_convert_float_rtz(x) dnn_hvx_rtz((x) < 0 ? 0 - (uint64_t)(x) : (uint64_t)(x), (x) < 0)

#endif  // RULES_DNN_RUNTIME_DNN_HVX_H_
