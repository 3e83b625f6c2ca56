// Models and contexts of OpenCL in memory; internal to the backend.
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

// What contexts share.
struct SharedState {
  const DeviceInfo* info;
  Options options;
  Api api;
  Device device;
  opencl::Context context;
  Queue queue;  // the application's; null: each context makes one
  Program program;
  Memory weights;
  bool records;  // there is a recorder, and it is used: where that is faster, or
  bool always;   // wherever it can be
  Recorder recorder;
};

// A kernel of a context, and what its arguments are.
struct Callee {
  Kernel kernel;
  DeviceArg* args;  // as many as it has at most; null: not counted yet
  Uint room;
};
constexpr DeviceKind kUnset = static_cast<DeviceKind>(-1);

// A kernel that was started while clocks are on.
struct Timed {
  Event event;
  int32_t block;
};
constexpr int32_t kMostTimed = 256;  // events that are kept before they are read

// Memory of the device that grows.
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
  size_t size;  // of all in the host's memory
  Queue queue;  // that runs use: one of the next two
  Queue plain, clocked;
  Timed* timed;  // kMostTimed; null: nobody asked for clocks yet
  int32_t timed_count;
  Room arena, scratch, flags;
  Callee* kernels;
  Picture* pictures;
  int32_t* read_flags;  // where the flags are read to
  bool started;         // queue, kernels and flags are there
  bool pending;         // something is on its way that nobody waited for
  bool flagged;         // a kernel ran that may set a flag
  bool told;            // flags that are set were read, and are not cleared yet
  Replay replay;
  char text[1024];  // of words
};

inline SharedState* State(DeviceModel* model) { return reinterpret_cast<SharedState*>(model); }
inline ContextState* State(DeviceContext* context) { return static_cast<ContextState*>(context); }

// Makes the queue, the kernels and the flags, unless they are there.
Status Start(ContextState* c, Words* words);

// Gives back all that the context has of the device.
void Stop(ContextState* c);

// Sets what of a kernel's arguments is not set yet, and starts it; event may be null.
Int SetArguments(ContextState* c, const Step& step, const DeviceArg* args);
Status Enqueue(ContextState* c, const Step& step, const DeviceArg* args, Event* event);

// Notes that all that was started has ended.
void Waited(ContextState* c);

// Takes the memory of runs with these symbols.
Status Prepare(DeviceContext* context, const Description* d, const int64_t* sym);

// What runs do; see Backend.
Status Launch(DeviceContext* context, int32_t block, int32_t kernel, const DeviceArg* args,
              int32_t count, const int64_t* global, const int64_t* local);
Status Write(DeviceContext* context, DeviceArg to, const void* from, int64_t bytes);
Status Read(DeviceContext* context, void* to, DeviceArg from, int64_t bytes);
Status Finish(DeviceContext* context, Status status, const char** refused);

// Turns clocks on or off; see Backend.
Status ObserveContext(DeviceContext* context, const LaunchObserver* observer);

// Waits for the kernels whose events are kept, tells what they took and lets the events go.
Status TellTimes(ContextState* c);

// The buffer that arguments of a kind lie in.
Memory Of(const ContextState* c, DeviceKind kind);

// The status of a function's code, with the words kept for who asks.
Status Refuse(ContextState* c, const char* function, Int code);

// What is done with the application's memory and events; see Backend.
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
