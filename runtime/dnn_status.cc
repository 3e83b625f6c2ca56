#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

constexpr const char* kStatusMessages[] = {
    "ok",
    "a required pointer is null",
    "the options are not valid: set their size, and give allocate and release together",
    "the weights are those of another model, or are no weights file of this version",
    "a dimension is outside its bounds, or dimensions do not fit each other",
    "a size is too large for the address space",
    "a buffer's size is not that of its tensor",
    "a buffer is not aligned for its element type",
    "an output overlaps another input or output",
    "the allocator gave no memory",
    "the number of workers is not 0 to 1024, or a thread did not start",
    "the processor lacks an instruction set that the kernels use, or the system does not permit it",
    "the model has no input or output of this number",
    "an input's value is outside what an operator allows, as an index out of bounds is",
    "the weights are missing: this model's are in a file that the options must bring",
    "the weights are not aligned to 64 bytes",
    "the weights file is cut off, or has trailing data",
    "the weights file is damaged: its content is not what was written",
    "the options or DNN_VARIANT name a variant that the model does not have",
    "no OpenCL library is on this machine, or it is not complete",
    "no OpenCL device is there, or none that the options ask for",
    "the device lacks what the model's kernels need",
    "the device's driver refuses the model's kernels",
    "the device has not enough memory",
    "the device has not the resources that a kernel needs",
    "the device was lost; destroy the model and create it again",
    "the device's driver failed",
    "memory or an event is not of the OpenCL context that the model runs in",
    "no DSP takes calls: the machine has no FastRPC library, or that reaches none",
    "the DSP does not find or load the model's skeleton library",
    "the DSP's skeleton library is of another model, or of another version of the compiler",
};
constexpr int32_t kCount = sizeof(kStatusMessages) / sizeof(kStatusMessages[0]);
static_assert(kCount == static_cast<int32_t>(Status::kForeignSkeleton) + 1, "a message each");

}  // namespace

const char* StatusMessage(Status status) {
  const int32_t code = static_cast<int32_t>(status);
  return code >= 0 && code < kCount ? kStatusMessages[code] : "an unknown status";
}

}  // namespace v1
}  // namespace rules_dnn
