#include "runtime/dnn_model.h"

#include "runtime/dnn_context.h"
#include "runtime/dnn_device.h"
#include "runtime/dnn_memory.h"
#include "runtime/dnn_remote.h"
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

// The options of each kind of model, which all begin with those of any.
union AllOptions {
  Options host;
  DeviceOptions device;
  RemoteOptions remote;
};

// How many bytes of options a model knows: one that runs on the processor has none of the others.
size_t KnownBytes(const Description* d) {
  if (d->remote != nullptr) return sizeof(RemoteOptions);
  return d->device != nullptr ? sizeof(DeviceOptions) : sizeof(Options);
}

// The options that count: the caller's members as far as its struct goes, defaults beyond. A
// struct of a later version is fine as long as it asks for nothing that we do not have.
Status ReadOptions(const Options* in, size_t known, AllOptions* all) {
  Options* const out = &all->host;
  memset(all, 0, sizeof(*all));
  if (in != nullptr) {
    // Only by memcpy: the caller's struct has the generated header's type.
    size_t size = 0;
    memcpy(&size, in, sizeof(size));
    if (size < sizeof(size) || size > kMaxOptions) return Status::kBadOptions;
    const char* const bytes = reinterpret_cast<const char*>(in);
    for (size_t i = known; i < size; ++i) {
      if (bytes[i] != 0) return Status::kBadOptions;
    }
    memcpy(all, in, size < known ? size : known);
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

// The message is a text, also where something else is wrong than what it tells of.
void ClearMessage(const Description* d, const AllOptions& all) {
  const bool device = d->device != nullptr, remote = d->remote != nullptr;
  char* const text = device ? all.device.message : remote ? all.remote.message : nullptr;
  if (text != nullptr && (device ? all.device.message_bytes : all.remote.message_bytes) > 0) {
    text[0] = 0;
  }
}

// Reaches the model's other side. Where there is none and the options say so, the processor runs
// the model; a library of another model is a mistake that nothing hides.
Status Reach(const Description* d, const RemoteOptions& o, RemoteModel** model) {
  if (o.fallback < 0 || o.fallback > 1 || o.signed_process < 0 || o.signed_process > 1) {
    return Status::kBadOptions;
  }
  const Status status = d->remote->remote->model_create(d, o, model);
  const bool none = status >= Status::kNoOpenCl && status != Status::kForeignSkeleton;
  return none && o.fallback == 1 ? Status::kOk : status;
}

}  // namespace

Status ModelCreate(const Description* description, const Options* options, Model** model) {
  if (model == nullptr) return Status::kNullArgument;
  *model = nullptr;
  AllOptions all;
  const Options& o = all.host;
  Status status = ReadOptions(options, KnownBytes(description), &all);
  if (status != Status::kOk) return status;
  ClearMessage(description, all);
  Model* const m = static_cast<Model*>(o.allocate(o.allocator_user, sizeof(Model), kAlignment));
  if (m == nullptr) return Status::kOutOfMemory;
  *m = {description, o, nullptr, 1, 0, nullptr, nullptr};
  if (description->remote != nullptr) status = Reach(description, all.remote, &m->remote);
  if (status == Status::kOk && m->remote == nullptr) {
    status = ChooseVariant(description, o.variant, &m->variant);
    if (status == Status::kOk) status = FindWeights(description, o, &m->weights);
  }
  const DeviceInfo* const device = description->device;
  if (status == Status::kOk && device != nullptr) {
    status = device->backend->model_create(device, all.device, m->weights, &m->device);
  }
  if (status != Status::kOk) {
    o.release(o.allocator_user, m, sizeof(Model));
    return status;
  }
  *model = m;
  return Status::kOk;
}

DeviceModel* DeviceOf(const Model* model) { return model == nullptr ? nullptr : model->device; }

Status AllocateShared(Model* model, size_t bytes, void** memory) {
  if (memory == nullptr) return Status::kNullArgument;
  *memory = nullptr;
  if (model == nullptr) return Status::kNullArgument;
  return model->description->remote->remote->allocate(model->remote, bytes, memory);
}

void ReleaseShared(Model* model, void* memory) {
  if (model != nullptr) model->description->remote->remote->release(memory);
}

void ModelRetain(Model* model) { __atomic_add_fetch(&model->references, 1, __ATOMIC_RELAXED); }

void ModelDestroy(Model* model) {
  if (model == nullptr) return;
  if (__atomic_sub_fetch(&model->references, 1, __ATOMIC_ACQ_REL) != 0) return;
  const Options o = model->options;
  const DeviceInfo* const device = model->description->device;
  if (device != nullptr) device->backend->model_destroy(model->device);
  if (model->remote != nullptr) model->description->remote->remote->model_destroy(model->remote);
  o.release(o.allocator_user, model, sizeof(Model));
}

}  // namespace v1
}  // namespace rules_dnn
