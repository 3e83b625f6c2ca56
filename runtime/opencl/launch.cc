// Operations of a run: kernels in order, copies between host and device, and the end.
#include <string.h>

#include "runtime/opencl/state.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

Memory Of(const ContextState* c, DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kWeights:
      // Kernels need a buffer even if there are no constants.
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

// Sets the arguments of a kernel: memory and offsets in it, images, values. Driver calls dominate
// the cost of a launch, so that unchanged arguments are not set again.
class Setter {
 public:
  Setter(const ContextState* c, const Callee& callee) : c_(c), callee_(callee) {}

  Int Set(const DeviceArg& a) {
    DeviceArg* const was = at_ < callee_.room ? &callee_.args[at_] : nullptr;
    ++at_;
    const bool known = was != nullptr && was->kind == a.kind;
    const bool alone = a.kind == DeviceKind::kImage || a.kind == DeviceKind::kSymbol;
    if (known && was->at == a.at) {
      next_ += alone ? 1 : 2;
      return kSuccess;
    }
    if (was != nullptr) was->kind = kUnset;
    const Int code = alone ? Alone(a) : Placed(a, known);
    if (code == kSuccess && was != nullptr) *was = a;
    return code;
  }

 private:
  Int Alone(const DeviceArg& a) {
    if (a.kind == DeviceKind::kImage) {
      const Memory image = c_->pictures[a.at].memory;
      return Value(&image, sizeof(image));
    }
    const int32_t narrow = static_cast<int32_t>(a.at);
    if (c_->shared->info->index_bytes == 4) return Value(&narrow, sizeof(narrow));
    return Value(&a.at, sizeof(a.at));
  }

  Int Placed(const DeviceArg& a, bool known) {
    const Memory memory = Of(c_, a.kind);
    Int code = kSuccess;
    if (known) {
      ++next_;
    } else {
      code = Value(&memory, sizeof(memory));
    }
    return code == kSuccess ? Value(&a.at, sizeof(a.at)) : code;
  }

  Int Value(const void* value, size_t bytes) {
    return c_->shared->api.SetKernelArg(callee_.kernel, next_++, bytes, value);
  }

  const ContextState* c_;
  const Callee& callee_;
  Uint at_ = 0, next_ = 0;  // positions in the host program's arguments and in the kernel's
};

Status ClearFlags(ContextState* c) {
  const size_t bytes = static_cast<size_t>(c->shared->info->flag_count) * sizeof(int32_t);
  memset(c->read_flags, 0, bytes);
  const Int code = c->shared->api.EnqueueWriteBuffer(c->queue, c->flags.memory, 1, 0, bytes,
                                                     c->read_flags, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueWriteBuffer", code);
  Waited(c);
  c->told = false;
  return Status::kOk;
}

// Finds the first block that rejected a value, and clears the flags for the next run.
Status ReadFlags(ContextState* c, const char** refused) {
  const DeviceInfo& info = *c->shared->info;
  const size_t bytes = static_cast<size_t>(info.flag_count) * sizeof(int32_t);
  const Int code = c->shared->api.EnqueueReadBuffer(c->queue, c->flags.memory, 1, 0, bytes,
                                                    c->read_flags, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueReadBuffer", code);
  Waited(c);
  c->flagged = false;
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

void Waited(ContextState* c) {
  c->pending = false;
  ++c->replay.waits;
}

Int SetArguments(ContextState* c, const Step& step, const DeviceArg* args) {
  Setter setter(c, c->kernels[step.kernel]);
  for (int32_t i = 0; i < step.count; ++i) {
    const Int code = setter.Set(args[i]);
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

Status Enqueue(ContextState* c, const Step& step, const DeviceArg* args, Event* event) {
  Int code = SetArguments(c, step, args);
  if (code != kSuccess) return Refuse(c, "clSetKernelArg", code);
  code = c->shared->api.EnqueueNDRangeKernel(c->queue, c->kernels[step.kernel].kernel, kDeviceDims,
                                             nullptr, step.items, step.group, 0, nullptr, event);
  if (code != kSuccess) return Refuse(c, "clEnqueueNDRangeKernel", code);
  c->pending = true;
  return Status::kOk;
}

Status Launch(DeviceContext* context, int32_t block, int32_t kernel, const DeviceArg* args,
              int32_t count, const int64_t* global, const int64_t* local) {
  ContextState* const c = State(context);
  Step step = {kernel, count, {}, {}};
  for (int i = 0; i < kDeviceDims; ++i) {
    if (global[i] <= 0) return Status::kOk;
    step.items[i] = static_cast<size_t>(global[i]);
    step.group[i] = static_cast<size_t>(local[i]);
  }
  if (c->told) {  // clearing failed in the last run
    const Status status = ClearFlags(c);
    if (status != Status::kOk) return status;
  }
  for (int32_t i = 0; i < count; ++i) {
    c->flagged = c->flagged || args[i].kind == DeviceKind::kFlag;
  }
  if (c->queue != c->clocked) {
    return c->shared->records ? Follow(c, block, step, args) : Enqueue(c, step, args, nullptr);
  }
  if (c->timed_count == kMostTimed) {
    const Status status = TellTimes(c);
    if (status != Status::kOk) return status;
  }
  Event event = nullptr;
  const Status status = Enqueue(c, step, args, &event);
  if (status == Status::kOk) c->timed[c->timed_count++] = {event, block};
  return status;
}

Status Write(DeviceContext* context, DeviceArg to, const void* from, int64_t bytes) {
  ContextState* const c = State(context);
  if (bytes <= 0) return Status::kOk;
  const Status status = EndSegment(c);
  if (status != Status::kOk) return status;
  const Int code =
      c->shared->api.EnqueueWriteBuffer(c->queue, Of(c, to.kind), 1, static_cast<size_t>(to.at),
                                        static_cast<size_t>(bytes), from, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueWriteBuffer", code);
  Waited(c);
  return Status::kOk;
}

Status Read(DeviceContext* context, void* to, DeviceArg from, int64_t bytes) {
  ContextState* const c = State(context);
  if (bytes <= 0) return Status::kOk;
  const Status status = EndSegment(c);
  if (status != Status::kOk) return status;
  const Int code =
      c->shared->api.EnqueueReadBuffer(c->queue, Of(c, from.kind), 1, static_cast<size_t>(from.at),
                                       static_cast<size_t>(bytes), to, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueReadBuffer", code);
  Waited(c);
  return Status::kOk;
}

// A value that the device rejected takes precedence over later statuses of the run; a driver
// failure takes precedence over both.
Status Finish(DeviceContext* context, Status status, const char** refused) {
  ContextState* const c = State(context);
  const Status begun = EndSegment(c);
  if (status < Status::kNoOpenCl && begun != Status::kOk) status = begun;
  Status ended = Status::kOk;
  const char* block = nullptr;
  if (c->flagged) {
    ended = ReadFlags(c, &block);
  } else if (c->pending) {
    const Int code = c->shared->api.Finish(c->queue);
    if (code == kSuccess) {
      Waited(c);
    } else {
      ended = Refuse(c, "clFinish", code);
      c->pending = false;
    }
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
