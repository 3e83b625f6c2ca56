// Numbers of 192 bits, of which functions of double are made that are correctly rounded but for the
// rarest cases, as package scalar's of the compiler are: a DSP need have no C library, and would
// answer otherwise than the compiler where it has one. They are slow.
#ifndef RULES_DNN_RUNTIME_DSP_DNN_WIDE_H_
#define RULES_DNN_RUNTIME_DSP_DNN_WIDE_H_

#include <stdbool.h>
#include <stdint.h>

enum { kDnnLimbs = 6 };

// m / 2^192 * 2^e, the least significant part first. The first bit is set, or m is 0.
typedef struct dnn_wide {
  uint32_t m[kDnnLimbs];
  int32_t e;
  bool negative;
} dnn_wide;

dnn_wide dnn_wide_of(double x);  // of a finite number
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
dnn_wide dnn_wide_sqrt(dnn_wide a);                        // of 0 or more

dnn_wide dnn_wide_pi(void);
dnn_wide dnn_wide_exp(dnn_wide a);  // of at most some thousands
dnn_wide dnn_wide_log(dnn_wide a);  // of a positive number
dnn_wide dnn_wide_sin(dnn_wide a);  // of a small number
dnn_wide dnn_wide_cos(dnn_wide a);  // likewise
dnn_wide dnn_wide_atan(dnn_wide a);
dnn_wide dnn_wide_erf(dnn_wide a);  // of at most 6

// Splits a finite x that is 2^-30 or more into quarter turns, of which the last two bits are
// returned, and a rest of at most about an eighth of a turn.
uint32_t dnn_wide_quarters(double x, dnn_wide* rest);

// The finite double nearest to (-1)^sign m 2^e, or an infinity; m is not 0, and its last bit may
// stand for what is less than it. sign is the sign's bit.
double dnn_rounded(uint64_t sign, uint64_t m, int e);

// The mantissa of a finite number that is not 0 and positive, by its bits, with 53 bits, and its
// exponent.
uint64_t dnn_split(uint64_t bits, int* e);

#endif  // RULES_DNN_RUNTIME_DSP_DNN_WIDE_H_
