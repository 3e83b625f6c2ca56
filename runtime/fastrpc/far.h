// The skeleton's sessions and contexts, which stubs use.
#ifndef RULES_DNN_RUNTIME_FASTRPC_FAR_H_
#define RULES_DNN_RUNTIME_FASTRPC_FAR_H_

#include "runtime/dnn_model.h"
#include "runtime/fastrpc/rpc.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// A stub's context. Calls refer to it by a number, which is never reused.
struct FarContext {
  FarContext* next;
  uint64_t number;
  bool busy;  // a call uses it
  Context* context;
};

struct FarSession {
  FarSession* next;
  Handle handle;
  uint64_t last;  // number of the last context that was created
  FarContext* contexts;
};

// Creates a session with a new handle; returns null if memory is exhausted.
FarSession* NewSession();

// Removes a session from the list, unless a call uses one of its contexts; returns null if there is
// no such session.
FarSession* Remove(Handle handle);

// Adds a context to a session and numbers it.
bool Add(Handle handle, FarContext* c);

// Returns a context for the duration of a call; null if the number is unknown or another call uses
// it.
FarContext* Borrow(Handle handle, uint64_t number);
void GiveBack(FarContext* c);

// Removes a busy context from its session. Since it is busy, the session cannot be closed
// meanwhile.
void Take(Handle handle, const FarContext* c);

void Destroy(FarContext* c);

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_FAR_H_
