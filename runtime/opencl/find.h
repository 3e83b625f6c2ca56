// Which device a model runs on.
#ifndef RULES_DNN_RUNTIME_OPENCL_FIND_H_
#define RULES_DNN_RUNTIME_OPENCL_FIND_H_

#include "runtime/dnn_device.h"
#include "runtime/opencl/loader.h"
#include "runtime/opencl/memory.h"
#include "runtime/opencl/words.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// A device, and the application's context and queue of it where the options bring them. The objects
// are theirs.
struct Found {
  Device device;
  Context context;
  Queue queue;
};

// Finds the device that the options ask for.
Status Find(const Api& api, const DeviceOptions& options, Found* found, Words* words);

// Whether the device has what the kernels need.
Status Check(const Api& api, Device device, const DeviceInfo& info, const Options& options,
             Words* words);

// What a device says of itself as text.
Status InfoText(const Api& api, Device device, Uint what, Bytes* text, Words* words);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_FIND_H_
