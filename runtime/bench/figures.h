// The measurements of a benchmark, and rates derived from them.
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

// Summarises the times of runs, in any order; all zero if the list is empty.
Times Summarise(std::vector<double> ms);

// Returns the median of numbers in any order; 0 if the list is empty.
double Median(std::vector<double> numbers);

// Peaks of the machine with the benchmark's number of threads, measured in the same run as the
// model.
struct Machine {
  int vector_bytes = 0;  // the kernels' vectors
  // Products and sums in registers, measured between runs: median, minimum and maximum.
  double gflops = 0, gflops_least = 0, gflops_most = 0;
  double read_gbs = 0;       // memory
  double copy_gbs = 0;       // bytes read and bytes written
  int64_t buffer_bytes = 0;  // buffer size of the two tests above
  int64_t cache_bytes = 0;   // the largest cache that the system reports; 0: not known
  // Other kinds of products, by their instructions, with their rate relative to products of floats.
  std::vector<std::pair<std::string, double>> products;

  // Returns the relative rate of kind `product`, from 1 on; 1 for floats (0), 0 if not known.
  double Ratio(int32_t product) const;

  double gbs() const { return read_gbs > copy_gbs ? read_gbs : copy_gbs; }
};

// Peaks of the model's device, by the driver's clocks.
struct Device {
  std::string name;  // empty: the model has no device
  double gflops = 0, read_gbs = 0, copy_gbs = 0;

  bool there() const { return !name.empty(); }
  double gbs() const { return read_gbs > copy_gbs ? read_gbs : copy_gbs; }
};

// A block in a run. Counts are sums over its calls in a run; negative if not known.
struct Block {
  std::string name, kernel;
  int32_t number = -1;  // index in the program, as in the manifest
  bool device = false;  // whether it runs on the device; then its times are the driver's
  int64_t calls = 0;
  double flops = 0, products = 0, bytes = 0;
  Times times;
  // Operations that products and sums in registers reach in the same time at the clock of the same
  // run, median over the runs; 0 if not known.
  double peak_flops = 0;
  // The kind of its products, as in the profile, and the machine's rate of this kind relative to
  // floats. peak_flops includes this factor.
  int32_t product = 0;
  double peak_ratio = 1;
};

// Rates derived from a block's median time; negative if not known.
struct Rates {
  double share = -1;         // of the time of all blocks
  double gflops = -1;        // the network's operations
  double gbs = -1;           // operands and results
  double of_peak = -1;       // the network's operations over the machine's peak in this time
  double of_fma_peak = -1;   // computed products, each with its sum, over the machine's peak
  double of_bandwidth = -1;  // gbs over the machine's; more than 1 is possible with caches
  double intensity = -1;     // FLOP per byte
  double limit = -1;         // GFLOP/s that the roofline allows at this intensity
  double of_limit = -1;      // gflops over limit
  bool memory_bound = false;
};

// The share of the machine's peak that micro-kernels of several blocks reach.
struct FmaShare {
  int blocks = 0;        // number of blocks with micro-kernels
  double together = -1;  // weighted by time; negative if not known, like `least`
  double least = -1;
  size_t least_block = 0;  // index of that block in the report
};

struct Report {
  std::string model, generator, chip;
  std::vector<std::string> variants;  // chips that the model has kernels for
  std::vector<std::pair<std::string, int64_t>> symbols;
  int threads = 1;
  int warmup = 0;
  Times times;             // of runs without clocks around blocks
  Times observed;          // of runs with a clock around each block
  double peak_flops = 0;   // as for a block, for `times`
  double least_mflop = 0;  // text and page show only blocks with at least this many MFLOP
  std::vector<Block> blocks;
  Machine machine;
  Device device;
  int64_t arena_bytes = 0, weights_bytes = 0, peak_bytes = 0;

  double BlocksMs() const;  // sum of the medians of all blocks
  double DeviceMs() const;  // sum of those on the device
  Block Whole() const;      // all blocks together, with the times of runs without clocks
  Rates Of(const Block&) const;
  bool Shows(const Block&) const;  // whether the block has least_mflop
  FmaShare ShownFmaShare() const;  // of the blocks that are shown
};

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_FIGURES_H_
