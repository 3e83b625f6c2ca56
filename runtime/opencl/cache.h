// A cache of compiled kernels in a folder, which several processes may share.
#ifndef RULES_DNN_RUNTIME_OPENCL_CACHE_H_
#define RULES_DNN_RUNTIME_OPENCL_CACHE_H_

#include "runtime/opencl/memory.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// The SHA-256 of everything that determines the driver's binary.
struct Key {
  uint8_t hash[32];
};

// Reads an entry; returns false if it does not exist, is damaged or has another key.
bool ReadCache(const char* folder, const Key& key, const Options& options, Bytes* binary);

// Writes an entry atomically. Failures are ignored: a run does not depend on it.
void WriteCache(const char* folder, const Key& key, const Options& options, const uint8_t* binary,
                size_t bytes);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_CACHE_H_
