#include "runtime/dnn_model.h"

#include "runtime/dnn_context.h"
#include "runtime/dnn_cores.h"
#include "runtime/dnn_device.h"
#include "runtime/dnn_memory.h"
#include "runtime/dnn_remote.h"
#include "runtime/dnn_system.h"
#include "runtime/dnn_variant.h"
#include "runtime/dnn_weights.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

// An upper bound for the options of any version. An uninitialised struct may have a larger `size`.
constexpr size_t kMaxOptions = 4096;

void* DefaultAllocate(void*, size_t bytes, size_t alignment) {
  return AllocateMemory(bytes, alignment);
}

void DefaultRelease(void*, void* memory, size_t) { FreeMemory(memory); }

// The options of each kind of model; all begin with Options.
union AllOptions {
  Options host;
  DeviceOptions device;
  RemoteOptions remote;
};

// Returns the size of the options struct that the model knows.
size_t KnownBytes(const Description* d) {
  if (d->remote != nullptr) return sizeof(RemoteOptions);
  return d->device != nullptr ? sizeof(DeviceOptions) : sizeof(Options);
}

// Reads the caller's members up to the struct's size, and sets defaults for the others. A struct of
// a later version is accepted if the members that this version does not know are 0.
Status ReadOptions(const Options* in, size_t known, AllOptions* all) {
  Options* const out = &all->host;
  memset(all, 0, sizeof(*all));
  if (in != nullptr) {
    // Read it only by memcpy: the caller's struct has the generated header's type.
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
  if (out->cores != nullptr && out->cores[0] == 0) out->cores = nullptr;
  // The threads of parallel_for belong to the application.
  if (out->cores != nullptr && out->parallel_for != nullptr) return Status::kBadOptions;
  return Status::kOk;
}

// Makes the message an empty string, so that it is valid even if creation fails for another reason.
void ClearMessage(const Description* d, const AllOptions& all) {
  const bool device = d->device != nullptr, remote = d->remote != nullptr;
  char* const text = device ? all.device.message : remote ? all.remote.message : nullptr;
  if (text != nullptr && (device ? all.device.message_bytes : all.remote.message_bytes) > 0) {
    text[0] = 0;
  }
}

// Connects to the model's remote side. If no remote side exists and the options allow it, the
// processor runs the model. A library of another model is always an error.
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
  *m = {description, o, nullptr, 1, 0, nullptr, nullptr, {}};
  if (o.cores != nullptr && !ParseCores(o.cores, kCoresFolder, &m->cores)) {
    status = Status::kThreads;
  }
  if (status == Status::kOk && description->remote != nullptr) {
    status = Reach(description, all.remote, &m->remote);
  }
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
