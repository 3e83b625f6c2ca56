#include "runtime/opencl/replay.h"

#include <string.h>
#include <time.h>

#include "runtime/opencl/state.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

// Limits of recorded segments and launches, because a loop on the host may launch any number.
constexpr int32_t kMostSegments = 64, kMostSteps = 4096;

constexpr int32_t kMostPatience = 1 << 20;

// A driver may reject a record although its last run has ended: PoCL does so for a moment.
constexpr Int kInvalidOperation = -59;
constexpr int32_t kMostRefusals = 8;

constexpr Uint kBufferFlags = 0x1293;
constexpr Bits kMayOverlap = 1;

int64_t NowNs() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

void KeepLeast(int64_t* least, int64_t ns) {
  if (*least == 0 || ns < *least) *least = ns;
}

bool Equal(const Step& a, const DeviceArg* x, const Step& b, const DeviceArg* y) {
  if (a.kernel != b.kernel || a.count != b.count) return false;
  for (int i = 0; i < kDeviceDims; ++i) {
    if (a.items[i] != b.items[i] || a.group[i] != b.group[i]) return false;
  }
  for (int32_t i = 0; i < a.count; ++i) {
    if (x[i].kind != y[i].kind || x[i].at != y[i].at) return false;
  }
  return true;
}

// Returns the segment that begins with a block; null if there is no room for more.
Segment* SegmentOf(ContextState* c, int32_t block) {
  Replay& r = c->replay;
  for (Segment* s = r.segments; s != nullptr; s = s->next) {
    if (s->block == block) return s;
  }
  if (r.count == kMostSegments) return nullptr;
  const Options& o = c->shared->options;
  void* const memory = o.allocate(o.allocator_user, sizeof(Segment), kAlignment);
  if (memory == nullptr) return nullptr;
  Segment* const s = static_cast<Segment*>(memory);
  *s = {};
  s->next = r.segments;
  s->block = block;
  s->patience = kPatience;
  r.segments = s;
  ++r.count;
  return s;
}

void Drop(ContextState* c, Segment* s) {
  if (s->record != nullptr) c->shared->recorder.ReleaseCommandBuffer(s->record);
  s->record = nullptr;
  s->same = s->replays = s->refusals = 0;
}

// Stops recording a segment; its launches are no longer compared.
void GiveUp(ContextState* c, Segment* s) {
  const Options& o = c->shared->options;
  Drop(c, s);
  Free(&s->steps, o);
  Free(&s->args, o);
  s->plain = true;
}

Status EnqueueTimed(ContextState* c, const Step& step, const DeviceArg* args) {
  const int64_t begin = NowNs();
  const Status status = Enqueue(c, step, args, nullptr);
  c->replay.ns += NowNs() - begin;
  return status;
}

// Starts the first `count` launches of a segment separately. Their blocks cannot be named at this
// point, so that the message names the kernel.
Status LaunchSteps(ContextState* c, const Segment* s, int32_t count) {
  const DeviceArg* args = s->args.data;
  for (int32_t i = 0; i < count; ++i) {
    const Step& step = s->steps.data[i];
    const Status status = Enqueue(c, step, args, nullptr);
    if (status != Status::kOk) {
      Words words(c->text + strlen(c->text), sizeof(c->text) - strlen(c->text));
      words.Add(", of kernel ").Add(c->shared->info->kernels[step.kernel]);
      return status;
    }
    args += step.count;
  }
  return Status::kOk;
}

// Called when a run deviates from the recorded launches: starts the deferred ones, and forgets the
// rest.
Status Leave(ContextState* c, Segment* s) {
  Replay& r = c->replay;
  Status status = Status::kOk;
  if (s->record != nullptr) {
    const int64_t begin = NowNs();
    status = LaunchSteps(c, s, r.steps);
    r.ns += NowNs() - begin;
    if (s->patience < kMostPatience) s->patience *= 2;
  }
  Drop(c, s);
  s->launch_ns = s->replay_ns = 0;
  s->steps.count = r.steps;
  s->args.count = r.args;
  return status;
}

// Records the segment's launches. The driver copies their arguments now; later changes have no
// effect.
Int Fill(ContextState* c, const Segment* s, CommandBuffer record) {
  const Recorder& m = c->shared->recorder;
  const DeviceArg* args = s->args.data;
  for (int32_t i = 0; i < s->steps.count; ++i) {
    const Step& step = s->steps.data[i];
    Int code = SetArguments(c, step, args);
    if (code == kSuccess) {
      Uint point = 0;
      code = m.CommandNDRangeKernel(record, nullptr, nullptr, c->kernels[step.kernel].kernel,
                                    kDeviceDims, nullptr, step.items, step.group, 0, nullptr,
                                    &point, nullptr);
    }
    if (code != kSuccess) return code;
    args += step.count;
  }
  return m.FinalizeCommandBuffer(record);
}

