// Sessions with skeletons: one for each process and library, which models share.
#ifndef RULES_DNN_RUNTIME_FASTRPC_SESSION_H_
#define RULES_DNN_RUNTIME_FASTRPC_SESSION_H_

#include "runtime/dnn_remote.h"
#include "runtime/fastrpc/loader.h"
#include "runtime/fastrpc/wire.h"
#include "runtime/fastrpc/words.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

struct Session {
  Session* next;
  const Api* api;
  Handle handle;
  int32_t references;
  int32_t lost;  // 1: the process on the DSP has ended, and new models get another session
  Identity identity;
  char uri[kMostUri];
};

// Finds the session with the model's skeleton, or opens one. It tries the versions that the DSP can
// run, most capable first, and takes the first whose library exists. The status reports a skeleton
// of another model or version.
Status Acquire(const Description* d, const RemoteOptions& o, Session** session, Words* words);
void Release(Session* session);

inline bool IsLost(const Session* s) { return __atomic_load_n(&s->lost, __ATOMIC_ACQUIRE) != 0; }

// Calls the skeleton. args has `in` input buffers, then `out` output buffers.
Status Call(Session* session, Method method, int32_t in, int32_t out, Arg* args, Words* words);

// Returns a buffer as an argument.
inline Arg Bytes(const void* at, size_t bytes) {
  Arg a;
  a.buffer = {const_cast<void*>(at), bytes};
  return a;
}

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_SESSION_H_
