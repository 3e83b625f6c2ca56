// Launches of one run that the next ones repeat: the driver records them and starts them with one
// call.
//
// A run is segments of launches with something else between them: a copy, or a value that the host
// waits for. Of each segment its launches of the last run are kept, with all that they are made of.
// Once some runs have launched the same, it is recorded; from then on launches that are as recorded
// are put off, and where the segment ends they all start at once. At the first one that is not,
// those before it are started one by one, and the record is gone. So nothing has to know what
// launches depend on: dimensions, values that were read back, the way through the network.
#ifndef RULES_DNN_RUNTIME_OPENCL_REPLAY_H_
#define RULES_DNN_RUNTIME_OPENCL_REPLAY_H_

#include "runtime/dnn_device.h"
#include "runtime/opencl/memory.h"
#include "runtime/opencl/recorder.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

struct ContextState;

// Runs that launch the same before it is recorded. Each record that is thrown away doubles them, so
// that what changes every few runs costs little.
constexpr int32_t kPatience = 8;

// Replays after which the record stays only if it starts sooner than its launches did: some drivers
// do no more with it than launch after launch.
constexpr int32_t kTrials = 8;

// A launch. Its arguments are the host program's, or the list's of a segment.
struct Step {
  int32_t kernel;
  int32_t count;  // arguments
  size_t items[kDeviceDims], group[kDeviceDims];
};

struct Segment {
  Segment* next;
  int32_t block;  // of the first launch: what the segment is known by
  List<Step> steps;
  List<DeviceArg> args;
  CommandBuffer record;          // null: there is none
  int32_t same;                  // runs in a row that launched just this
  int32_t patience;              // how many of them it takes to be recorded
  int32_t replays, refusals;     // of the record; refusals in a row
  int64_t launch_ns, replay_ns;  // the least that it took to start all, either way; 0: not known
  uint64_t waits;                // the context's when the record was started last
  bool plain;                    // it is not looked at any more
};

// What a context knows of segments.
struct Replay {
  Segment* segments;
  int32_t count;
  Segment* open;        // that launches are of; null: none is begun
  int32_t steps, args;  // of it that this run has come to
  int64_t ns;           // what starting them took
  uint64_t waits;       // how often the host waited for all that was started
};

// Starts a launch, or puts it off until EndSegment.
Status Follow(ContextState* c, int32_t block, const Step& step, const DeviceArg* args);

// Ends the launches of a segment, before anything else is enqueued.
Status EndSegment(ContextState* c);

// Lets records go: what they were made of is about to.
void ForgetRecords(ContextState* c);

// Lets all go that is known of segments.
void FreeSegments(ContextState* c);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_REPLAY_H_
