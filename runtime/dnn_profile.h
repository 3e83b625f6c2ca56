// Facts about a model's blocks for programs that measure the model. They are generated beside the
// kernels and linked only into programs that call PREFIX_profile().
#ifndef RULES_DNN_RUNTIME_DNN_PROFILE_H_
#define RULES_DNN_RUNTIME_DNN_PROFILE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// A block, by its number in the program. Sizes are per call, for the symbols' values at that time;
// negative if not known.
struct BlockInfo {
  const char* name;     // the network's nodes
  const char* kernel;   // the kernel that computes the block
  Size flops;           // floating-point operations of the network's expressions
  Size products;        // products that micro-kernels accumulate; 0 for other kernels
  Size bytes;           // operands and results, each counted once
  bool device = false;  // whether the block runs on the device
  // The kind of products of the block's micro-kernels. n > 0: Profile::products[n - 1]; 0: the kind
  // of the probe; -1: another kind, whose peak is not known.
  int32_t product = 0;
};

// Measures the machine's peaks with code that is compiled like the kernels.
struct Probe {
  int32_t vector_bytes;
  // Accumulates products in registers and returns their number, which grows with `rounds`.
  int64_t (*multiply)(int64_t rounds);
  // Reads a buffer, aligned to kProbeBytes and a multiple of it in size; returns a value computed
  // from it.
  float (*read)(const uint8_t* buffer, size_t bytes);
};
constexpr size_t kProbeBytes = 4096;

// A probe for products of other types than float, for example bytes in dot-product instructions.
struct ProductProbe {
  const char* name;                     // the instruction's name
  int64_t (*multiply)(int64_t rounds);  // like Probe::multiply
};

// Peaks of a device, by the driver's clocks.
struct DevicePeaks {
  char name[128];
  double gflops;    // products and sums of floats in registers
  double read_gbs;  // memory
  double copy_gbs;  // bytes read and bytes written
  char error[512];  // empty if nothing failed
};

struct Profile {
  const char* chip;
  int32_t block_count;
  const BlockInfo* blocks;
  int64_t (*expr)(const int64_t* sym, int32_t index, int* bad);  // for the blocks' sizes
  Probe probe;

  // In the first variant's profile, the profiles of all variants in order; null in the others.
  const void* (*const* variants)(void) = nullptr;

  // Measures the device for about `seconds`; null if there is no device.
  void (*device_peaks)(DeviceModel* model, double seconds, DevicePeaks* peaks) = nullptr;

  int32_t product_count = 0;
  const ProductProbe* products = nullptr;
};

// Evaluates a block's size; returns a negative value if the size is not known or does not fit 64
// bits.
int64_t BlockSize(const Profile* profile, const Size& size, const int64_t* sym);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_PROFILE_H_
