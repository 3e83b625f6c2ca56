// What a program that measures a model knows of its blocks, printed beside the kernels and linked
// only where somebody asks for it: PREFIX_profile().
#ifndef RULES_DNN_RUNTIME_DNN_PROFILE_H_
#define RULES_DNN_RUNTIME_DNN_PROFILE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// A block by its number in the program. Sizes are of one call, for the symbols' values then;
// negative where not known.
struct BlockInfo {
  const char* name;     // the network's nodes
  const char* kernel;   // how it is computed
  Size flops;           // of the network's expressions
  Size products;        // that micro-kernels add up; 0 for other kernels
  Size bytes;           // of operands and results, each once
  bool device = false;  // runs there
  // The kind of products of its micro-kernels: from 1 on a number among the profile's, 0 those of
  // the probe, and -1 of others, whose peak is not known.
  int32_t product = 0;
};

// What the machine can do at most, as code that was compiled as the kernels are.
struct Probe {
  int32_t vector_bytes;
  // Adds up products in registers and returns how many; `rounds` says how long.
  int64_t (*multiply)(int64_t rounds);
  // Reads a buffer of a multiple of kProbeBytes, aligned to that, and returns what it found.
  float (*read)(const uint8_t* buffer, size_t bytes);
};
constexpr size_t kProbeBytes = 4096;

// Products of another kind than of floats, as of bytes by an instruction for dot products.
struct ProductProbe {
  const char* name;                     // of the instruction
  int64_t (*multiply)(int64_t rounds);  // as Probe's
};

// What a device can do at most, by the driver's clocks.
struct DevicePeaks {
  char name[128];
  double gflops;    // products and sums of floats in registers
  double read_gbs;  // of memory
  double copy_gbs;  // bytes read and bytes written
  char error[512];  // what went wrong; empty: nothing
};

struct Profile {
  const char* chip;
  int32_t block_count;
  const BlockInfo* blocks;
  int64_t (*expr)(const int64_t* sym, int32_t index, int* bad);  // of the blocks' sizes
  Probe probe;

  // In the first variant's profile those of all, by their numbers; null in others.
  const void* (*const* variants)(void) = nullptr;

  // Measures the device for about so many seconds; null without one.
  void (*device_peaks)(DeviceModel* model, double seconds, DevicePeaks* peaks) = nullptr;

  int32_t product_count = 0;
  const ProductProbe* products = nullptr;
};

// The value of a block's size, negative where it is not known or leaves 64 bits.
int64_t BlockSize(const Profile* profile, const Size& size, const int64_t* sym);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_PROFILE_H_
