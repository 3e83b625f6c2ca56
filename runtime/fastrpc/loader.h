// Loads FastRPC's library at run time, so that a program also starts on machines without a DSP.
#ifndef RULES_DNN_RUNTIME_FASTRPC_LOADER_H_
#define RULES_DNN_RUNTIME_FASTRPC_LOADER_H_

#include "runtime/fastrpc/rpc.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// The required functions, each with its exported name, result and parameters.
#define RULES_DNN_FASTRPC_FUNCTIONS(F)                                      \
  F(Open, remote_handle64_open, Code, (const char* uri, Handle* handle))    \
  F(Invoke, remote_handle64_invoke, Code, (Handle, uint32_t scalars, Arg*)) \
  F(Close, remote_handle64_close, Code, (Handle))

// Functions that older releases lack; null if missing.
#define RULES_DNN_FASTRPC_OPTIONAL(F)                                                      \
  F(Session, remote_session_control, Code, (uint32_t request, void* data, uint32_t bytes)) \
  F(Control, remote_handle_control, Code, (uint32_t request, void* data, uint32_t bytes))  \
  F(Allocate, rpcmem_alloc, void*, (int32_t heap, uint32_t flags, int32_t bytes))          \
  F(Free, rpcmem_free, void, (void*))                                                      \
  F(ToFile, rpcmem_to_fd, int32_t, (void*))

struct Api {
#define RULES_DNN_FASTRPC_MEMBER(member, name, result, params) result(*member) params;
  RULES_DNN_FASTRPC_FUNCTIONS(RULES_DNN_FASTRPC_MEMBER)
  RULES_DNN_FASTRPC_OPTIONAL(RULES_DNN_FASTRPC_MEMBER)
#undef RULES_DNN_FASTRPC_MEMBER

  // Reports whether the library has memory that both sides can access.
  bool shares() const { return Allocate != nullptr && Free != nullptr && ToFile != nullptr; }
};

// Fills api from the machine's library, which stays loaded. If it fails, returns false and sets
// *error to a description of what is missing.
bool Load(Api* api, const char** error);

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_LOADER_H_
