// Finds the device that a model runs on.
#ifndef RULES_DNN_RUNTIME_OPENCL_FIND_H_
#define RULES_DNN_RUNTIME_OPENCL_FIND_H_

#include "runtime/dnn_device.h"
#include "runtime/opencl/loader.h"
#include "runtime/opencl/memory.h"
#include "runtime/opencl/words.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// A device, and the application's context and queue if the options have them. The application owns
// these objects.
struct Found {
  Device device;
  Context context;
  Queue queue;
};

// Finds the device that the options select.
Status Find(const Api& api, const DeviceOptions& options, Found* found, Words* words);

// Checks that the device has what the kernels need.
Status Check(const Api& api, Device device, const DeviceInfo& info, const Options& options,
             Words* words);

// Reads a text property of a device.
Status InfoText(const Api& api, Device device, Uint what, Bytes* text, Words* words);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_FIND_H_
