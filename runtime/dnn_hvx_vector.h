// Vectors of 128 bytes (HVX) in memory: whole ones, at any address, and parts of them.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_VECTOR_H_
#define RULES_DNN_RUNTIME_DNN_HVX_VECTOR_H_

#include <stdbool.h>
#include <stdint.h>

#if !defined(__HVX__) || __HVX_LENGTH__ != 128
#error "kernels for HVX want -mhvx -mhvx-length=128b"
#endif

#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>

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

// Vectors at any address.
typedef HVX_UVector dnn_hvx_unaligned __attribute__((may_alias));

static inline HVX_Vector dnn_hvx_load_any(const void* p) { return *(const dnn_hvx_unaligned*)p; }

static inline void dnn_hvx_store_any(void* p, HVX_Vector v) { *(dnn_hvx_unaligned*)p = v; }

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

#endif  // RULES_DNN_RUNTIME_DNN_HVX_VECTOR_H_
