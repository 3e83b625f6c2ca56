// Models and contexts in memory; internal to the runtime.
#ifndef RULES_DNN_RUNTIME_DNN_CONTEXT_H_
#define RULES_DNN_RUNTIME_DNN_CONTEXT_H_

#include "runtime/dnn_cores.h"
#include "runtime/dnn_device.h"
#include "runtime/dnn_model.h"
#include "runtime/dnn_observe.h"
#include "runtime/dnn_pool.h"
#include "runtime/dnn_remote.h"
#include "runtime/dnn_share.h"

namespace rules_dnn {
inline namespace v1 {

struct Model {
  const Description* description;
  Options options;  // with all defaults filled in
  const uint8_t* weights;
  int32_t references;   // one for the caller, and one for each context
  int32_t variant;      // index in the description's variants; 0 if it has none
  DeviceModel* device;  // null if the description has no device
  RemoteModel* remote;  // null if the model runs in this process
  CoreSet cores;        // where threads of contexts run, if the options have cores
};

void ModelRetain(Model* model);

// A run-time allocation's header; the memory follows.
struct alignas(kAlignment) Piece {
  Piece* next;
  size_t bytes;  // header included
};

struct Runtime {
  Pool pool;
  TaskQueue* queues;  // one for each worker
  const Options* options;
  Observer observer;  // null: no observer
  void* observer_user;
  ValueObserver value_observer;  // observer of the values that blocks compute
  Piece* pieces;                 // allocations of the run in progress
};

struct Context {
  Runtime runtime;
  Ctx ctx;
  Model* model;
  size_t bytes;           // size of the context itself
  int32_t bad_index;      // set by the run in progress
  Status status;          // of the last run or reservation
  const char* role;       // "input " or "output " before the name in refused, or nothing
  const char* refused;    // the node or buffer that status is about; null: not known
  int64_t* sym;           // values of the last run; computed ones are valid if it succeeded
  int64_t* buffer_bytes;  // inputs, then outputs, for these symbols
  Buffer* buffers;        // of the run in progress: inputs, then outputs
  void** pointers;        // host pointers of the buffers, for runs that Start begins
  void* staged;           // host copies of buffers that are in the device's memory
  size_t staged_bytes;
  size_t memory_bytes;    // arena and scratch together
  bool ready;             // the symbols are checked and the memory is allocated
  bool ran;               // the last run succeeded: computed symbols have values
  RemoteContext* remote;  // null if the model runs in this process
};

// Checks the symbols and allocates memory, unless the last run had the same symbols.
Status Prepare(Context* c, const int64_t* sym);

// Frees the memory that a run allocated.
void ReleasePieces(Runtime* rt);

// CheckBuffers checks the buffers of the run in progress. Blame records the buffer that a status is
// about, and returns the status.
Status CheckBuffers(Context* c);
Status Blame(Context* c, int32_t buffer, Status status);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_CONTEXT_H_
