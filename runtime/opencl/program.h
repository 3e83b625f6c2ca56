// Kernels, compiled for a device or read from the cache.
#ifndef RULES_DNN_RUNTIME_OPENCL_PROGRAM_H_
#define RULES_DNN_RUNTIME_OPENCL_PROGRAM_H_

#include "runtime/dnn_device.h"
#include "runtime/opencl/loader.h"
#include "runtime/opencl/words.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// Builds the program of a model's kernels. If the driver rejects them, the words end with its log.
Status MakeProgram(const Api& api, Context context, Device device, const DeviceInfo& info,
                   const Options& options, const char* cache, Program* program, Words* words);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_PROGRAM_H_
