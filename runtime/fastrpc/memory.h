// Memory that the processor and the DSP share, and the application's allocations of it.
#ifndef RULES_DNN_RUNTIME_FASTRPC_MEMORY_H_
#define RULES_DNN_RUNTIME_FASTRPC_MEMORY_H_

#include "runtime/dnn_runtime.h"
#include "runtime/dnn_words.h"
#include "runtime/fastrpc/loader.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// Allocates rpcmem memory; writes the reason of a failure to words.
Status TakeShared(const Api& api, uint64_t bytes, void** memory, Words* words);

// Allocates the application's memory: rpcmem, or ordinary memory if api is null or lacks rpcmem.
Status AllocateOwn(const Api* api, size_t bytes, void** memory);
void ReleaseOwn(void* memory);

// Reports whether the DSP accesses a range directly: it begins at a line of AllocateOwn's memory,
// or is in rpcmem memory that the application allocated itself.
bool IsShared(const Api& api, const void* at, size_t bytes);

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_MEMORY_H_
