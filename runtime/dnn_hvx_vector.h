// Loads and stores of vectors of 128 bytes (HVX): aligned, unaligned and partial.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_VECTOR_H_
#define RULES_DNN_RUNTIME_DNN_HVX_VECTOR_H_

#include <stdbool.h>
#include <stdint.h>

#if !defined(__HVX__) || __HVX_LENGTH__ != 128
#error "kernels for HVX want -mhvx -mhvx-length=128b"
#endif

#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>

// Elements of any type as a vector, or four bytes as a word.
typedef HVX_Vector dnn_hvx_vector __attribute__((may_alias));
typedef int32_t dnn_hvx_word __attribute__((may_alias));

static inline HVX_Vector dnn_hvx_load(const void* p) { return *(const dnn_hvx_vector*)p; }

static inline void dnn_hvx_store(void* p, HVX_Vector v) { *(dnn_hvx_vector*)p = v; }

static inline int32_t dnn_hvx_group(const void* p) { return *(const dnn_hvx_word*)p; }

// Returns two groups of two bytes (zeros if b is null), ordered as first bytes, then second bytes.
static inline int32_t dnn_hvx_crossed(const void* a, const void* b) {
  typedef uint16_t dnn_hvx_half __attribute__((may_alias));
  const int32_t second = b ? *(const dnn_hvx_half*)b : 0;
  const int32_t word = Q6_R_combine_RlRl(second, *(const dnn_hvx_half*)a);
  const int64_t twice = Q6_P_combine_RR(word, word);
  return Q6_R_combine_RlRl(Q6_R_vtrunohb_P(twice), Q6_R_vtrunehb_P(twice));
}

// Vectors at any address.
typedef HVX_UVector dnn_hvx_unaligned __attribute__((may_alias));

static inline HVX_Vector dnn_hvx_load_any(const void* p) { return *(const dnn_hvx_unaligned*)p; }

static inline void dnn_hvx_store_any(void* p, HVX_Vector v) { *(dnn_hvx_unaligned*)p = v; }

// Reports whether any bit is set.
static inline bool dnn_hvx_any(HVX_Vector mask) {
  for (int32_t shift = 64; shift >= 4; shift /= 2) {
    mask = Q6_V_vor_VV(mask, Q6_V_vror_VR(mask, shift));
  }
  return Q6_R_vextract_VR(mask, 0) != 0;
}

// Loads n bytes from p on, 1 to 128; the other bytes of the result are undefined. It reads only
// aligned blocks of 128 bytes that contain some of the n bytes.
static inline HVX_Vector dnn_hvx_load_part(const void* p, int32_t n) {
  const uintptr_t first = (uintptr_t)p & ~(uintptr_t)127;
  const uintptr_t last = ((uintptr_t)p + (uintptr_t)n - 1) & ~(uintptr_t)127;
  return Q6_V_valign_VVR(*(const dnn_hvx_vector*)last, *(const dnn_hvx_vector*)first,
                         (int32_t)(uintptr_t)p);
}

// Returns the predicate of bytes [first, last) of a vector; the range may be empty.
static inline HVX_VectorPred dnn_hvx_lanes(int32_t first, int32_t last) {
  first = first < 0 ? 0 : first;
  last = last > 128 ? 128 : last;
  if (first >= last) return Q6_Q_vsetq_R(0) /* no bytes */;
  return Q6_Q_and_QQn(Q6_Q_vsetq2_R(last), Q6_Q_vsetq_R(first));
}

// Loads bytes [p + first, p + last) to the same positions of a vector; the other bytes are
// undefined. It reads only aligned blocks of 128 bytes that contain some of these bytes.
static inline HVX_Vector dnn_hvx_load_between(const uint8_t* p, int32_t first, int32_t last) {
  first = first < 0 ? 0 : first;
  last = last > 128 ? 128 : last;
  if (first >= last) return Q6_V_vzero();
  const uintptr_t low = (uintptr_t)(p + first) & ~(uintptr_t)127;
  const uintptr_t high = (uintptr_t)(p + last - 1) & ~(uintptr_t)127;
  return Q6_V_valign_VVR(*(const dnn_hvx_vector*)high, *(const dnn_hvx_vector*)low,
                         (int32_t)(uintptr_t)p);
}

// Reports whether whole vectors may be read at [p, p + reach): the range must be within the aligned
// blocks of 128 bytes that contain the buffer of `size` bytes.
static inline bool dnn_hvx_within(const uint8_t* p, int32_t reach, const void* buffer,
                                  int32_t size) {
  const uintptr_t first = (uintptr_t)buffer & ~(uintptr_t)127;
  const uintptr_t last = ((uintptr_t)buffer + (uintptr_t)size - 1) | 127;
  return (uintptr_t)p >= first && (uintptr_t)p <= last &&
         last - (uintptr_t)p >= (uintptr_t)reach - 1;
}

// Reports whether an address is aligned to a vector.
static inline bool dnn_hvx_whole(const void* p) { return ((uintptr_t)p & 127) == 0; }

// Stores the first n bytes, 1 to 128, at any address.
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

// Stores the first n bytes, 1 to 128, at any address, without a branch.
static inline void dnn_hvx_store_row(uint8_t* to, HVX_Vector v, int32_t n) {
  const int32_t at = (int32_t)((uintptr_t)to & 127), end = at + n;
  v = Q6_V_vlalign_VVR(v, v, at);
  const HVX_VectorPred own = Q6_Q_and_QQn(Q6_Q_vsetq2_R(Q6_R_min_RR(end, 128)), Q6_Q_vsetq_R(at));
  Q6_vmem_QRIV(own, (HVX_Vector*)((uintptr_t)to & ~(uintptr_t)127), v);
  // The bytes that are in the next aligned block, if any.
  const HVX_VectorPred others = Q6_Q_vsetq_R(Q6_R_max_RR(end - 128, 0));
  Q6_vmem_QRIV(others, (HVX_Vector*)((uintptr_t)(to + n - 1) & ~(uintptr_t)127), v);
}

// Does the same, but does not store bytes whose byte in `except` is nonzero.
static inline void dnn_hvx_store_except(void* to, HVX_Vector v, int32_t n, HVX_Vector except) {
  const int32_t at = (int32_t)((uintptr_t)to & 127), end = at + n;
  v = Q6_V_vlalign_VVR(v, v, at);
  const HVX_VectorPred other = Q6_Q_vand_VR(Q6_V_vlalign_VVR(except, except, at), -1);
  const HVX_VectorPred own = Q6_Q_and_QQn(Q6_Q_vsetq2_R(Q6_R_min_RR(end, 128)), Q6_Q_vsetq_R(at));
  Q6_vmem_QRIV(Q6_Q_and_QQn(own, other), (HVX_Vector*)((uintptr_t)to & ~(uintptr_t)127), v);
  const HVX_VectorPred others = Q6_Q_and_QQn(Q6_Q_vsetq_R(Q6_R_max_RR(end - 128, 0)), other);
  Q6_vmem_QRIV(others, (HVX_Vector*)(((uintptr_t)to + (uintptr_t)n - 1) & ~(uintptr_t)127), v);
}

#endif  // RULES_DNN_RUNTIME_DNN_HVX_VECTOR_H_
