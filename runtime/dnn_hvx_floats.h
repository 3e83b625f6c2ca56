// Conversions from floats to fixed-point words, and from bytes to floats.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_FLOATS_H_
#define RULES_DNN_RUNTIME_DNN_HVX_FLOATS_H_

#include "runtime/dnn_hvx_scalar.h"
#include "runtime/dnn_hvx_sums.h"

// Converts floats times a factor to fixed-point words; `negative` is the factor's sign. It
// multiplies the mantissas and shifts right by `shift` minus the exponents. Results saturate at
// limit. Sets near for words that are infinite or NaN.
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

// Does the same with a factor that is known only at run time, in the range that dnn_hvx_scales
// accepts.
static inline HVX_Vector dnn_hvx_fixed_by(HVX_Vector x, float factor, int32_t bits, int32_t limit,
                                          HVX_Vector* near) {
  const uint32_t from = dnn_as(uint32_t, factor);
  const int32_t mantissa = (int32_t)((from & 0x7fffffu) | 0x800000u) << 7;
  return dnn_hvx_fixed(x, mantissa, 283 - (int32_t)(from >> 23) - bits, limit, false, near);
}

// Computes (x - mean) * factor * weight + bias in fixed point. Biases are fixed-point already, and
// smaller than `most`. Sets near for words whose result may be wrong.
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
  // A weight is its 31-bit mantissa times 2^(exponent-157), and less than 2.
  HVX_Vector by = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(127), exponent);
  by = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(by, Q6_V_vzero()), Q6_V_vsplat_R(31));
  HVX_Vector product = dnn_hvx_upper(Q6_Vw_vadd_VwVw(v, v), dnn_hvx_mantissa(weight));
  product = Q6_Vw_vasr_VwVw(product, by);
  const HVX_Vector sign = Q6_Vw_vasr_VwR(weight, 31);
  product = Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(product, sign), sign);
  return Q6_Vw_vadd_VwVw(product, bias);
}

// Converts bytes in words, minus zero and times a scale, to floats; rounds half to even, as
// hardware does. The scale is its 24-bit mantissa times 2^(exponent - 150).
static inline HVX_Vector dnn_hvx_floats(HVX_Vector bytes, int32_t zero, int32_t mantissa,
                                        int32_t exponent) {
  const HVX_Vector d = Q6_Vw_vsub_VwVw(bytes, Q6_V_vsplat_R(zero));
  const HVX_Vector magnitude = Q6_Vw_vabs_Vw(d);
  const HVX_Vector product = Q6_Vw_vmpyie_VwVuh(Q6_V_vsplat_R(mantissa), magnitude);
  const HVX_Vector zeros = Q6_Vuw_vcl0_Vuw(product);
  const HVX_Vector bits = Q6_Vw_vasl_VwVw(product, zeros);  // the upper 24 bits are kept
  const HVX_Vector kept = Q6_Vuw_vlsr_VuwR(bits, 8);
  HVX_Vector more = Q6_V_vand_VV(kept, Q6_V_vsplat_R(1));
  more = Q6_Vw_vadd_VwVw(more, Q6_V_vand_VV(bits, Q6_V_vsplat_R(255)));
  more = Q6_Vuw_vlsr_VuwR(Q6_Vw_vadd_VwVw(more, Q6_V_vsplat_R(127)), 8);
  HVX_Vector v = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(exponent + 7), zeros);
  v = Q6_Vw_vadd_VwVw(Q6_Vw_vasl_VwR(v, 23), Q6_Vw_vadd_VwVw(kept, more));
  v = Q6_V_vor_VV(v, Q6_V_vand_VV(d, Q6_V_vsplat_R((int32_t)0x80000000u)));
  return Q6_V_vand_QV(Q6_Q_vcmp_gt_VwVw(magnitude, Q6_V_vzero()), v);
}

#endif  // RULES_DNN_RUNTIME_DNN_HVX_FLOATS_H_
