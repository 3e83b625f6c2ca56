// Measures the peaks of an OpenCL device; linked only by programs that measure models.
#ifndef RULES_DNN_RUNTIME_OPENCL_MEASURE_H_
#define RULES_DNN_RUNTIME_OPENCL_MEASURE_H_

#include "runtime/dnn_profile.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// Measures the device of a model for about `seconds`, on a separate queue.
void MeasurePeaks(DeviceModel* model, double seconds, DevicePeaks* peaks);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_MEASURE_H_
