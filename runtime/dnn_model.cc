#include "runtime/dnn_model.h"

#include "runtime/dnn_context.h"
#include "runtime/dnn_device.h"
#include "runtime/dnn_memory.h"
#include "runtime/dnn_system.h"
#include "runtime/dnn_variant.h"
#include "runtime/dnn_weights.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

// No version's options will be larger; a struct that nobody initialised may say so.
constexpr size_t kMaxOptions = 4096;

void* DefaultAllocate(void*, size_t bytes, size_t alignment) {
  return AllocateMemory(bytes, alignment);
}

void DefaultRelease(void*, void* memory, size_t) { FreeMemory(memory); }

// The options that count: the caller's members as far as its struct goes, defaults beyond. A
// struct of a later version is fine as long as it asks for nothing that we do not have.
Status ReadOptions(const Options* in, DeviceOptions* all) {
  Options* const out = &all->host;
  memset(all, 0, sizeof(*all));
  if (in != nullptr) {
    // Only by memcpy: the caller's struct has the generated header's type.
    size_t size = 0;
    memcpy(&size, in, sizeof(size));
    if (size < sizeof(size) || size > kMaxOptions) return Status::kBadOptions;
    const char* const bytes = reinterpret_cast<const char*>(in);
    for (size_t i = sizeof(*all); i < size; ++i) {
      if (bytes[i] != 0) return Status::kBadOptions;
    }
    memcpy(all, in, size < sizeof(*all) ? size : sizeof(*all));
  }
  if ((out->allocate == nullptr) != (out->release == nullptr)) return Status::kBadOptions;
  if (out->allocate == nullptr) {
    out->allocate = DefaultAllocate;
    out->release = DefaultRelease;
  }
  if (out->workers == 0) out->workers = 1;
  if (out->workers < 0 || out->workers > kMaxWorkers) return Status::kThreads;
  return Status::kOk;
}

// A model that runs on the processor has none of these options.
bool AsksForDevice(const DeviceOptions& o) {
  return o.platform != nullptr || o.device != nullptr || o.context != nullptr ||
         o.queue != nullptr || o.cache != nullptr || o.message != nullptr || o.message_bytes != 0;
}

}  // namespace

Status ModelCreate(const Description* description, const Options* options, Model** model) {
  if (model == nullptr) return Status::kNullArgument;
  *model = nullptr;
  DeviceOptions all;
  const Options& o = all.host;
  const uint8_t* weights = nullptr;
  int32_t variant = 0;
  Status status = ReadOptions(options, &all);
  if (status == Status::kOk && description->device == nullptr && AsksForDevice(all)) {
    return Status::kBadOptions;
  }
  // Also where something else is wrong than the device.
  if (status == Status::kOk && all.message != nullptr && all.message_bytes > 0) all.message[0] = 0;
  if (status == Status::kOk) status = ChooseVariant(description, o.variant, &variant);
  if (status == Status::kOk) status = FindWeights(description, o, &weights);
  if (status != Status::kOk) return status;
  Model* const m = static_cast<Model*>(o.allocate(o.allocator_user, sizeof(Model), kAlignment));
  if (m == nullptr) return Status::kOutOfMemory;
  *m = {description, o, weights, 1, variant, nullptr};
  const DeviceInfo* const device = description->device;
  if (device != nullptr) {
    status = device->backend->model_create(device, all, weights, &m->device);
    if (status != Status::kOk) {
      o.release(o.allocator_user, m, sizeof(Model));
      return status;
    }
  }
  *model = m;
  return Status::kOk;
}

DeviceModel* DeviceOf(const Model* model) { return model == nullptr ? nullptr : model->device; }

void ModelRetain(Model* model) { __atomic_add_fetch(&model->references, 1, __ATOMIC_RELAXED); }

void ModelDestroy(Model* model) {
  if (model == nullptr) return;
  if (__atomic_sub_fetch(&model->references, 1, __ATOMIC_ACQ_REL) != 0) return;
  const Options o = model->options;
  const DeviceInfo* const device = model->description->device;
  if (device != nullptr) device->backend->model_destroy(model->device);
  o.release(o.allocator_user, model, sizeof(Model));
}

}  // namespace v1
}  // namespace rules_dnn
