// A context's objects on the device: its queue, its kernels and its memory.
#include <string.h>

#include "runtime/dnn_index.h"
#include "runtime/dnn_sizes.h"
#include "runtime/opencl/state.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

// OpenCL has no empty buffers, and kernels need a buffer even if they do not access it.
constexpr size_t kLeastBytes = 64;

void Release(const Api& api, Memory* memory) {
  if (*memory != nullptr) api.ReleaseMemObject(*memory);
  *memory = nullptr;
}

// Called before memory is released that launches use: drops their records, and sets all arguments
// anew.
void Forget(ContextState* c) {
  ForgetRecords(c);
  for (int32_t i = 0; i < c->shared->info->kernel_count; ++i) {
    const Callee& k = c->kernels[i];
    for (Uint n = 0; n < k.room; ++n) k.args[n].kind = kUnset;
  }
}

// Grows a buffer to at least `bytes`; its content is lost.
Status Grow(ContextState* c, Room* room, int64_t bytes, Words* words) {
  const size_t want =
      bytes < static_cast<int64_t>(kLeastBytes) ? kLeastBytes : static_cast<size_t>(bytes);
  if (want <= room->bytes) return Status::kOk;
  const Api& api = c->shared->api;
  if (room->memory != nullptr) Forget(c);
  Release(api, &room->memory);
  room->bytes = 0;
  Int code = kSuccess;
  room->memory = api.CreateBuffer(c->shared->context, kReadWrite, want, nullptr, &code);
  if (room->memory == nullptr) {
    const Status status = Failed(words, "clCreateBuffer", code);
    words->Add(", of ").Add(static_cast<int64_t>(want)).Add(" bytes");
    return status;
  }
  room->bytes = want;
  return Status::kOk;
}

Status Paint(ContextState* c, Picture* picture, int64_t width, int64_t height, Words* words) {
  if (width < 1) width = 1;
  if (height < 1) height = 1;
  if (picture->memory != nullptr && picture->width == width && picture->height == height) {
    return Status::kOk;
  }
  const Api& api = c->shared->api;
  if (picture->memory != nullptr) Forget(c);
  Release(api, &picture->memory);
  const ImageFormat format = {kRgba, kFloat};
  ImageDesc desc = {};
  desc.type = kImage2D;
  desc.width = static_cast<size_t>(width);
  desc.height = static_cast<size_t>(height);
  Int code = kSuccess;
  picture->memory = api.CreateImage(c->shared->context, kReadWrite, &format, &desc, nullptr, &code);
  if (picture->memory == nullptr) {
    const Status status = Failed(words, "clCreateImage", code);
    words->Add(", of ").Add(width).Add(" times ").Add(height).Add(" texels");
    return status;
  }
  picture->width = width;
  picture->height = height;
  return Status::kOk;
}

// All flags are 0 before a run; a run that sets some clears them afterwards.
Status MakeFlags(ContextState* c, Words* words) {
  const size_t bytes = static_cast<size_t>(c->shared->info->flag_count) * sizeof(int32_t);
  Status status = Grow(c, &c->flags, static_cast<int64_t>(bytes), words);
  if (status != Status::kOk || bytes == 0) return status;
  memset(c->read_flags, 0, bytes);
  const Int code = c->shared->api.EnqueueWriteBuffer(c->queue, c->flags.memory, 1, 0, bytes,
                                                     c->read_flags, 0, nullptr, nullptr);
  return code == kSuccess ? status : Failed(words, "clEnqueueWriteBuffer", code);
}

