// Requantization of 32-bit sums to bytes, with the rounding of floats.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_SUMS_H_
#define RULES_DNN_RUNTIME_DNN_HVX_SUMS_H_

#include "runtime/dnn_hvx_scalar.h"
#include "runtime/dnn_hvx_vector.h"

// A factor of sums: mantissa * 2^-up, with the limit of sums that may be shifted.
typedef struct {
  int32_t mantissa, up, limit;
} dnn_hvx_factor;

// Prepares a factor; returns false if its exponent is outside the range that quantized networks
// use.
static inline bool dnn_hvx_scales(dnn_hvx_factor* f, float factor) {
  const uint32_t bits = dnn_as(uint32_t, factor);
  const int32_t q = 150 - (int32_t)(bits >> 23);  // the factor is its mantissa times 2^-q
  if (q < 15 || q > 75) return false;
  f->mantissa = (int32_t)((bits & 0x7fffffu) | 0x800000u) << 7;
  f->up = 44 - q;
  f->limit = f->up > 0 ? 1 << (30 - f->up) : 0;
  return true;
}

// Removes `bits` fraction bits. v is the exact value plus a half plus the error, times 2^bits. Sets
// near for words whose fraction is within the error of a half.
static inline HVX_Vector dnn_hvx_cut(HVX_Vector v, int32_t bits, int32_t error, HVX_Vector* near) {
  const HVX_Vector fraction = Q6_V_vand_VV(v, Q6_V_vsplat_R((1 << bits) - 1));
  const HVX_VectorPred close = Q6_Q_vcmp_gt_VuwVuw(Q6_V_vsplat_R(2 * error), fraction);
  *near = Q6_V_vor_VV(*near, Q6_V_vand_QR(close, -1));
  return Q6_Vw_vasr_VwR(v, bits);
}

// Adds zero to words and clamps the result.
static inline HVX_Vector dnn_hvx_bounded(HVX_Vector v, int32_t zero, int32_t least, int32_t most) {
  v = Q6_Vw_vadd_VwVw(v, Q6_V_vsplat_R(zero));
  return Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(v, Q6_V_vsplat_R(least)), Q6_V_vsplat_R(most));
}

// Rounds 32-bit words times a factor, adds zero and clamps the result to 8 bits. The result equals
// the computation in floats, half to even, except possibly near halves; near is set for those
// words.
static inline HVX_Vector dnn_hvx_requantize(HVX_Vector sum, const dnn_hvx_factor* f, int32_t zero,
                                            int32_t least, int32_t most, HVX_Vector* near) {
  if (f->up > 0) {  // a sum beyond the limit is clamped in any case
    sum = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(sum, Q6_V_vsplat_R(-f->limit)), Q6_V_vsplat_R(f->limit));
    sum = Q6_Vw_vasl_VwR(sum, f->up);
  }
  // With 20 fraction bits: (sum * mantissa) >> 31. Here and in floats, unclamped results have an
  // error below 40 / 2^20.
  const HVX_Vector mantissa = Q6_V_vsplat_R(f->mantissa);
  HVX_Vector v = Q6_Vw_vmpye_VwVuh(sum, mantissa);
  v = Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift(v, sum, mantissa);
  if (f->up < 0) v = Q6_Vw_vasr_VwR(v, -f->up);
  v = Q6_Vw_vadd_VwVw_sat(v, Q6_V_vsplat_R((1 << 19) + 40));
  return dnn_hvx_bounded(dnn_hvx_cut(v, 20, 40, near), zero, least, most);
}

