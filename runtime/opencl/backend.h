// The OpenCL backend: descriptions of models point to kBackend.
//
// libOpenCL is loaded when a model is created, so that a program that creates none does not need
// it. All contexts of a model share the device, its compiled kernels and the weights there. Each
// context has its own queue and memory, so that threads may run contexts concurrently. A failure of
// the driver becomes a status, together with the driver's words.
#ifndef RULES_DNN_RUNTIME_OPENCL_BACKEND_H_
#define RULES_DNN_RUNTIME_OPENCL_BACKEND_H_

#include "runtime/dnn_device.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

extern const Backend kBackend;

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_BACKEND_H_
