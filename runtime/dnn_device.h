// The interface between a model whose blocks run on a device beside the processor, the host program
// and the device's backend.
//
// The runtime itself knows no kind of device; a model's description points to the functions of its
// backend.
#ifndef RULES_DNN_RUNTIME_DNN_DEVICE_H_
#define RULES_DNN_RUNTIME_DNN_DEVICE_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

struct Backend;

// A context's state on a device. Backends extend it.
struct DeviceContext {
  const Backend* backend;
  const char* words;  // the driver's words about the last failure; never null
  // Set if buffers of the run in progress are in the device's memory; otherwise null.
  const Buffer* inputs;
  const Buffer* outputs;
  const LaunchObserver* observer;  // null: no observer
};

// An image object of a context; each texel has four floats.
struct ImageInfo {
  Size width, height;
};

// The device part of a description.
struct DeviceInfo {
  const Backend* backend;
  const char* source;  // source text of all kernels
  size_t source_bytes;
  const char* const* kernels;  // names of the kernels; launches refer to them by index
  int32_t kernel_count;
  const char* const* needs;  // required device extensions
  int32_t need_count;
  int32_t index_bytes;      // size of an argument that is a symbol's value
  int32_t group_items;      // maximum number of work-items of a work-group
  Size arena;               // size of intermediate values
  Size scratch;             // per worker
  int32_t workers;          // number of work-items that have scratch memory
  int64_t weights_at;       // offset of the device's constants in the model's weights
  int64_t weights_bytes;    // size of those constants
  const ImageInfo* images;  // images of a context
  int32_t image_count;
  const char* const* flags;  // names of the blocks that may reject a value
  int32_t flag_count;
  // For each input and output: 1 if steps on the processor read or write it, so that a buffer in
  // the device's memory needs a host copy.
  const uint8_t* host_inputs;
  const uint8_t* host_outputs;
  // A test kernel and a macro. If the driver compiles `probe`, it also compiles the variant of the
  // kernels that the macro `probed` selects. Null if there is no such variant.
  const char* probe;
  const char* probed;
};

// The kinds of kernel arguments.
enum class DeviceKind : int32_t {
  kArena,    // the arena, from byte `at` on
  kWeights,  // the weights, from byte `at` on
  kScratch,  // the workers' scratch memory
  kFlag,     // flag number `at`, an int
  kImage,    // image number `at`
  kSymbol,   // the value of `at` itself
};

struct DeviceArg {
  DeviceKind kind;
  int64_t at;
};

constexpr int kDeviceDims = 3;

// The functions of a kind of device. A DeviceModel holds what contexts share: the device, its
// programs and its weights. Functions of one context are never called concurrently.
struct Backend {
  // Finds the device that the options select, builds the programs and uploads the weights. Writes
  // the reason of a failure to options.message.
  Status (*model_create)(const DeviceInfo* info, const DeviceOptions& options,
                         const uint8_t* weights, DeviceModel** model);
  void (*model_destroy)(DeviceModel* model);

  Status (*context_create)(DeviceModel* model, DeviceContext** context);
  void (*context_destroy)(DeviceContext* context);

  // Allocates the memory that runs with these symbols need.
  Status (*prepare)(DeviceContext* context, const Description* d, const int64_t* sym);

  // Starts a kernel for a block.
  Status (*launch)(DeviceContext* context, int32_t block, int32_t kernel, const DeviceArg* args,
                   int32_t count, const int64_t* global, const int64_t* local);

  // Copy bytes to or from offset `at` on the device, and wait for the copy.
  Status (*write)(DeviceContext* context, DeviceArg to, const void* from, int64_t bytes);
  Status (*read)(DeviceContext* context, void* to, DeviceArg from, int64_t bytes);

  // Waits for the end of a run that returned `status`, and finds the block that rejected a value.
  Status (*finish)(DeviceContext* context, Status status, const char** refused);

  // For the application's own objects: checks that a Buffer belongs to the context and holds
  // `bytes`.
  Status (*check)(DeviceContext* context, const Buffer& buffer, int64_t bytes);

  // Copy bytes from offset `at` of a Buffer on, in order with other commands and without waiting.
  Status (*copy_in)(DeviceContext* context, DeviceArg to, const Buffer& from, int64_t at,
                    int64_t bytes);
  Status (*copy_out)(DeviceContext* context, const Buffer& to, int64_t at, DeviceArg from,
                     int64_t bytes);

  // Copy a whole Buffer to or from host memory, and wait for the copy.
  Status (*fetch)(DeviceContext* context, void* to, const Buffer& from, int64_t bytes);
  Status (*store)(DeviceContext* context, const Buffer& to, const void* from, int64_t bytes);

  // wait makes later commands wait for events. mark flushes the queue, and stores an event that
  // signals the end of all commands so far unless `event` is null.
  Status (*wait)(DeviceContext* context, int32_t count, void* const* events);
  Status (*mark)(DeviceContext* context, void** event);

  // Sets the observer of later launches; null removes it.
  Status (*observe)(DeviceContext* context, const LaunchObserver* observer);
};

}  // namespace v1
}  // namespace rules_dnn

using dnn_arg = rules_dnn::DeviceArg;
using dnn_kind = rules_dnn::DeviceKind;

// Enqueues a kernel on the context's device, after all earlier commands.
static DNN_ALWAYS_INLINE dnn_status dnn_launch(const dnn_ctx* c, int32_t block, int32_t kernel,
                                               const dnn_arg* args, int32_t count,
                                               const int64_t* global, const int64_t* local) {
  const rules_dnn::LaunchObserver* const o = c->device->observer;
  if (o != nullptr && o->launched != nullptr) o->launched(o->user, c, block);
  return c->device->backend->launch(c->device, block, kernel, args, count, global, local);
}

static DNN_ALWAYS_INLINE dnn_status dnn_to_device(const dnn_ctx* c, dnn_arg to, const void* from,
                                                  int64_t bytes) {
  return c->device->backend->write(c->device, to, from, bytes);
}

static DNN_ALWAYS_INLINE dnn_status dnn_from_device(const dnn_ctx* c, void* to, dnn_arg from,
                                                    int64_t bytes) {
  return c->device->backend->read(c->device, to, from, bytes);
}

// The same from an input and to an output, from byte `at` of it on.
static DNN_ALWAYS_INLINE dnn_status dnn_input_to_device(const dnn_ctx* c, dnn_arg to, int32_t input,
                                                        int64_t at, int64_t bytes) {
  const rules_dnn::Buffer* const given = c->device->inputs;
  if (given != nullptr && given[input].memory != nullptr) {
    return c->device->backend->copy_in(c->device, to, given[input], at, bytes);
  }
  return dnn_to_device(c, to, static_cast<const uint8_t*>(c->in[input]) + at, bytes);
}

static DNN_ALWAYS_INLINE dnn_status dnn_device_to_output(const dnn_ctx* c, int32_t output,
                                                         int64_t at, dnn_arg from, int64_t bytes) {
  const rules_dnn::Buffer* const given = c->device->outputs;
  if (given != nullptr && given[output].memory != nullptr) {
    return c->device->backend->copy_out(c->device, given[output], at, from, bytes);
  }
  return dnn_from_device(c, static_cast<uint8_t*>(c->out[output]) + at, from, bytes);
}

#endif  // RULES_DNN_RUNTIME_DNN_DEVICE_H_
