// What the machine can do at most: products in registers, and memory.
#ifndef RULES_DNN_RUNTIME_BENCH_MACHINE_H_
#define RULES_DNN_RUNTIME_BENCH_MACHINE_H_

#include "runtime/bench/figures.h"
#include "runtime/dnn_profile.h"

namespace rules_dnn::bench {

// How fast so many threads at once compute products and sums in registers. Clocks move: it is
// measured again and again, in about two milliseconds each time.
class Peak {
 public:
  Peak(int64_t (*multiply)(int64_t rounds), int threads);

  // In GFLOP/s, of the fastest of a few tests: whatever else runs can only slow them down.
  double Measure() const;

 private:
  int64_t (*multiply_)(int64_t rounds);
  int threads_;
  int64_t rounds_;  // of a test
};

// How many times as many products of a kind, by an instruction of its own, as of floats so many
// threads compute at once: the fastest of some tests that take turns.
double ProductRatio(const Probe& probe, const ProductProbe& product, int threads);

// Measures memory with so many threads at once, for about as many seconds, and keeps in the machine
// what is greater than before. buffer_bytes is what each of the tests goes through, 0 for as much
// as no cache holds.
void MeasureMemory(const Probe& probe, int threads, double seconds, int64_t buffer_bytes,
                   Machine* machine);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_MACHINE_H_
