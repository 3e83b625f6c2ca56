// What the machine can do at most: products in registers, and memory.
#ifndef RULES_DNN_RUNTIME_BENCH_MACHINE_H_
#define RULES_DNN_RUNTIME_BENCH_MACHINE_H_

#include "runtime/bench/figures.h"
#include "runtime/dnn_profile.h"

namespace rules_dnn::bench {

// Measures with so many threads at once, for about as many seconds, and keeps in the machine what
// is greater than before: whatever else runs can only slow it down. buffer_bytes is what each of
// the tests of memory goes through, 0 for as much as no cache holds.
void Measure(const Probe& probe, int threads, double seconds, int64_t buffer_bytes,
             Machine* machine);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_MACHINE_H_
