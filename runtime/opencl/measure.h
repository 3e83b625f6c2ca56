// What an OpenCL device can do at most; linked by programs that measure models alone.
#ifndef RULES_DNN_RUNTIME_OPENCL_MEASURE_H_
#define RULES_DNN_RUNTIME_OPENCL_MEASURE_H_

#include "runtime/dnn_profile.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// Measures the device of a model for about so many seconds, on a queue of its own.
void MeasurePeaks(DeviceModel* model, double seconds, DevicePeaks* peaks);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_MEASURE_H_
