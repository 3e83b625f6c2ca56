// What FastRPC's numbers mean, in words, and as a status.
#ifndef RULES_DNN_RUNTIME_FASTRPC_WORDS_H_
#define RULES_DNN_RUNTIME_FASTRPC_WORDS_H_

#include "runtime/dnn_runtime.h"
#include "runtime/dnn_words.h"
#include "runtime/fastrpc/rpc.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// The status of a function's code, and both in words: "remote_handle64_open: the DSP has no such
// file, or finds none by DSP_LIBRARY_PATH (AEE_ENOSUCHFILE, 0x45)".
Status Failed(Words* words, const char* function, Code code);

// A status with a sentence.
Status Failed(Words* words, Status status, const char* sentence);

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_WORDS_H_
