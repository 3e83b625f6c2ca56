// FastRPC's interface for programs and DSP libraries: the arguments and results of calls.
//
// The layouts match Qualcomm's libcdsprpc.so and the DSP's loader. The names are ours, so
// that no vendor header is needed, and one may be included, too.
#ifndef RULES_DNN_RUNTIME_FASTRPC_RPC_H_
#define RULES_DNN_RUNTIME_FASTRPC_RPC_H_

#include <stddef.h>
#include <stdint.h>

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

using Handle = uint64_t;

// An argument: bytes that a call reads or writes, or a handle. Inputs come first, then outputs,
// then handles of each kind.
union Arg {
  struct {
    void* at;
    size_t bytes;
  } buffer;
  uint32_t handle32;
  Handle handle;
};
static_assert(offsetof(Arg, buffer.bytes) == sizeof(void*), "a pointer and a size");
static_assert(alignof(Arg) == 8, "as the handle in it");

// Encodes a call's method and the number of its arguments of each kind in one word.
constexpr int32_t kMostBuffers = 255;
constexpr uint32_t Scalars(uint32_t method, uint32_t in, uint32_t out, uint32_t in_handles = 0,
                           uint32_t out_handles = 0) {
  return (method & 31) << 24 | (in & 255) << 16 | (out & 255) << 8 | (in_handles & 15) << 4 |
         (out_handles & 15);
}
constexpr uint32_t MethodOf(uint32_t scalars) { return scalars >> 24 & 31; }

// The result of FastRPC functions: 0, or an error number. In newer releases the DSP's own errors
// begin at this number; in older ones they equal the processor's.
using Code = int32_t;
constexpr uint32_t kDspErrors = 0x80000400;
constexpr Code kDone = 0, kNoMemory = 2, kBadArguments = 14, kUnsupported = 20;

// FastRPC's constants.
constexpr int32_t kComputeDsp = 3;       // the domain that has HVX
constexpr uint32_t kThreads = 1;         // request of remote_session_control for the DSP's threads
constexpr uint32_t kUnsignedModule = 2;  // another such request
constexpr uint32_t kDspInfo = 2;         // a request to remote_handle_control
constexpr uint32_t kArchitecture = 6;    // the property that the request reads
constexpr int32_t kSystemHeap = 25;      // for rpcmem_alloc
constexpr uint32_t kCached = 1;          // flags for rpcmem_alloc

struct Threads {
  int32_t domain;
  int32_t priority;  // -1: unchanged
  int32_t stack_bytes;
};

struct UnsignedModule {
  int32_t domain;
  int32_t enable;
};

struct Capability {
  uint32_t domain;
  uint32_t attribute;
  uint32_t value;  // for kArchitecture: the lowest byte is 0x68 for v68
};

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_RPC_H_