// Does the same for the sum of two bytes a and b, each with its own factor. All values are
// fixed-point with `bits` fraction bits; the factors are multiplied by 256. start compensates the
// zero points of a and b, and includes a half and the error.
static inline HVX_Vector dnn_hvx_add(HVX_Vector a, int32_t by_a, HVX_Vector b, int32_t by_b,
                                     int32_t start, int32_t bits, int32_t error, int32_t zero,
                                     int32_t least, int32_t most, HVX_Vector* near) {
  HVX_Vector v = Q6_Vw_vmpye_VwVuh(Q6_V_vsplat_R(by_a), Q6_Vw_vasl_VwR(a, 8));
  v = Q6_Vw_vadd_VwVw(v, Q6_Vw_vmpye_VwVuh(Q6_V_vsplat_R(by_b), Q6_Vw_vasl_VwR(b, 8)));
  v = Q6_Vw_vadd_VwVw(v, Q6_V_vsplat_R(start));
  return dnn_hvx_bounded(dnn_hvx_cut(v, bits, error, near), zero, least, most);
}

// Converts fixed-point words to bytes; start is a half plus the error.
static inline HVX_Vector dnn_hvx_rounded(HVX_Vector v, int32_t start, int32_t bits, int32_t error,
                                         int32_t zero, int32_t least, int32_t most,
                                         HVX_Vector* near) {
  v = Q6_Vw_vadd_VwVw(v, Q6_V_vsplat_R(start));
  return dnn_hvx_bounded(dnn_hvx_cut(v, bits, error, near), zero, least, most);
}

// Multiplies bytes in words by a factor; `by` has 8 fraction bits more than the result.
static inline HVX_Vector dnn_hvx_times(HVX_Vector bytes, int32_t by) {
  return Q6_Vw_vmpye_VwVuh(Q6_V_vsplat_R(by), Q6_Vw_vasl_VwR(bytes, 8));
}

// Returns the upper 31 bits of the products of words.
static inline HVX_Vector dnn_hvx_upper(HVX_Vector a, HVX_Vector b) {
  return Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift(Q6_Vw_vmpye_VwVuh(a, b), a, b);
}

// Returns the mantissas of floats, with 31 bits, and their biased exponents.
static inline HVX_Vector dnn_hvx_mantissa(HVX_Vector x) {
  const HVX_Vector bits = Q6_V_vand_VV(x, Q6_V_vsplat_R(0x7fffff));
  return Q6_Vw_vasl_VwR(Q6_V_vor_VV(bits, Q6_V_vsplat_R(0x800000)), 7);
}

static inline HVX_Vector dnn_hvx_exponent(HVX_Vector x) {
  return Q6_Vuw_vlsr_VuwR(Q6_Vw_vadd_VwVw(x, x), 24);
}

// Does the same as dnn_hvx_requantize, with a float factor for each word.
static inline HVX_Vector dnn_hvx_requantize_lanes(HVX_Vector sum, HVX_Vector factor, int32_t zero,
                                                  int32_t least, int32_t most, HVX_Vector* near) {
  // The range of dnn_hvx_scales. A negative factor looks like one whose exponent is too large.
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

// For up to 32 rows of sums: the bias, the factor's mantissa, the left shift and the limits of sums
// before the shift. Products have 20 fraction bits.
typedef struct {
  int32_t bias[32], mantissa[32], up[32], limit[32], lowest[32];
} __attribute__((aligned(128))) dnn_hvx_rows;

// Fills the first n rows from the bits of their factors; returns false if a factor is outside the
// supported range.
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
  // Compared as unsigned numbers, negative shifts are greater than 29, too.
  const HVX_VectorPred other = Q6_Q_vcmp_gt_VuwVuw(up, Q6_V_vsplat_R(29));
  return !dnn_hvx_any(Q6_V_vand_QR(Q6_Q_and_QQ(other, Q6_Q_vsetq2_R(4 * n)), -1));
}

// Requantizes 32 sums of a row like dnn_hvx_requantize. start is (zero + a half + the error) *
// 2^20. nearest collects the minimum of the fractions, that is, those closest to a half.
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

// Reports whether a fraction was so close to a half that floats may round differently.
static inline int32_t dnn_hvx_any_near(HVX_Vector nearest) {
  return dnn_hvx_any(Q6_V_vand_QR(Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R(2 * 40), nearest), -1));
}

#endif  // RULES_DNN_RUNTIME_DNN_HVX_SUMS_H_
