// What a compiler must be able to build for a target without a C library, as a DSP is:
// repository.bzl tries it.
#include <stdint.h>

#ifdef __hexagon__
#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>

HVX_Vector probe_vector(HVX_Vector a, HVX_Vector b);
HVX_Vector probe_vector(HVX_Vector a, HVX_Vector b) { return Q6_Vw_vadd_VwVw(a, b); }
#endif

void _start(void);
void _start(void) {
  for (;;) {
  }
}
