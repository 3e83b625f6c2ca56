#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

constexpr const char* kStatusMessages[] = {
    "ok",
    "a required pointer is null",
    "the options are not valid: size, allocate without release, or cores with parallel_for",
    "the weights belong to another model, or are not a weights file of this version",
    "a dimension is outside its bounds, or dimensions do not fit each other",
    "a size is too large for the address space",
    "a buffer's size differs from its tensor's",
    "a buffer is not aligned for its element type",
    "an output overlaps another input or output",
    "the allocator returned no memory",
    "the number of workers is not 0 to 1024, cores are not available, or a thread did not start",
    "the processor lacks an instruction set that the kernels use, or the system does not permit it",
    "the model has no input or output of this number",
    "an input's value is outside what an operator allows, for example an index out of bounds",
    "the weights are missing: this model needs a weights file in the options",
    "the weights are not aligned as the model's header file requires",
    "the weights file is truncated, or has trailing data",
    "the weights file is damaged: its content differs from what was written",
    "the options or DNN_VARIANT name a variant that the model does not have",
    "no OpenCL library is on this machine, or functions are missing in it",
    "no OpenCL device is available, or none matches the options",
    "the device lacks what the model's kernels need",
    "the device's driver rejects the model's kernels",
    "the device is out of memory",
    "the device lacks resources that a kernel needs",
    "the device was lost; destroy the model and create it again",
    "the device's driver failed",
    "memory or an event does not belong to the OpenCL context that the model runs in",
    "no DSP accepts calls: the machine has no FastRPC library, or the library finds no DSP",
    "the DSP does not find or load the model's skeleton library",
    "the DSP's skeleton library belongs to another model or another compiler version",
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
