// The application's own memory and events: inputs and outputs on the device, and synchronization of
// runs with other work.
#include "runtime/opencl/state.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

Memory Shared(const Buffer& b) { return static_cast<Memory>(b.memory); }

size_t At(const Buffer& b, int64_t at) { return b.offset + static_cast<size_t>(at); }

// Returns the status of a call that received the application's objects; its error codes refer to
// these.
Status RefuseForeign(ContextState* c, const char* function, Int code) {
  const Status status = Refuse(c, function, code);
  const bool foreign = code == kInvalidContext || code == kInvalidMemory || code == kInvalidEvent ||
                       code == kInvalidWaitList;
  return foreign ? Status::kForeign : status;
}

Status Say(ContextState* c, Status status, const char* sentence) {
  Words words(c->text, sizeof(c->text));
  return Failed(&words, status, sentence);
}

}  // namespace

Status CheckShared(DeviceContext* context, const Buffer& b, int64_t bytes) {
  ContextState* const c = State(context);
  const Api& api = c->shared->api;
  Uint type = 0;
  Context of = nullptr;
  size_t size = 0;
  Int code = api.GetMemObjectInfo(Shared(b), kMemoryType, sizeof(type), &type, nullptr);
  if (code == kSuccess) {
    code = api.GetMemObjectInfo(Shared(b), kMemoryContext, sizeof(of), &of, nullptr);
  }
  if (code == kSuccess) {
    code = api.GetMemObjectInfo(Shared(b), kMemorySize, sizeof(size), &size, nullptr);
  }
  if (code != kSuccess) return RefuseForeign(c, "clGetMemObjectInfo", code);
  if (type != kBuffer) return Say(c, Status::kForeign, "the memory is not a buffer");
  if (of != c->shared->context) {
    return Say(c, Status::kForeign, "the memory belongs to another context than the model's");
  }
  const bool fits = b.offset <= size && static_cast<size_t>(bytes) <= size - b.offset;
  return fits ? Status::kOk : Status::kBufferSize;
}

Status CopyIn(DeviceContext* context, DeviceArg to, const Buffer& from, int64_t at, int64_t bytes) {
  ContextState* const c = State(context);
  if (bytes <= 0) return Status::kOk;
  const Status status = EndSegment(c);
  if (status != Status::kOk) return status;
  const Int code = c->shared->api.EnqueueCopyBuffer(
      c->queue, Shared(from), Of(c, to.kind), At(from, at), static_cast<size_t>(to.at),
      static_cast<size_t>(bytes), 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueCopyBuffer", code);
  c->pending = true;
  return Status::kOk;
}

Status CopyOut(DeviceContext* context, const Buffer& to, int64_t at, DeviceArg from,
               int64_t bytes) {
  ContextState* const c = State(context);
  if (bytes <= 0) return Status::kOk;
  const Status status = EndSegment(c);
  if (status != Status::kOk) return status;
  const Int code = c->shared->api.EnqueueCopyBuffer(
      c->queue, Of(c, from.kind), Shared(to), static_cast<size_t>(from.at), At(to, at),
      static_cast<size_t>(bytes), 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueCopyBuffer", code);
  c->pending = true;
  return Status::kOk;
}

Status Fetch(DeviceContext* context, void* to, const Buffer& from, int64_t bytes) {
  ContextState* const c = State(context);
  if (bytes <= 0) return Status::kOk;
  const Status status = EndSegment(c);
  if (status != Status::kOk) return status;
  const Int code = c->shared->api.EnqueueReadBuffer(
      c->queue, Shared(from), 1, from.offset, static_cast<size_t>(bytes), to, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueReadBuffer", code);
  Waited(c);
  return Status::kOk;
}

Status Store(DeviceContext* context, const Buffer& to, const void* from, int64_t bytes) {
  ContextState* const c = State(context);
  if (bytes <= 0) return Status::kOk;
  const Status status = EndSegment(c);
  if (status != Status::kOk) return status;
  const Int code = c->shared->api.EnqueueWriteBuffer(
      c->queue, Shared(to), 1, to.offset, static_cast<size_t>(bytes), from, 0, nullptr, nullptr);
  if (code != kSuccess) return Refuse(c, "clEnqueueWriteBuffer", code);
  Waited(c);
  return Status::kOk;
}

Status WaitFor(DeviceContext* context, int32_t count, void* const* events) {
  ContextState* const c = State(context);
  const Status status = EndSegment(c);
  if (status != Status::kOk) return status;
  const Int code = c->shared->api.EnqueueBarrierWithWaitList(
      c->queue, static_cast<Uint>(count), reinterpret_cast<const Event*>(events), nullptr);
  if (code != kSuccess) return RefuseForeign(c, "clEnqueueBarrierWithWaitList", code);
  c->pending = true;
  return Status::kOk;
}

// It flushes the queue, so that a waiter needs no access to it, and commands begin even without a
// waiter.
Status Mark(DeviceContext* context, void** event) {
  ContextState* const c = State(context);
  const Status status = EndSegment(c);
  if (status != Status::kOk) return status;
  const Api& api = c->shared->api;
  Event made = nullptr;
  Int code = kSuccess;
  if (event != nullptr) {
    code = api.EnqueueMarkerWithWaitList(c->queue, 0, nullptr, &made);
    if (code != kSuccess) return Refuse(c, "clEnqueueMarkerWithWaitList", code);
    c->pending = true;
  }
  code = api.Flush(c->queue);
  if (code != kSuccess) {
    if (made != nullptr) api.ReleaseEvent(made);
    return Refuse(c, "clFlush", code);
  }
  if (event != nullptr) *event = made;
  return Status::kOk;
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
