// What generated code calls while it computes: status codes, the context of a run,
// parallel blocks and memory of sizes that only the run knows.
//
// Kernels of several chips include this file in one program, so it includes no C++ library
// header and defines no function that a linker could share between files compiled
// with different instruction sets.
#ifndef RULES_DNN_RUNTIME_DNN_RUNTIME_H_
#define RULES_DNN_RUNTIME_DNN_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/dnn_index.h"

#define DNN_ALWAYS_INLINE inline __attribute__((always_inline))

namespace rules_dnn {
inline namespace v1 {

// Generated code asserts that it was printed for this version.
constexpr int kRuntimeVersion = 1;

// Alignment in bytes of weights, arena, scratch and run-time allocations: a cache line,
// and the widest vector. Instructions of Hexagon's vectors take no other addresses, and do not say
// so: there inputs and outputs, which kernels may load as vectors, are aligned likewise.
#ifdef __hexagon__
constexpr size_t kAlignment = 128;
constexpr size_t kBufferAlignment = kAlignment;
#else
constexpr size_t kAlignment = 64;
constexpr size_t kBufferAlignment = 1;  // or the element type's
#endif

// What a call came to. The numbers are part of every generated C API; kStatusMessages
// in status.cc has a message for each.
enum class Status : int32_t {
  kOk = 0,
  kNullArgument = 1,       // a required pointer is null
  kBadOptions = 2,         // the options' size or a pair of their members
  kBadWeights = 3,         // another model's weights, or no weights file
  kBadDims = 4,            // a dimension outside its bounds, or dimensions that do not fit
  kTooLarge = 5,           // a size that the address space cannot hold
  kBufferSize = 6,         // a buffer's size is not the tensor's
  kMisaligned = 7,         // a buffer is not aligned for its element type
  kOverlap = 8,            // an output overlaps another buffer
  kOutOfMemory = 9,        // the allocator gave nothing
  kThreads = 10,           // a worker thread did not start
  kUnsupportedCpu = 11,    // the processor lacks an instruction set of the kernels
  kBadIndex = 12,          // no such input or output
  kBadValue = 13,          // an input's value is outside what an operator allows
  kNoWeights = 14,         // the options bring no weights
  kWeightsAlignment = 15,  // the weights are not aligned to kAlignment
  kWeightsLength = 16,     // the weights file was cut off, or has trailing data
  kWeightsDamaged = 17,    // the weights are not what the compiler wrote
  kUnknownVariant = 18,    // the model has no kernels for the chip that was asked for
  // Of models that run on a device, with the driver's words beside.
  kNoOpenCl = 19,           // no OpenCL library, or one that lacks functions
  kNoDevice = 20,           // no device, or none that the options ask for
  kUnsupportedDevice = 21,  // the device lacks what the kernels need
  kBuildFailed = 22,        // the driver refuses the kernels
  kDeviceMemory = 23,       // the device has no memory
  kDeviceResources = 24,    // the device has not the resources for a kernel
  kDeviceLost = 25,         // the device was lost in a run
  kDeviceFailed = 26,       // the driver failed otherwise
  kForeign = 27,            // memory or an event that is not of the model's context of the device
  // Of models that run on a DSP, as are 23, 25 and 26, with the transport's words beside.
  kNoDsp = 28,            // no FastRPC library, or no DSP that takes calls
  kNoSkeleton = 29,       // the DSP has not the model's library
  kForeignSkeleton = 30,  // the DSP's library is of another model or version
};

struct Runtime;  // a context's threads and allocator
struct DeviceContext;

// One run of a model: what the generated program and its blocks see.
struct Ctx {
  const uint8_t* weights;  // packed constants
  uint8_t* arena;          // intermediate values; offsets are the plan's
  uint8_t* scratch_base;   // `workers` pieces of scratch_stride bytes
  size_t scratch_stride;
  int64_t* sym;           // values of the model's symbols; the program writes computed ones
  const void* const* in;  // inputs and outputs, dense and row-major
  void* const* out;
  Runtime* rt;
  int32_t* bad_index;     // blocks set it where an index that they load is out of bounds
  const char** refused;   // the program says here what refuses the run
  int32_t variant;        // of the model's, where it has kernels for several chips
  DeviceContext* device;  // null where the model has none

  // Memory of one worker, for the tiles of the task that it is computing.
  DNN_ALWAYS_INLINE uint8_t* scratch(int worker) const {
    return scratch_base + scratch_stride * static_cast<size_t>(worker);
  }
};

// Computes tasks [first, last) of a block. Two calls that run at the same time have
// different workers.
using TaskFn = void (*)(const Ctx* c, int64_t first, int64_t last, int worker);

// Computes tasks [0, tasks) and returns when all are done. Each worker gets one
// contiguous part; which one never changes what a task computes. block is its number in the
// program, for who observes the run.
void Parallel(const Ctx* c, int32_t block, TaskFn fn, int64_t tasks);

// Memory that lives until the run ends, aligned to kAlignment; null when there is none.
// Only for values whose size nothing but the run can tell; not for use inside tasks.
void* Alloc(const Ctx* c, int64_t bytes);

}  // namespace v1
}  // namespace rules_dnn

using dnn_ctx = rules_dnn::Ctx;
using dnn_status = rules_dnn::Status;

static DNN_ALWAYS_INLINE void dnn_parallel(const dnn_ctx* c, int32_t block, rules_dnn::TaskFn fn,
                                           int64_t tasks) {
  rules_dnn::Parallel(c, block, fn, tasks);
}

// Copies a value to another one's memory; neither need exist where there are no bytes.
static DNN_ALWAYS_INLINE void dnn_copy(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) __builtin_memcpy(to, from, static_cast<size_t>(bytes));
}

// The status that a program ends with, and the node that it is about.
static DNN_ALWAYS_INLINE dnn_status dnn_refuse(const dnn_ctx* c, dnn_status status,
                                               const char* what) {
  *c->refused = what;
  return status;
}

static DNN_ALWAYS_INLINE void* dnn_alloc(const dnn_ctx* c, int64_t bytes) {
  return rules_dnn::Alloc(c, bytes);
}

#endif  // RULES_DNN_RUNTIME_DNN_RUNTIME_H_
