// Measures the machine's peak rates: multiply-adds in registers, and bytes from and to memory.
#ifndef RULES_DNN_RUNTIME_BENCH_MACHINE_H_
#define RULES_DNN_RUNTIME_BENCH_MACHINE_H_

#include "runtime/bench/figures.h"
#include "runtime/dnn_profile.h"

namespace rules_dnn::bench {

// Measures how fast a number of threads compute products and sums in registers. Clock frequencies
// change, so that it is measured repeatedly, in about two milliseconds each time.
class Peak {
 public:
  Peak(int64_t (*multiply)(int64_t rounds), int threads);

  // Returns the GFLOP/s of the fastest of a few tests, because other programs can only slow them
  // down.
  double Measure() const;

 private:
  int64_t (*multiply_)(int64_t rounds);
  int threads_;
  int64_t rounds_;  // of one test
};

// Returns how many times as many products as of floats `threads` threads compute with the
// instruction of another kind. It compares the fastest of alternating tests.
double ProductRatio(const Probe& probe, const ProductProbe& product, int threads);

// Measures memory with `threads` threads for about `seconds`, and stores rates that exceed those in
// the machine. Each test reads or copies buffer_bytes; 0 selects a size that exceeds all caches.
void MeasureMemory(const Probe& probe, int threads, double seconds, int64_t buffer_bytes,
                   Machine* machine);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_MACHINE_H_
