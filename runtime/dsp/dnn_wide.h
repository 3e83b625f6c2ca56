// Numbers of 192 bits. With them, functions of double are correctly rounded except in very rare
// cases, as in the compiler's package scalar. A DSP may have no C library, and if it has one, its
// results could differ from the compiler's. These functions are slow.
#ifndef RULES_DNN_RUNTIME_DSP_DNN_WIDE_H_
#define RULES_DNN_RUNTIME_DSP_DNN_WIDE_H_

#include <stdbool.h>
#include <stdint.h>

enum { kDnnLimbs = 6 };

// m / 2^192 * 2^e, least significant limb first. The highest bit is set, or m is 0.
typedef struct dnn_wide {
  uint32_t m[kDnnLimbs];
  int32_t e;
  bool negative;
} dnn_wide;

dnn_wide dnn_wide_of(double x);  // x is finite
dnn_wide dnn_wide_int(int64_t n);
double dnn_wide_nearest(const dnn_wide* a);

bool dnn_wide_zero(const dnn_wide* a);
dnn_wide dnn_wide_neg(dnn_wide a);
dnn_wide dnn_wide_shifted(dnn_wide a, int32_t n);  // a * 2^n
dnn_wide dnn_wide_plus(dnn_wide a, dnn_wide b);
dnn_wide dnn_wide_minus(dnn_wide a, dnn_wide b);
dnn_wide dnn_wide_times(dnn_wide a, dnn_wide b);
dnn_wide dnn_wide_over(dnn_wide a, dnn_wide b);            // b is not 0
dnn_wide dnn_wide_over_int(dnn_wide a, uint32_t divisor);  // likewise
dnn_wide dnn_wide_sqrt(dnn_wide a);                        // a is not negative

dnn_wide dnn_wide_pi(void);
dnn_wide dnn_wide_exp(dnn_wide a);  // a is at most some thousands
dnn_wide dnn_wide_log(dnn_wide a);  // a is positive
dnn_wide dnn_wide_sin(dnn_wide a);  // a is small
dnn_wide dnn_wide_cos(dnn_wide a);  // likewise
dnn_wide dnn_wide_atan(dnn_wide a);
dnn_wide dnn_wide_erf(dnn_wide a);  // a is at most 6

// Splits a finite x >= 2^-30 into quarter turns and a rest of at most about an eighth of a turn.
// Returns the last two bits of the number of quarter turns.
uint32_t dnn_wide_quarters(double x, dnn_wide* rest);

// Returns the finite double nearest to (-1)^sign m 2^e, or an infinity. m is not 0; its last bit
// may represent lower bits that were dropped. sign is the sign bit.
double dnn_rounded(uint64_t sign, uint64_t m, int e);

// Returns the 53-bit mantissa of a finite positive number, from its bits, and stores its exponent.
uint64_t dnn_split(uint64_t bits, int* e);

#endif  // RULES_DNN_RUNTIME_DSP_DNN_WIDE_H_
