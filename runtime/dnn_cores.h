// Sets of the machine's cores, for Options::cores. Only Linux and Android let a program choose.
#ifndef RULES_DNN_RUNTIME_DNN_CORES_H_
#define RULES_DNN_RUNTIME_DNN_CORES_H_

#include <stdint.h>

namespace rules_dnn {
inline namespace v1 {

// Cores of a set have numbers below this.
constexpr int kMaxCores = 1024;

struct CoreSet {
  uint64_t bits[kMaxCores / 64];

  bool Has(int core) const { return (bits[core / 64] >> (core % 64) & 1) != 0; }
  void Add(int core) { bits[core / 64] |= uint64_t{1} << (core % 64); }
  int Count() const {
    int n = 0;
    for (uint64_t b : bits) {
      for (; b != 0; b &= b - 1) ++n;
    }
    return n;
  }
};

// Where Linux describes the machine's cores.
constexpr const char* kCoresFolder = "/sys/devices/system/cpu";

// Reads a set of cores: "all", "big", a hexadecimal mask "0xf0" whose lowest bit is core 0, or
// numbers and ranges "4-7,2".
//
// "big" selects each core whose capacity exceeds 1.1 times the smallest, or all cores if none does.
// The capacity is in the file cpuN/cpu_capacity or, if no core has this file, in
// cpuN/cpufreq/cpuinfo_max_freq. Cores without the file are not selected, unless no core has it.
//
// `folder` is kCoresFolder or, in tests, a folder like it.
//
// Returns false if the text is malformed or names a core that does not exist, and if the folder
// does not describe the cores. It always returns false on systems that do not let programs choose.
bool ParseCores(const char* text, const char* folder, CoreSet* cores);

// Restricts the calling thread to the cores. Returns false if the system refuses.
bool BindThread(const CoreSet& cores);

// Adds the cores that the calling thread may run on. Returns false if they are not known.
bool AddThreadCores(CoreSet* cores);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_CORES_H_
