// OpenCL as what runs a model's blocks: descriptions of models name kBackend.
//
// libOpenCL is opened when a model is created; a program that creates none needs none. All contexts
// of a model share the device, its compiled kernels and the weights there; each has a queue and
// memory of its own, so that threads may run them at the same time. A failure of the driver is a
// status, with its words beside.
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
