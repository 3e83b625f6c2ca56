// Models and contexts of the OpenCL backend; internal to it.
#ifndef RULES_DNN_RUNTIME_OPENCL_STATE_H_
#define RULES_DNN_RUNTIME_OPENCL_STATE_H_

#include "runtime/dnn_device.h"
#include "runtime/opencl/find.h"
#include "runtime/opencl/loader.h"
#include "runtime/opencl/recorder.h"
#include "runtime/opencl/replay.h"
#include "runtime/opencl/words.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// State that contexts of a model share.
struct SharedState {
  const DeviceInfo* info;
  Options options;
  Api api;
  Device device;
  opencl::Context context;
  Queue queue;  // the application's; null: each context creates one
  Program program;
  Memory weights;
  bool records;  // launches are recorded if replays are faster, or
  bool always;   // in every case
  Recorder recorder;
};

// A kernel of a context, and its current arguments.
struct Callee {
  Kernel kernel;
  DeviceArg* args;  // room for all its arguments; null: not counted yet
  Uint room;
};
constexpr DeviceKind kUnset = static_cast<DeviceKind>(-1);

// A kernel that was started with profiling.
struct Timed {
  Event event;
  int32_t block;
};
constexpr int32_t kMostTimed = 256;  // maximum number of events that are not read yet

// Device memory that grows.
struct Room {
  Memory memory;
  size_t bytes;
};

struct Picture {
  Memory memory;
  int64_t width, height;
};

struct ContextState : DeviceContext {
  SharedState* shared;
  size_t size;  // size of the whole allocation in host memory
  Queue queue;  // the queue that runs use: one of the next two
  Queue plain, clocked;
  Timed* timed;  // kMostTimed elements; null: profiling was never requested
  int32_t timed_count;
  Room arena, scratch, flags;
  Callee* kernels;
  Picture* pictures;
  int32_t* read_flags;  // host copy of the flags
  bool started;         // queue, kernels and flags exist
  bool pending;         // commands were enqueued that nobody waited for
  bool flagged;         // a kernel ran that may set a flag
  bool told;            // set flags were read, and are not cleared yet
  Replay replay;
  char text[1024];  // the text of `words`
};

inline SharedState* State(DeviceModel* model) { return reinterpret_cast<SharedState*>(model); }
inline ContextState* State(DeviceContext* context) { return static_cast<ContextState*>(context); }

// Creates the queue, the kernels and the flags, unless they exist.
Status Start(ContextState* c, Words* words);

// Releases all device objects of the context.
void Stop(ContextState* c);

// SetArguments sets the arguments of a kernel that have changed; Enqueue also starts it. event may
// be null.
Int SetArguments(ContextState* c, const Step& step, const DeviceArg* args);
Status Enqueue(ContextState* c, const Step& step, const DeviceArg* args, Event* event);

// Records that all enqueued commands have ended.
void Waited(ContextState* c);

// Allocates the memory of runs with these symbols.
Status Prepare(DeviceContext* context, const Description* d, const int64_t* sym);

// Operations of runs; see Backend.
Status Launch(DeviceContext* context, int32_t block, int32_t kernel, const DeviceArg* args,
              int32_t count, const int64_t* global, const int64_t* local);
Status Write(DeviceContext* context, DeviceArg to, const void* from, int64_t bytes);
Status Read(DeviceContext* context, void* to, DeviceArg from, int64_t bytes);
Status Finish(DeviceContext* context, Status status, const char** refused);

// Turns profiling on or off; see Backend.
Status ObserveContext(DeviceContext* context, const LaunchObserver* observer);

// Waits for the kernels whose events are kept, reports their times and releases the events.
Status TellTimes(ContextState* c);

// Returns the buffer that holds arguments of a kind.
Memory Of(const ContextState* c, DeviceKind kind);

// Returns the status of a function's code, and keeps the words for the caller.
Status Refuse(ContextState* c, const char* function, Int code);

// Operations with the application's memory and events; see Backend.
Status CheckShared(DeviceContext* context, const Buffer& buffer, int64_t bytes);
Status CopyIn(DeviceContext* context, DeviceArg to, const Buffer& from, int64_t at, int64_t bytes);
Status CopyOut(DeviceContext* context, const Buffer& to, int64_t at, DeviceArg from, int64_t bytes);
Status Fetch(DeviceContext* context, void* to, const Buffer& from, int64_t bytes);
Status Store(DeviceContext* context, const Buffer& to, const void* from, int64_t bytes);
Status WaitFor(DeviceContext* context, int32_t count, void* const* events);
Status Mark(DeviceContext* context, void** event);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_STATE_H_
