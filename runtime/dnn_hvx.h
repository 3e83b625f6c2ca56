// Includes everything that kernels for Hexagon need: vectors of 128 bytes (HVX), and scalar helpers
// that C on Hexagon lacks. It is C11 and needs no C library; functions of double are in
// runtime/dsp.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_H_
#define RULES_DNN_RUNTIME_DNN_HVX_H_

#include "runtime/dnn_hvx_bytes.h"
#include "runtime/dnn_hvx_floats.h"
#include "runtime/dnn_hvx_scalar.h"
#include "runtime/dnn_hvx_sums.h"
#include "runtime/dnn_hvx_vector.h"

// A micro-kernel is a leaf function, so that it can use all registers.
#define DNN_HVX_LEAF __attribute__((noinline, unused)) static

// A micro-kernel that consists only of assembly packets. It uses the caller-saved registers, and
// stack only for registers that it saves.
#define DNN_HVX_PACKETS __attribute__((naked, noinline, unused)) static

// Disables unrolling of a loop whose body is already unrolled in the source.
#define DNN_HVX_ROLLED _Pragma("clang loop unroll(disable)")

#endif  // RULES_DNN_RUNTIME_DNN_HVX_H_
