// Models and contexts in memory; internal to the runtime.
#ifndef RULES_DNN_RUNTIME_DNN_CONTEXT_H_
#define RULES_DNN_RUNTIME_DNN_CONTEXT_H_

#include "runtime/dnn_device.h"
#include "runtime/dnn_model.h"
#include "runtime/dnn_observe.h"
#include "runtime/dnn_pool.h"
#include "runtime/dnn_remote.h"

namespace rules_dnn {
inline namespace v1 {

struct Model {
  const Description* description;
  Options options;  // with all defaults filled in
  const uint8_t* weights;
  int32_t references;   // the caller's and one a context
  int32_t variant;      // of the description's; 0 where it has none
  DeviceModel* device;  // null where the description has none
  RemoteModel* remote;  // null where the model runs here
};

void ModelRetain(Model* model);

// A run-time allocation's header; the memory follows.
struct alignas(kAlignment) Piece {
  Piece* next;
  size_t bytes;  // header included
};

struct Runtime {
  Pool pool;
  const Options* options;
  Observer observer;  // null: nobody looks
  void* observer_user;
  ValueObserver value_observer;  // of what blocks compute
  Piece* pieces;                 // of the run in progress
};

struct Context {
  Runtime runtime;
  Ctx ctx;
  Model* model;
  size_t bytes;           // of the context itself
  int32_t bad_index;      // of the run in progress
  Status status;          // of the last run or reservation
  const char* role;       // "input " or "output " before the name in refused, or nothing
  const char* refused;    // the node or buffer that status is about; null: none
  int64_t* sym;           // values of the last run; computed ones once it has succeeded
  int64_t* buffer_bytes;  // inputs, then outputs, for these symbols
  Buffer* buffers;        // of the run in progress: inputs, then outputs
  void** pointers;        // what of them lies in the processor's memory, of runs that are started
  void* staged;           // copies there of what lies in the device's
  size_t staged_bytes;
  size_t memory_bytes;    // of arena and scratch together
  bool ready;             // the symbols are checked and memory is there
  bool ran;               // the last run succeeded: computed symbols have values
  RemoteContext* remote;  // null where the model runs here
};

// Checks the symbols and readies memory, unless the last run had the same ones.
Status Prepare(Context* c, const int64_t* sym);

// Gives back what a run allocated.
void ReleasePieces(Runtime* rt);

// Checks the buffers of the run in progress; notes which one a status is about.
Status CheckBuffers(Context* c);
Status Blame(Context* c, int32_t buffer, Status status);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_CONTEXT_H_
