// Functions that clang calls on Hexagon if there is no instruction: division, and copies of whole
// words. They are weak, because a program may link the compiler's own, which are faster.
#include <stddef.h>
#include <stdint.h>

#include "runtime/dsp/dnn_dsp.h"

static uint64_t Divide(uint64_t a, uint64_t b, uint64_t* rest) {
  uint64_t q = 0, r = 0;
  for (int i = 63; i >= 0; --i) {
    const uint64_t carry = r >> 63;
    r = r << 1 | (a >> i & 1);
    q <<= 1;
    if (carry || r >= b) {
      r -= b;
      q |= 1;
    }
  }
  *rest = r;
  return q;
}

static uint64_t Magnitude(int64_t x) { return x < 0 ? -(uint64_t)x : (uint64_t)x; }

DNN_DSP_WEAK uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b);
uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b) {
  uint64_t r;
  return Divide(a, b, &r);
}

DNN_DSP_WEAK uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b);
uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b) {
  uint64_t r;
  Divide(a, b, &r);
  return r;
}

DNN_DSP_WEAK int64_t __hexagon_divdi3(int64_t a, int64_t b);
int64_t __hexagon_divdi3(int64_t a, int64_t b) {
  uint64_t r;
  const uint64_t q = Divide(Magnitude(a), Magnitude(b), &r);
  return (int64_t)((a < 0) != (b < 0) ? -q : q);
}

DNN_DSP_WEAK int64_t __hexagon_moddi3(int64_t a, int64_t b);
int64_t __hexagon_moddi3(int64_t a, int64_t b) {
  uint64_t r;
  Divide(Magnitude(a), Magnitude(b), &r);
  return (int64_t)(a < 0 ? -r : r);
}

DNN_DSP_WEAK uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b);
uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b) { return (uint32_t)__hexagon_udivdi3(a, b); }

DNN_DSP_WEAK uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b);
uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b) { return (uint32_t)__hexagon_umoddi3(a, b); }

DNN_DSP_WEAK int32_t __hexagon_divsi3(int32_t a, int32_t b);
int32_t __hexagon_divsi3(int32_t a, int32_t b) { return (int32_t)__hexagon_divdi3(a, b); }

DNN_DSP_WEAK int32_t __hexagon_modsi3(int32_t a, int32_t b);
int32_t __hexagon_modsi3(int32_t a, int32_t b) { return (int32_t)__hexagon_moddi3(a, b); }

// Copies at least 32 bytes, and a multiple of 8, between addresses that are probably multiples of
// 8.
DNN_DSP_WEAK void* __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void* to, const void* from,
                                                                         size_t bytes);
void* __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void* to, const void* from,
                                                            size_t bytes) {
  if ((((uintptr_t)to | (uintptr_t)from | bytes) & 7) != 0) return memcpy(to, from, bytes);
  typedef uint64_t dnn_double __attribute__((may_alias));
  for (size_t i = 0; i < bytes / 8; ++i) ((dnn_double*)to)[i] = ((const dnn_double*)from)[i];
  return to;
}
