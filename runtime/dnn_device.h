// What a model whose blocks run on a device beside the processor tells of it, and what the host
// program calls.
//
// The runtime itself knows no kind of device: a model's description names the functions of its own.
#ifndef RULES_DNN_RUNTIME_DNN_DEVICE_H_
#define RULES_DNN_RUNTIME_DNN_DEVICE_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

struct Backend;

// A context's part of a device. Backends have more in theirs.
struct DeviceContext {
  const Backend* backend;
  const char* words;  // what the device's driver said of the last failure; never null
  // Of the run in progress, where some lie in the device's memory; null: none does.
  const Buffer* inputs;
  const Buffer* outputs;
  const LaunchObserver* observer;  // null: nobody looks
};

// An image object of a context, of four floats a texel.
struct ImageInfo {
  Size width, height;
};

// The device's part of a description.
struct DeviceInfo {
  const Backend* backend;
  const char* source;  // of all kernels
  size_t source_bytes;
  const char* const* kernels;  // their names; launches give numbers
  int32_t kernel_count;
  const char* const* needs;  // extensions that the device must have
  int32_t need_count;
  int32_t index_bytes;      // of an argument that is a symbol's value
  int32_t group_items;      // the most of a work-group
  Size arena;               // of intermediate values
  Size scratch;             // of one worker
  int32_t workers;          // how many work-items have scratch memory of their own
  int64_t weights_at;       // where the device's constants begin among all
  int64_t weights_bytes;    // how many they are
  const ImageInfo* images;  // that a context has
  int32_t image_count;
  const char* const* flags;  // the blocks that may refuse a value
  int32_t flag_count;
  // Of each input and output: 1 where steps of the processor read or write it, so that one in the
  // device's memory has a copy in the processor's.
  const uint8_t* host_inputs;
  const uint8_t* host_outputs;
  // A kernel that compilers take which take what the kernels have where the macro is defined, and
  // that macro; nullptr where there is no such thing.
  const char* probe;
  const char* probed;
};

// What an argument of a kernel is.
enum class DeviceKind : int32_t {
  kArena,    // elements of the arena from `at` on
  kWeights,  // of the weights
  kScratch,  // of the workers' memory
  kFlag,     // the flag of number `at`, an int
  kImage,    // the image of number `at`
  kSymbol,   // the value `at`
};

struct DeviceArg {
  DeviceKind kind;
  int64_t at;
};

constexpr int kDeviceDims = 3;

// The functions of a kind of device. A DeviceModel is what contexts share: the device, its programs
// and weights. Functions of a context are called by one thread at a time.
struct Backend {
  // Finds the device that the options ask for and readies programs and weights. Says to
  // options.message what is wrong.
  Status (*model_create)(const DeviceInfo* info, const DeviceOptions& options,
                         const uint8_t* weights, DeviceModel** model);
  void (*model_destroy)(DeviceModel* model);

  Status (*context_create)(DeviceModel* model, DeviceContext** context);
  void (*context_destroy)(DeviceContext* context);

  // Takes what runs with these symbols need.
  Status (*prepare)(DeviceContext* context, const Description* d, const int64_t* sym);

  // Starts a kernel for a block.
  Status (*launch)(DeviceContext* context, int32_t block, int32_t kernel, const DeviceArg* args,
                   int32_t count, const int64_t* global, const int64_t* local);

  // Copy bytes that lie `at` on the device, in bytes, and wait for it.
  Status (*write)(DeviceContext* context, DeviceArg to, const void* from, int64_t bytes);
  Status (*read)(DeviceContext* context, void* to, DeviceArg from, int64_t bytes);

  // Ends a run that came to a status: waits, and finds which block refused a value.
  Status (*finish)(DeviceContext* context, Status status, const char** refused);

  // Of the application's own objects. Whether a Buffer has so many bytes of the context's memory.
  Status (*check)(DeviceContext* context, const Buffer& buffer, int64_t bytes);

  // Copy bytes from `at` on of a Buffer, in order with all else and without waiting.
  Status (*copy_in)(DeviceContext* context, DeviceArg to, const Buffer& from, int64_t at,
                    int64_t bytes);
  Status (*copy_out)(DeviceContext* context, const Buffer& to, int64_t at, DeviceArg from,
                     int64_t bytes);

  // Copy a whole Buffer from or to the processor's memory, and wait for it.
  Status (*fetch)(DeviceContext* context, void* to, const Buffer& from, int64_t bytes);
  Status (*store)(DeviceContext* context, const Buffer& to, const void* from, int64_t bytes);

  // Has what comes wait for events; makes one of the end of all that was started, unless the place
  // for it is null, and has the device begin.
  Status (*wait)(DeviceContext* context, int32_t count, void* const* events);
  Status (*mark)(DeviceContext* context, void** event);

  // Has launches from now on observed; null ends that.
  Status (*observe)(DeviceContext* context, const LaunchObserver* observer);
};

}  // namespace v1
}  // namespace rules_dnn

using dnn_arg = rules_dnn::DeviceArg;
using dnn_kind = rules_dnn::DeviceKind;

// Starts a kernel on the context's device, after all that was started before.
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

// The same from an input, and to an output, from a byte on.
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
