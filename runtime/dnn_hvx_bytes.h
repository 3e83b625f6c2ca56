// Bytes and words of vectors: interleaving, widening, narrowing, and tables of bytes.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_BYTES_H_
#define RULES_DNN_RUNTIME_DNN_HVX_BYTES_H_

#include "runtime/dnn_hvx_vector.h"

// Multiplies words by a 16-bit number.
static inline HVX_Vector dnn_hvx_scaled(HVX_Vector v, int32_t by) {
  return Q6_Vw_vmpyi_VwRh(v, Q6_R_combine_RlRl(by, by));
}

// Interleaves the first 64 bytes of four rows.
static inline HVX_VectorPair dnn_hvx_four_lines(HVX_Vector a, HVX_Vector b, HVX_Vector c,
                                                HVX_Vector d) {
  return Q6_W_vshuff_VVR(Q6_V_lo_W(Q6_W_vshuff_VVR(d, c, -1)), Q6_V_lo_W(Q6_W_vshuff_VVR(b, a, -1)),
                         -2);
}

// Repeats a 16-bit number in both halves of a word.
static inline int32_t dnn_hvx_twice(int32_t x) { return Q6_R_combine_RlRl(x, x); }

// Widens the first bytes or halfwords to words.
static inline HVX_Vector dnn_hvx_words_u8(HVX_Vector v) {
  return Q6_V_lo_W(Q6_Wuw_vunpack_Vuh(Q6_V_lo_W(Q6_Wuh_vunpack_Vub(v))));
}

static inline HVX_Vector dnn_hvx_words_i8(HVX_Vector v) {
  return Q6_V_lo_W(Q6_Ww_vunpack_Vh(Q6_V_lo_W(Q6_Wh_vunpack_Vb(v))));
}

static inline HVX_Vector dnn_hvx_words_i16(HVX_Vector v) { return Q6_V_lo_W(Q6_Ww_vunpack_Vh(v)); }

// Concatenates the low bytes of four vectors of words.
static inline HVX_Vector dnn_hvx_bytes(HVX_Vector a, HVX_Vector b, HVX_Vector c, HVX_Vector d) {
  return Q6_Vb_vpacke_VhVh(Q6_Vh_vpacke_VwVw(d, c), Q6_Vh_vpacke_VwVw(b, a));
}

// Interleaves the low bytes of the words of (a, b) with those of (c, d).
static inline HVX_Vector dnn_hvx_in_turns(HVX_Vector a, HVX_Vector b, HVX_Vector c, HVX_Vector d) {
  return Q6_Vb_vshuffe_VbVb(Q6_Vh_vpacke_VwVw(d, c), Q6_Vh_vpacke_VwVw(b, a));
}

// Places the low bytes of corresponding words of a, b, c and d next to each other.
static inline HVX_Vector dnn_hvx_interleave(HVX_Vector a, HVX_Vector b, HVX_Vector c,
                                            HVX_Vector d) {
  return Q6_Vh_vshuffe_VhVh(Q6_Vb_vshuffe_VbVb(d, c), Q6_Vb_vshuffe_VbVb(b, a));
}

// Looks up each byte of a vector in a table of 256 bytes.
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

#endif  // RULES_DNN_RUNTIME_DNN_HVX_BYTES_H_
