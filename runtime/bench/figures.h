// What a benchmark measured, and what follows from it.
#ifndef RULES_DNN_RUNTIME_BENCH_FIGURES_H_
#define RULES_DNN_RUNTIME_BENCH_FIGURES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rules_dnn::bench {

// Times in milliseconds.
struct Times {
  int runs = 0;
  double least = 0, most = 0, mean = 0;
  double p5 = 0, p25 = 0, median = 0, p75 = 0, p90 = 0, p95 = 0, p99 = 0;
};

// The times of runs, in any order; all zero where there are none.
Times Summarise(std::vector<double> ms);

// The middle of numbers in any order; 0 where there are none.
double Median(std::vector<double> numbers);

// What the machine can do at most with so many threads, measured in the same run as the model.
struct Machine {
  int vector_bytes = 0;  // of the kernels
  // Of products and sums in registers, between the runs: the median, and how far it moved.
  double gflops = 0, gflops_least = 0, gflops_most = 0;
  double read_gbs = 0;       // of memory
  double copy_gbs = 0;       // bytes read and bytes written
  int64_t buffer_bytes = 0;  // of the two above
  int64_t cache_bytes = 0;   // the largest cache that the system tells of; 0: it tells of none
  // Other products that blocks compute, by their instructions, and how many times as many as of
  // floats.
  std::vector<std::pair<std::string, double>> products;

  // That of a kind by its number from 1 on; 1 of floats, 0 where it is not known.
  double Ratio(int32_t product) const;

  double gbs() const { return read_gbs > copy_gbs ? read_gbs : copy_gbs; }
};

// What the model's device can do at most, by the clocks of its driver.
struct Device {
  std::string name;  // empty: the model has none
  double gflops = 0, read_gbs = 0, copy_gbs = 0;

  bool there() const { return !name.empty(); }
  double gbs() const { return read_gbs > copy_gbs ? read_gbs : copy_gbs; }
};

// A block in a run. Counts are sums over its calls in a run, negative where not known.
struct Block {
  std::string name, kernel;
  int32_t number = -1;  // in the program, as in the manifest
  bool device = false;  // it runs there, and its times are the driver's
  int64_t calls = 0;
  double flops = 0, products = 0, bytes = 0;
  Times times;
  // What products and sums in registers amount to in the same time at the clock of the same run,
  // the median over the runs; 0 where not known.
  double peak_flops = 0;
  // The kind of its products, as in the profile, and how many times as many as of floats the
  // machine computes: peak_flops has it in it.
  int32_t product = 0;
  double peak_ratio = 1;
};

// What follows from a block's median time; negative where not known.
struct Rates {
  double share = -1;         // of the time in all blocks
  double gflops = -1;        // of the network's operations
  double gbs = -1;           // of operands and results
  double of_peak = -1;       // the network's operations over the machine's in this time
  double of_fma_peak = -1;   // products that were computed, each with its sum, over the machine's
  double of_bandwidth = -1;  // gbs over the machine's; caches may give more than 1
  double intensity = -1;     // FLOPs a byte
  double limit = -1;         // GFLOP/s that the roofline allows at this intensity
  double of_limit = -1;      // gflops over that
  bool memory_bound = false;
};

// What micro-kernels computed over the machine's peak, of several blocks.
struct FmaShare {
  int blocks = 0;        // that have micro-kernels
  double together = -1;  // weighed by time; negative where not known, as the next
  double least = -1;
  size_t least_block = 0;  // its place among the report's blocks
};

struct Report {
  std::string model, generator, chip;
  std::vector<std::string> variants;  // chips that the model has kernels for
  std::vector<std::pair<std::string, int64_t>> symbols;
  int threads = 1;
  int warmup = 0;
  Times times;             // of runs without clocks inside
  Times observed;          // of runs with a clock around each block
  double peak_flops = 0;   // as a block's, of `times`
  double least_mflop = 0;  // text and page show blocks of as many operations
  std::vector<Block> blocks;
  Machine machine;
  Device device;
  int64_t arena_bytes = 0, weights_bytes = 0, peak_bytes = 0;

  double BlocksMs() const;  // sum of the blocks' medians
  double DeviceMs() const;  // of those on the device
  Block Whole() const;      // all blocks together, with the times of plain runs
  Rates Of(const Block&) const;
  bool Shows(const Block&) const;  // as least_mflop says
  FmaShare ShownFmaShare() const;  // of the blocks that it shows
};

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_FIGURES_H_
