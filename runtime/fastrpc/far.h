// Sessions and contexts that stubs have in a skeleton.
#ifndef RULES_DNN_RUNTIME_FASTRPC_FAR_H_
#define RULES_DNN_RUNTIME_FASTRPC_FAR_H_

#include "runtime/dnn_model.h"
#include "runtime/fastrpc/rpc.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// A context of a stub's. Calls name it by a number, which never becomes another one's.
struct FarContext {
  FarContext* next;
  uint64_t number;
  bool busy;  // a call uses it
  Context* context;
};

struct FarSession {
  FarSession* next;
  Handle handle;
  uint64_t last;  // the number of the context that was made last
  FarContext* contexts;
};

// Makes a session with a handle of its own; null: there is no memory.
FarSession* NewSession();

// Takes a session out of the list, unless one of its contexts is in a call; null: there is none.
FarSession* Remove(Handle handle);

// Gives a context to a session, with a number.
bool Add(Handle handle, FarContext* c);

// The context of a number, for this call alone; null: there is none, or another call has it.
FarContext* Borrow(Handle handle, uint64_t number);
void GiveBack(FarContext* c);

// Takes a context that is busy, so that nobody closes its session, out of that.
void Take(Handle handle, const FarContext* c);

void Destroy(FarContext* c);

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_FAR_H_
