#include "runtime/opencl/backend.h"

#include <string.h>

#include "runtime/opencl/program.h"
#include "runtime/opencl/state.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

constexpr Bits kReadOnly = 4;

size_t RoundUp(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// Decides whether launches are recorded, from the options and the driver's abilities.
Status ChooseRecorder(SharedState* m, const DeviceOptions& o, Words* words) {
  if (o.command_buffers < -1 || o.command_buffers > 1) {
    Failed(words, Status::kBadOptions, "command_buffers is ");
    words->Add(o.command_buffers).Add("; want -1, 0 or 1");
    return Status::kBadOptions;
  }
  m->always = o.command_buffers == 1;
  m->records =
      o.command_buffers >= 0 && FindRecorder(m->api, m->device, m->queue, m->options, &m->recorder);
  return Status::kOk;
}

// Opens the device and creates what contexts share.
Status Open(SharedState* m, const DeviceOptions& o, const uint8_t* weights, Words* words) {
  const char* missing = nullptr;
  if (!Load(&m->api, &missing)) return Failed(words, Status::kNoOpenCl, missing);
  Found found;
  Status status = Find(m->api, o, &found, words);
  if (status == Status::kOk) {
    m->device = found.device;
    status = Check(m->api, m->device, *m->info, m->options, words);
  }
  if (status != Status::kOk) return status;
  Int code = kSuccess;
  if (found.context == nullptr) {
    m->context = m->api.CreateContext(nullptr, 1, &m->device, nullptr, nullptr, &code);
    if (m->context == nullptr) return Failed(words, "clCreateContext", code);
  } else {
    code = m->api.RetainContext(found.context);
    if (code != kSuccess) return Failed(words, "clRetainContext", code);
    m->context = found.context;
  }
  if (found.queue != nullptr) {
    code = m->api.RetainCommandQueue(found.queue);
    if (code != kSuccess) return Failed(words, "clRetainCommandQueue", code);
    m->queue = found.queue;
  }
  status = ChooseRecorder(m, o, words);
  if (status != Status::kOk) return status;
  status =
      MakeProgram(m->api, m->context, m->device, *m->info, m->options, o.cache, &m->program, words);
  if (status != Status::kOk || m->info->weights_bytes == 0) return status;
  void* const from = const_cast<uint8_t*>(weights + m->info->weights_at);
  m->weights = m->api.CreateBuffer(m->context, kReadOnly | kCopyHost,
                                   static_cast<size_t>(m->info->weights_bytes), from, &code);
  return m->weights == nullptr ? Failed(words, "clCreateBuffer", code) : Status::kOk;
}

void Close(SharedState* m) {
  if (m->weights != nullptr) m->api.ReleaseMemObject(m->weights);
  if (m->program != nullptr) m->api.ReleaseProgram(m->program);
  if (m->queue != nullptr) m->api.ReleaseCommandQueue(m->queue);
  if (m->context != nullptr) m->api.ReleaseContext(m->context);
  const Options o = m->options;
  o.release(o.allocator_user, m, sizeof(SharedState));
}

Status ModelCreate(const DeviceInfo* info, const DeviceOptions& options, const uint8_t* weights,
                   DeviceModel** model) {
  Words words(options.message, options.message_bytes);
  const Options& o = options.host;
  void* const memory = o.allocate(o.allocator_user, sizeof(SharedState), kAlignment);
  if (memory == nullptr) return Status::kOutOfMemory;
  memset(memory, 0, sizeof(SharedState));
  SharedState* const m = static_cast<SharedState*>(memory);
  m->info = info;
  m->options = o;
  const Status status = Open(m, options, weights, &words);
  if (status != Status::kOk) {
    Close(m);
    return status;
  }
  *model = reinterpret_cast<DeviceModel*>(m);
  return Status::kOk;
}

void ModelDestroy(DeviceModel* model) { Close(State(model)); }

// A context begins with host memory only; failures of the driver are reported when a run is
// prepared.
Status ContextCreate(DeviceModel* model, DeviceContext** context) {
  SharedState* const m = State(model);
  const size_t head = RoundUp(sizeof(ContextState));
  const size_t kernels = RoundUp(static_cast<size_t>(m->info->kernel_count) * sizeof(Callee));
  const size_t pictures = RoundUp(static_cast<size_t>(m->info->image_count) * sizeof(Picture));
  const size_t flags = RoundUp(static_cast<size_t>(m->info->flag_count) * sizeof(int32_t));
  const size_t size = head + kernels + pictures + flags;
  void* const memory = m->options.allocate(m->options.allocator_user, size, kAlignment);
  if (memory == nullptr) return Status::kOutOfMemory;
  memset(memory, 0, size);
  uint8_t* const at = static_cast<uint8_t*>(memory) + head;
  ContextState* const c = static_cast<ContextState*>(memory);
  c->backend = &kBackend;
  c->words = c->text;
  c->shared = m;
  c->size = size;
  c->kernels = reinterpret_cast<Callee*>(at);
  c->pictures = reinterpret_cast<Picture*>(at + kernels);
  c->read_flags = reinterpret_cast<int32_t*>(at + kernels + pictures);
  *context = c;
  return Status::kOk;
}

void ContextDestroy(DeviceContext* context) {
  ContextState* const c = State(context);
  Stop(c);
  const Options& o = c->shared->options;
  if (c->timed != nullptr) o.release(o.allocator_user, c->timed, kMostTimed * sizeof(Timed));
  o.release(o.allocator_user, c, c->size);
}

}  // namespace

const Backend kBackend = {
    ModelCreate, ModelDestroy, ContextCreate, ContextDestroy, Prepare,        Launch,
    Write,       Read,         Finish,        CheckShared,    CopyIn,         CopyOut,
    Fetch,       Store,        WaitFor,       Mark,           ObserveContext,
};

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
