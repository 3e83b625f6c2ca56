// What a run does: kernels in order, copies between the processor's memory and the device's, and
// the end.
#include <string.h>

#include "runtime/opencl/state.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

Memory Of(const ContextState* c, DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kWeights:
      // Kernels want a buffer even where there are no constants.
      return c->shared->weights != nullptr ? c->shared->weights : c->flags.memory;
    case DeviceKind::kScratch:
      return c->scratch.memory;
    case DeviceKind::kFlag:
      return c->flags.memory;
    default:
      return c->arena.memory;
  }
}

Status Refuse(ContextState* c, const char* function, Int code) {
  Words words(c->text, sizeof(c->text));
  return Failed(&words, function, code);
}

namespace {

// Sets the arguments of a kernel: memory and where in it, images, values.
class Setter {
 public:
  Setter(const ContextState* c, Kernel kernel) : c_(c), kernel_(kernel) {}

  Int Set(const DeviceArg& a) {
    if (a.kind == DeviceKind::kImage) {
      const Memory image = c_->pictures[a.at].memory;
      return Value(&image, sizeof(image));
    }
    if (a.kind == DeviceKind::kSymbol) {
      const int32_t narrow = static_cast<int32_t>(a.at);
      if (c_->shared->info->index_bytes == 4) return Value(&narrow, sizeof(narrow));
      return Value(&a.at, sizeof(a.at));
    }
    const Memory memory = Of(c_, a.kind);
    const Int code = Value(&memory, sizeof(memory));
    return code == kSuccess ? Value(&a.at, sizeof(a.at)) : code;
  }

 private:
  Int Value(const void* value, size_t bytes) {
    return c_->shared->api.SetKernelArg(kernel_, next_++, bytes, value);
  }

  const ContextState* c_;
  Kernel kernel_;
  Uint next_ = 0;
};

Status ClearFlags(ContextState* c) {
  const size_t bytes = static_cast<size_t>(c->shared->info->flag_count) * sizeof(int32_t);
  memset(c->read_flags, 0, bytes);
  const Int code = c->shared->api.EnqueueWriteBuffer(c->queue, c->flags.memory, 1, 0, bytes,
                                                     c->read_flags, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueWriteBuffer", code);
  c->told = false;
  return Status::kOk;
}

// Finds the first block that refused a value, and clears the flags for the next run.
Status ReadFlags(ContextState* c, const char** refused) {
  const DeviceInfo& info = *c->shared->info;
  const size_t bytes = static_cast<size_t>(info.flag_count) * sizeof(int32_t);
  const Int code = c->shared->api.EnqueueReadBuffer(c->queue, c->flags.memory, 1, 0, bytes,
                                                    c->read_flags, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueReadBuffer", code);
  c->pending = c->flagged = false;
  int32_t first = 0;
  while (first < info.flag_count && c->read_flags[first] == 0) ++first;
  if (first == info.flag_count) return Status::kOk;
  c->told = true;
  const Status status = ClearFlags(c);
  if (status != Status::kOk) return status;
  *refused = info.flags[first];
  return Status::kBadValue;
}

}  // namespace

Status Launch(DeviceContext* context, int32_t block, int32_t kernel, const DeviceArg* args,
              int32_t count, const int64_t* global, const int64_t* local) {
  ContextState* const c = State(context);
  size_t items[kDeviceDims], group[kDeviceDims];
  for (int i = 0; i < kDeviceDims; ++i) {
    if (global[i] <= 0) return Status::kOk;
    items[i] = static_cast<size_t>(global[i]);
    group[i] = static_cast<size_t>(local[i]);
  }
  if (c->told) {  // clearing failed then
    const Status status = ClearFlags(c);
    if (status != Status::kOk) return status;
  }
  Setter setter(c, c->kernels[kernel]);
  for (int32_t i = 0; i < count; ++i) {
    const Int code = setter.Set(args[i]);
    if (code != kSuccess) return Refuse(c, "clSetKernelArg", code);
    c->flagged = c->flagged || args[i].kind == DeviceKind::kFlag;
  }
  if (c->timed_count == kMostTimed) {
    const Status status = TellTimes(c);
    if (status != Status::kOk) return status;
  }
  Event event = nullptr;
  const bool clocks = c->queue == c->clocked;
  const Int code =
      c->shared->api.EnqueueNDRangeKernel(c->queue, c->kernels[kernel], kDeviceDims, nullptr, items,
                                          group, 0, nullptr, clocks ? &event : nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueNDRangeKernel", code);
  c->pending = true;
  if (clocks) c->timed[c->timed_count++] = {event, block};
  return Status::kOk;
}

Status Write(DeviceContext* context, DeviceArg to, const void* from, int64_t bytes) {
  ContextState* const c = State(context);
  if (bytes <= 0) return Status::kOk;
  const Int code =
      c->shared->api.EnqueueWriteBuffer(c->queue, Of(c, to.kind), 1, static_cast<size_t>(to.at),
                                        static_cast<size_t>(bytes), from, 0, nullptr, nullptr);
  return code == kSuccess ? Status::kOk : Refuse(c, "clEnqueueWriteBuffer", code);
}

Status Read(DeviceContext* context, void* to, DeviceArg from, int64_t bytes) {
  ContextState* const c = State(context);
  if (bytes <= 0) return Status::kOk;
  const Int code =
      c->shared->api.EnqueueReadBuffer(c->queue, Of(c, from.kind), 1, static_cast<size_t>(from.at),
                                       static_cast<size_t>(bytes), to, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueReadBuffer", code);
  c->pending = false;
  return Status::kOk;
}

// A value that the device refused is the cause of what came after it; a failure of the driver is
// told before both.
Status Finish(DeviceContext* context, Status status, const char** refused) {
  ContextState* const c = State(context);
  Status ended = Status::kOk;
  const char* block = nullptr;
  if (c->flagged) {
    ended = ReadFlags(c, &block);
  } else if (c->pending) {
    const Int code = c->shared->api.Finish(c->queue);
    if (code != kSuccess) ended = Refuse(c, "clFinish", code);
    c->pending = false;
  }
  if (c->timed_count > 0) {
    const Status told = TellTimes(c);
    if (ended == Status::kOk) ended = told;
  }
  if (status >= Status::kNoOpenCl || ended == Status::kOk) return status;
  if (block != nullptr) *refused = block;
  return ended;
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
