// Bytes and words of vectors: lines in turns, words of bytes, bytes of words, and tables of bytes.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_BYTES_H_
#define RULES_DNN_RUNTIME_DNN_HVX_BYTES_H_

#include "runtime/dnn_hvx_vector.h"

// Words times a number of 16 bits.
static inline HVX_Vector dnn_hvx_scaled(HVX_Vector v, int32_t by) {
  return Q6_Vw_vmpyi_VwRh(v, Q6_R_combine_RlRl(by, by));
}

// The first 64 bytes of four lines in turns.
static inline HVX_VectorPair dnn_hvx_four_lines(HVX_Vector a, HVX_Vector b, HVX_Vector c,
                                                HVX_Vector d) {
  return Q6_W_vshuff_VVR(Q6_V_lo_W(Q6_W_vshuff_VVR(d, c, -1)), Q6_V_lo_W(Q6_W_vshuff_VVR(b, a, -1)),
                         -2);
}

// A number of 16 bits twice.
static inline int32_t dnn_hvx_twice(int32_t x) { return Q6_R_combine_RlRl(x, x); }

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

#endif  // RULES_DNN_RUNTIME_DNN_HVX_BYTES_H_