// Records a segment. If the driver rejects it, the segment is launched as before.
void Record(ContextState* c, Segment* s) {
  const Recorder& m = c->shared->recorder;
  const Bits flags[] = {kBufferFlags, kMayOverlap, 0};
  Int code = kSuccess;
  const CommandBuffer record = m.CreateCommandBuffer(1, &c->queue, m.asks ? flags : nullptr, &code);
  if (record != nullptr && Fill(c, s, record) == kSuccess) {
    s->record = record;
    return;
  }
  if (record != nullptr) m.ReleaseCommandBuffer(record);
  GiveUp(c, s);
}

// Starts the record, and reports whether that succeeded. If a driver rejects it, nothing is
// enqueued.
bool Begin(ContextState* c, Segment* s) {
  const Recorder& m = c->shared->recorder;
  // The host has not waited since the last start, so that the record may be running.
  if (!m.overlaps && s->replays > 0 && s->waits == c->replay.waits) return false;
  const int64_t begin = NowNs();
  Event event = nullptr;  // versions of PoCL crash without an event
  const Int code = m.EnqueueCommandBuffer(0, nullptr, s->record, 0, nullptr, &event);
  if (code != kSuccess) {
    ++s->refusals;
    if (code != kInvalidOperation) s->refusals = kMostRefusals;
    return false;
  }
  if (event != nullptr) c->shared->api.ReleaseEvent(event);
  KeepLeast(&s->replay_ns, NowNs() - begin);
  c->pending = true;
  s->waits = c->replay.waits;
  s->refusals = 0;
  if (s->replays < kTrials) ++s->replays;
  return true;
}

Status Play(ContextState* c, Segment* s) {
  const Status status = Begin(c, s) ? Status::kOk : LaunchSteps(c, s, s->steps.count);
  const bool slow = !c->shared->always && s->replays == kTrials && s->replay_ns >= s->launch_ns;
  if (slow || s->refusals == kMostRefusals) GiveUp(c, s);
  return status;
}

}  // namespace

Status Follow(ContextState* c, int32_t block, const Step& step, const DeviceArg* args) {
  Replay& r = c->replay;
  if (r.open == nullptr) {
    r.open = SegmentOf(c, block);
    r.steps = r.args = 0;
    r.ns = 0;
  }
  Segment* const s = r.open;
  if (s == nullptr || s->plain) return Enqueue(c, step, args, nullptr);
  if (r.steps == s->steps.count ||
      !Equal(s->steps.data[r.steps], s->args.data + r.args, step, args)) {
    const Status status = Leave(c, s);
    if (status != Status::kOk) return status;
    const Options& o = c->shared->options;
    if (r.steps == kMostSteps || !Append(&s->steps, &step, 1, o) ||
        !Append(&s->args, args, step.count, o)) {
      GiveUp(c, s);
      return Enqueue(c, step, args, nullptr);
    }
  }
  const Status status = s->record != nullptr ? Status::kOk : EnqueueTimed(c, step, args);
  if (status != Status::kOk) return status;
  ++r.steps;
  r.args += step.count;
  return status;
}

Status EndSegment(ContextState* c) {
  Replay& r = c->replay;
  Segment* const s = r.open;
  r.open = nullptr;
  if (s == nullptr || s->plain) return Status::kOk;
  if (r.steps < s->steps.count) {
    const Status status = Leave(c, s);
    if (status != Status::kOk) return status;
  }
  if (s->record != nullptr) return Play(c, s);
  KeepLeast(&s->launch_ns, r.ns);
  if (++s->same >= s->patience && r.steps > 0) Record(c, s);
  return Status::kOk;
}

void ForgetRecords(ContextState* c) {
  for (Segment* s = c->replay.segments; s != nullptr; s = s->next) Drop(c, s);
}

void FreeSegments(ContextState* c) {
  const Options& o = c->shared->options;
  Replay& r = c->replay;
  while (r.segments != nullptr) {
    Segment* const s = r.segments;
    r.segments = s->next;
    GiveUp(c, s);
    o.release(o.allocator_user, s, sizeof(Segment));
  }
  r = {};
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
