// Recording of launches in command buffers (cl_khr_command_buffer), which start them again with one
// call.
//
// The extension is provisional. In its versions 0.9.0 to 0.9.8 the functions declared here have the
// same parameters. Later versions are not known and not used.
#ifndef RULES_DNN_RUNTIME_OPENCL_RECORDER_H_
#define RULES_DNN_RUNTIME_OPENCL_RECORDER_H_

#include "runtime/opencl/loader.h"
#include "runtime/opencl/memory.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

using CommandBuffer = struct CommandBufferObject*;

// The functions of the extension that the runtime calls: F(name, result type, parameter types).
// Property lists end with 0. Our command buffers have one queue, so the queue of a launch is null.
#define RULES_DNN_OPENCL_RECORDING(F)                                                              \
  F(CreateCommandBuffer, CommandBuffer, (Uint, const Queue*, const Bits*, Int*))                   \
  F(ReleaseCommandBuffer, Int, (CommandBuffer))                                                    \
  F(FinalizeCommandBuffer, Int, (CommandBuffer))                                                   \
  F(CommandNDRangeKernel, Int,                                                                     \
    (CommandBuffer, Queue, const Bits*, Kernel, Uint, const size_t*, const size_t*, const size_t*, \
     Uint, const Uint*, Uint*, void**))                                                            \
  F(EnqueueCommandBuffer, Int, (Uint, Queue*, CommandBuffer, Uint, const Event*, Event*))

struct Recorder {
#define RULES_DNN_OPENCL_MEMBER(name, result, params) result(*name) params;
  RULES_DNN_OPENCL_RECORDING(RULES_DNN_OPENCL_MEMBER)
#undef RULES_DNN_OPENCL_MEMBER
  bool asks;      // simultaneous use must be requested at creation
  bool overlaps;  // simultaneous use is possible
};

// Finds the functions that record launches to a queue of the device. Returns false if the driver
// has no version that is known to work.
bool FindRecorder(const Api& api, Device device, Queue queue, const Options& options,
                  Recorder* recorder);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_RECORDER_H_
