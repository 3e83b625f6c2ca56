// Functions and types that generated code uses while it computes: status codes, the context of a
// run, parallel blocks, and memory whose size is known only during a run.
//
// Kernels of several chips include this file in one program. It therefore includes no C++ library
// header and defines no function that a linker could merge between files compiled for different
// instruction sets.
#ifndef RULES_DNN_RUNTIME_DNN_RUNTIME_H_
#define RULES_DNN_RUNTIME_DNN_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/dnn_index.h"

#define DNN_ALWAYS_INLINE inline __attribute__((always_inline))

namespace rules_dnn {
inline namespace v1 {

// Generated code asserts that it was generated for this version.
constexpr int kRuntimeVersion = 1;

// Alignment in bytes of weights, arena, scratch and run-time allocations: a cache line, and the
// widest vector. Hexagon's vector loads and stores ignore the low address bits without an error.
// There, kernels may load inputs and outputs as vectors, so that buffers have the same alignment.
#ifdef __hexagon__
constexpr size_t kAlignment = 128;
constexpr size_t kBufferAlignment = kAlignment;
#else
constexpr size_t kAlignment = 64;
constexpr size_t kBufferAlignment = 1;  // or the element type's
#endif

// The result of a call. The numbers are part of every generated C API; kStatusMessages in
// dnn_status.cc has a message for each.
enum class Status : int32_t {
  kOk = 0,
  kNullArgument = 1,       // a required pointer is null
  kBadOptions = 2,         // the options' size, or a pair of members, is not valid
  kBadWeights = 3,         // the weights of another model, or not a weights file
  kBadDims = 4,            // a dimension outside its bounds, or dimensions that do not fit
  kTooLarge = 5,           // a size that the address space cannot hold
  kBufferSize = 6,         // a buffer's size differs from the tensor's
  kMisaligned = 7,         // a buffer is not aligned for its element type
  kOverlap = 8,            // an output overlaps another buffer
  kOutOfMemory = 9,        // the allocator returned null
  kThreads = 10,           // a worker thread did not start
  kUnsupportedCpu = 11,    // the processor lacks an instruction set of the kernels
  kBadIndex = 12,          // no such input or output
  kBadValue = 13,          // the options have no weights
  kNoWeights = 14,         // the options bring no weights
  kWeightsAlignment = 15,  // the weights are not aligned to kAlignment
  kWeightsLength = 16,     // the weights file was cut off, or has trailing data
  kWeightsDamaged = 17,    // the weights differ from those that the compiler wrote
  kUnknownVariant = 18,    // the model has no kernels for the requested chip
  // Models that run on a device; the driver's words are available separately.
  kNoOpenCl = 19,           // no OpenCL library, or functions are missing in it
  kNoDevice = 20,           // no device, or none that matches the options
  kUnsupportedDevice = 21,  // the device lacks what the kernels need
  kBuildFailed = 22,        // the driver rejects the kernels
  kDeviceMemory = 23,       // the device is out of memory
  kDeviceResources = 24,    // the device lacks resources for a kernel
  kDeviceLost = 25,         // the device was lost during a run
  kDeviceFailed = 26,       // another failure of the driver
  kForeign = 27,            // memory or an event from another context than the model's
  // Models that run on a DSP, which also use 23, 25 and 26; the transport's words are available
  // separately.
  kNoDsp = 28,            // no FastRPC library, or no DSP that accepts calls
  kNoSkeleton = 29,       // the DSP does not have the model's library
  kForeignSkeleton = 30,  // the DSP's library belongs to another model or version
};

struct Runtime;  // a context's threads and allocator
struct DeviceContext;

// The state of one run of a model, as the generated program and its blocks see it.
struct Ctx {
  const uint8_t* weights;  // packed constants
  uint8_t* arena;          // intermediate values, at the offsets that the plan chose
  uint8_t* scratch_base;   // `workers` pieces of scratch_stride bytes
  size_t scratch_stride;
  int64_t* sym;           // values of the model's symbols; the program writes computed ones
  const void* const* in;  // inputs and outputs, dense and row-major
  void* const* out;
  Runtime* rt;
  int32_t* bad_index;     // blocks set it to 1 if an index that they load is out of bounds
  const char** refused;   // the program stores the name of the node that rejects the run
  int32_t variant;        // index of the chip whose kernels run
  DeviceContext* device;  // null if the model has no device

  // Returns the memory of one worker for the tiles of the task that it is computing.
  DNN_ALWAYS_INLINE uint8_t* scratch(int worker) const {
    return scratch_base + scratch_stride * static_cast<size_t>(worker);
  }
};

// Computes tasks [first, last) of a block. Concurrent calls have different workers.
using TaskFn = void (*)(const Ctx* c, int64_t first, int64_t last, int worker);

// Computes tasks [0, tasks) and returns when all are done. A worker gets several ranges, which
// depend on how fast the workers are; the assignment does not change the results. block is the
// block's number in the program, for observers of the run.
void Parallel(const Ctx* c, int32_t block, TaskFn fn, int64_t tasks);

// Allocates memory that lives until the run ends, aligned to kAlignment; returns null if memory is
// exhausted. Only for values whose size is known during the run; tasks must not call it.
void* Alloc(const Ctx* c, int64_t bytes);

}  // namespace v1
}  // namespace rules_dnn

using dnn_ctx = rules_dnn::Ctx;
using dnn_status = rules_dnn::Status;

static DNN_ALWAYS_INLINE void dnn_parallel(const dnn_ctx* c, int32_t block, rules_dnn::TaskFn fn,
                                           int64_t tasks) {
  rules_dnn::Parallel(c, block, fn, tasks);
}

// Copies a value; the pointers may be null if bytes is 0.
static DNN_ALWAYS_INLINE void dnn_copy(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) __builtin_memcpy(to, from, static_cast<size_t>(bytes));
}

// Returns the status that a program ends with, and stores the node that caused it.
static DNN_ALWAYS_INLINE dnn_status dnn_refuse(const dnn_ctx* c, dnn_status status,
                                               const char* what) {
  *c->refused = what;
  return status;
}

static DNN_ALWAYS_INLINE void* dnn_alloc(const dnn_ctx* c, int64_t bytes) {
  return rules_dnn::Alloc(c, bytes);
}

#endif  // RULES_DNN_RUNTIME_DNN_RUNTIME_H_
