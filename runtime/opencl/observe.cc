// Timing of kernels on a separate queue with profiling, so that runs without an observer have no
// overhead.
#include "runtime/opencl/state.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

// Creates what timing needs, if it is missing: the profiling queue, and room for events.
Status MakeClocks(ContextState* c, Words* words) {
  const SharedState& m = *c->shared;
  if (c->timed == nullptr) {
    c->timed = static_cast<Timed*>(
        m.options.allocate(m.options.allocator_user, kMostTimed * sizeof(Timed), kAlignment));
    if (c->timed == nullptr) return Status::kOutOfMemory;
  }
  if (c->clocked != nullptr) return Status::kOk;
  Int code = kSuccess;
  c->clocked = m.api.CreateCommandQueue(m.context, m.device, kProfiling, &code);
  return c->clocked == nullptr ? Failed(words, "clCreateCommandQueue", code) : Status::kOk;
}

// Switches runs to a queue with or without profiling. The previous observer receives the last
// times.
Status Switch(ContextState* c, bool clocks) {
  const Api& api = c->shared->api;
  Words words(c->text, sizeof(c->text));
  Status status = EndSegment(c);
  if (status == Status::kOk) status = Start(c, &words);
  if (status == Status::kOk && clocks) status = MakeClocks(c, &words);
  if (status == Status::kOk && c->timed_count > 0) status = TellTimes(c);
  if (status != Status::kOk) return status;
  const Queue next = clocks ? c->clocked : c->plain;
  if (next == c->queue) return status;
  const Int code = api.Finish(c->queue);  // earlier commands come first
  if (code != kSuccess) return Failed(&words, "clFinish", code);
  c->queue = next;
  return status;
}

}  // namespace

// If it fails, there is no observer, because the previous one may be destroyed.
Status ObserveContext(DeviceContext* context, const LaunchObserver* observer) {
  const Status status = Switch(State(context), observer != nullptr && observer->took != nullptr);
  context->observer = status == Status::kOk ? observer : nullptr;
  return status;
}

Status TellTimes(ContextState* c) {
  const Api& api = c->shared->api;
  const char* function = "clFinish";
  Int code = api.Finish(c->queue);
  for (int32_t i = 0; i < c->timed_count; ++i) {
    uint64_t start = 0, end = 0;
    const Event event = c->timed[i].event;
    if (code == kSuccess) {
      function = "clGetEventProfilingInfo";
      code = api.GetEventProfilingInfo(event, kEventStart, sizeof(start), &start, nullptr);
    }
    if (code == kSuccess) {
      code = api.GetEventProfilingInfo(event, kEventEnd, sizeof(end), &end, nullptr);
    }
    api.ReleaseEvent(event);
    if (code != kSuccess || c->observer == nullptr) continue;
    const double ms = end < start ? 0 : static_cast<double>(end - start) / 1e6;
    c->observer->took(c->observer->user, c->timed[i].block, ms);
  }
  c->timed_count = 0;
  return code == kSuccess ? Status::kOk : Refuse(c, function, code);
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