// Creates a kernel and the list of its current arguments.
Status MakeKernel(ContextState* c, int32_t number, Words* words) {
  const SharedState& m = *c->shared;
  Callee& k = c->kernels[number];
  Int code = kSuccess;
  const char* function = "clCreateKernel";
  if (k.kernel == nullptr) k.kernel = m.api.CreateKernel(m.program, m.info->kernels[number], &code);
  if (k.kernel != nullptr && k.args == nullptr) {
    function = "clGetKernelInfo";
    code = m.api.GetKernelInfo(k.kernel, kKernelArgs, sizeof(k.room), &k.room, nullptr);
  }
  if (code != kSuccess || k.kernel == nullptr) {
    k.room = 0;
    const Status status = Failed(words, function, code);
    words->Add(" of ").Add(m.info->kernels[number]);
    return status;
  }
  if (k.args != nullptr || k.room == 0) return Status::kOk;
  k.args = static_cast<DeviceArg*>(
      m.options.allocate(m.options.allocator_user, k.room * sizeof(DeviceArg), kAlignment));
  if (k.args == nullptr) {
    k.room = 0;
    return Status::kOutOfMemory;
  }
  for (Uint i = 0; i < k.room; ++i) k.args[i].kind = kUnset;
  return Status::kOk;
}

void DropKernel(const SharedState& m, Callee* k) {
  if (k->args != nullptr) {
    m.options.release(m.options.allocator_user, k->args, k->room * sizeof(DeviceArg));
  }
  if (k->kernel != nullptr) m.api.ReleaseKernel(k->kernel);
}

}  // namespace

Status Start(ContextState* c, Words* words) {
  if (c->started) return Status::kOk;
  const SharedState& m = *c->shared;
  Int code = kSuccess;
  if (c->plain == nullptr && m.queue != nullptr) {
    code = m.api.RetainCommandQueue(m.queue);
    if (code != kSuccess) return Failed(words, "clRetainCommandQueue", code);
    c->plain = m.queue;
  } else if (c->plain == nullptr) {
    c->plain = m.api.CreateCommandQueue(m.context, m.device, 0, &code);
    if (c->plain == nullptr) return Failed(words, "clCreateCommandQueue", code);
  }
  if (c->queue == nullptr) c->queue = c->plain;
  for (int32_t i = 0; i < m.info->kernel_count; ++i) {
    const Status status = MakeKernel(c, i, words);
    if (status != Status::kOk) return status;
  }
  const Status status = MakeFlags(c, words);
  c->started = status == Status::kOk;
  return status;
}

void Stop(ContextState* c) {
  const SharedState& m = *c->shared;
  if (c->queue != nullptr) m.api.Finish(c->queue);
  FreeSegments(c);
  for (int32_t i = 0; i < c->timed_count; ++i) m.api.ReleaseEvent(c->timed[i].event);
  Release(m.api, &c->arena.memory);
  Release(m.api, &c->scratch.memory);
  Release(m.api, &c->flags.memory);
  for (int32_t i = 0; i < m.info->image_count; ++i) Release(m.api, &c->pictures[i].memory);
  for (int32_t i = 0; i < m.info->kernel_count; ++i) DropKernel(m, &c->kernels[i]);
  if (c->plain != nullptr) m.api.ReleaseCommandQueue(c->plain);
  if (c->clocked != nullptr) m.api.ReleaseCommandQueue(c->clocked);
}

Status Prepare(DeviceContext* context, const Description* d, const int64_t* sym) {
  ContextState* const c = State(context);
  const DeviceInfo& info = *c->shared->info;
  Words words(c->text, sizeof(c->text));
  int64_t arena = 0, scratch = 0;
  Status status = EvalSize(d, info.arena, sym, &arena);
  if (status == Status::kOk) status = EvalSize(d, info.scratch, sym, &scratch);
  int bad = 0;
  scratch = dnn_mul_checked(scratch, info.workers, &bad);
  if (status == Status::kOk && bad) status = Status::kTooLarge;
  if (status == Status::kOk) status = Start(c, &words);
  if (status == Status::kOk) status = Grow(c, &c->arena, arena, &words);
  if (status == Status::kOk) status = Grow(c, &c->scratch, scratch, &words);
  for (int32_t i = 0; i < info.image_count && status == Status::kOk; ++i) {
    int64_t width = 0, height = 0;
    status = EvalSize(d, info.images[i].width, sym, &width);
    if (status == Status::kOk) status = EvalSize(d, info.images[i].height, sym, &height);
    if (status == Status::kOk) status = Paint(c, &c->pictures[i], width, height, &words);
  }
  return status;
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
