// Compiled kernels in a folder, which several processes may share.
#ifndef RULES_DNN_RUNTIME_OPENCL_CACHE_H_
#define RULES_DNN_RUNTIME_OPENCL_CACHE_H_

#include "runtime/opencl/memory.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// The SHA-256 of what decides what a driver makes of kernels.
struct Key {
  uint8_t hash[32];
};

// Reads an entry. False where there is none, or one that is damaged or another's.
bool ReadCache(const char* folder, const Key& key, const Options& options, Bytes* binary);

// Writes an entry, whole or not at all: a run does not depend on it.
void WriteCache(const char* folder, const Key& key, const Options& options, const uint8_t* binary,
                size_t bytes);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_CACHE_H_
