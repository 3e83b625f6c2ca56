// What kernels for Hexagon include: vectors of 128 bytes (HVX), and what scalar functions need that
// C on Hexagon does not have. It is C11 and needs no C library: functions of double are in
// runtime/dsp.
#ifndef RULES_DNN_RUNTIME_DNN_HVX_H_
#define RULES_DNN_RUNTIME_DNN_HVX_H_

#include "runtime/dnn_hvx_bytes.h"
#include "runtime/dnn_hvx_floats.h"
#include "runtime/dnn_hvx_scalar.h"
#include "runtime/dnn_hvx_sums.h"
#include "runtime/dnn_hvx_vector.h"

// A micro-kernel: a leaf of its own, so that all registers are its own.
#define DNN_HVX_LEAF __attribute__((noinline, unused)) static

// A micro-kernel that is packets of instructions alone: it uses registers that a call may, and no
// stack but for what it saves.
#define DNN_HVX_PACKETS __attribute__((naked, noinline, unused)) static

// Before a loop whose body is written out as far as is good.
#define DNN_HVX_ROLLED _Pragma("clang loop unroll(disable)")

#endif  // RULES_DNN_RUNTIME_DNN_HVX_H_
