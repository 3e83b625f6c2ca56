// What of a driver records launches, to start them again with one call: cl_khr_command_buffer.
//
// The extension is provisional. In its versions 0.9.0 to 0.9.8 the calls declared here have the
// same parameters; nothing is known of what comes after them, and it is not used.
#ifndef RULES_DNN_RUNTIME_OPENCL_RECORDER_H_
#define RULES_DNN_RUNTIME_OPENCL_RECORDER_H_

#include "runtime/opencl/loader.h"
#include "runtime/opencl/memory.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

using CommandBuffer = struct CommandBufferObject*;

// The extension's functions that are used, each with its result and parameters; lists of properties
// end with 0. Queues of launches are null where a buffer has one, as ours have.
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
  bool asks;      // a buffer that may be started again before it has ended has to be made as such
  bool overlaps;  // there are buffers that may
};

// Finds what records launches to a queue of the device. False where a driver has nothing that is
// known to work.
bool FindRecorder(const Api& api, Device device, Queue queue, const Options& options,
                  Recorder* recorder);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_RECORDER_H_
