// FastRPC as a program and a DSP's library see it: what a call carries, and what it comes to.
//
// The layouts are those of Qualcomm's libcdsprpc.so and of what loads libraries on the DSP; the
// names are ours, so that no header of a vendor is needed, and one may be included beside this.
#ifndef RULES_DNN_RUNTIME_FASTRPC_RPC_H_
#define RULES_DNN_RUNTIME_FASTRPC_RPC_H_

#include <stddef.h>
#include <stdint.h>

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

using Handle = uint64_t;

// Bytes that a call reads or writes, or a handle: inputs, then outputs, then handles of each kind.
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

// The number of a call's method and of its arguments of each kind, in one word.
constexpr int32_t kMostBuffers = 255;
constexpr uint32_t Scalars(uint32_t method, uint32_t in, uint32_t out, uint32_t in_handles = 0,
                           uint32_t out_handles = 0) {
  return (method & 31) << 24 | (in & 255) << 16 | (out & 255) << 8 | (in_handles & 15) << 4 |
         (out_handles & 15);
}
constexpr uint32_t MethodOf(uint32_t scalars) { return scalars >> 24 & 31; }

// What functions of FastRPC return: 0, or the number of an error. The DSP's own errors are numbers
// from this one on in newer releases, and the same as the processor's in older ones.
using Code = int32_t;
constexpr uint32_t kDspErrors = 0x80000400;
constexpr Code kDone = 0, kNoMemory = 2, kBadArguments = 14, kUnsupported = 20;

// Numbers of FastRPC's.
constexpr int32_t kComputeDsp = 3;  // the domain that has HVX
constexpr uint32_t kThreads = 1;    // a request to remote_session_control: of the DSP's threads
constexpr uint32_t kUnsignedModule = 2;  // another one
constexpr uint32_t kDspInfo = 2;         // a request to remote_handle_control
constexpr uint32_t kArchitecture = 6;    // what of the DSP that asks for
constexpr int32_t kSystemHeap = 25;      // of rpcmem_alloc
constexpr uint32_t kCached = 1;          // its flags

struct Threads {
  int32_t domain;
  int32_t priority;  // -1: as it is
  int32_t stack_bytes;
};

struct UnsignedModule {
  int32_t domain;
  int32_t enable;
};

struct Capability {
  uint32_t domain;
  uint32_t attribute;
  uint32_t value;  // of kArchitecture: 0x68 for v68, in the lowest byte
};

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_RPC_H_
