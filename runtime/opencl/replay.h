// Records the launches of a run, so that later runs start them with one driver call.
//
// A run consists of segments of launches; they are separated by other commands such as copies, or
// by values that the host waits for. For each segment, the launches of the last run are stored with
// all their arguments. After several runs with equal launches, the segment is recorded. From then
// on, launches that match the record are deferred, and all start at the end of the segment. At the
// first launch that differs, the deferred ones are started separately, and the record is dropped.
// The recorder therefore need not know what launches depend on: dimensions, values that were read
// back, or the path through the network.
#ifndef RULES_DNN_RUNTIME_OPENCL_REPLAY_H_
#define RULES_DNN_RUNTIME_OPENCL_REPLAY_H_

#include "runtime/dnn_device.h"
#include "runtime/opencl/memory.h"
#include "runtime/opencl/recorder.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

struct ContextState;

// The number of runs with equal launches before a segment is recorded. Each dropped record doubles
// it, so that segments that change every few runs cost little.
constexpr int32_t kPatience = 8;

// The number of replays after which the record is kept only if it starts sooner than its separate
// launches: some drivers just launch one kernel after another.
constexpr int32_t kTrials = 8;

// A launch. Its arguments are in the host program, or in the segment's list.
struct Step {
  int32_t kernel;
  int32_t count;  // number of arguments
  size_t items[kDeviceDims], group[kDeviceDims];
};

struct Segment {
  Segment* next;
  int32_t block;  // the block of the first launch, which identifies the segment
  List<Step> steps;
  List<DeviceArg> args;
  CommandBuffer record;          // null: not recorded
  int32_t same;                  // consecutive runs with these launches
  int32_t patience;              // number of such runs until it is recorded
  int32_t replays, refusals;     // replays of the record; consecutive rejections
  int64_t launch_ns, replay_ns;  // minimum time to start all launches, for both ways; 0: not known
  uint64_t waits;                // the context's number of waits at the last start of the record
  bool plain;                    // never recorded again
};

// A context's segments.
struct Replay {
  Segment* segments;
  int32_t count;
  Segment* open;        // the current segment; null: none has begun
  int32_t steps, args;  // position of this run in that segment
  int64_t ns;           // time of starting its launches
  uint64_t waits;       // number of times that the host waited for all commands
};

// Starts a launch, or defers it until EndSegment.
Status Follow(ContextState* c, int32_t block, const Step& step, const DeviceArg* args);

// Starts the deferred launches of a segment; called before any other command is enqueued.
Status EndSegment(ContextState* c);

// Drops all records, because objects that they use will be released.
void ForgetRecords(ContextState* c);

// Frees all segments.
void FreeSegments(ContextState* c);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_REPLAY_H_
