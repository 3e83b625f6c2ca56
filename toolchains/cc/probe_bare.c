// A minimal program for a target without a C library, such as a DSP. repository.bzl builds it to
// test the compiler.
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
