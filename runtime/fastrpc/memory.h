// Memory that the processor and the DSP see, and what the application has of it.
#ifndef RULES_DNN_RUNTIME_FASTRPC_MEMORY_H_
#define RULES_DNN_RUNTIME_FASTRPC_MEMORY_H_

#include "runtime/dnn_runtime.h"
#include "runtime/dnn_words.h"
#include "runtime/fastrpc/loader.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// Memory of rpcmem, or a status with words.
Status TakeShared(const Api& api, uint64_t bytes, void** memory, Words* words);

// The application's memory: of rpcmem, or any where api is null or has none.
Status AllocateOwn(const Api* api, size_t bytes, void** memory);
void ReleaseOwn(void* memory);

// Whether the DSP sees a range as it is: it begins at a line of memory of AllocateOwn, or is one
// that the application has of rpcmem itself.
bool IsShared(const Api& api, const void* at, size_t bytes);

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_MEMORY_H_
