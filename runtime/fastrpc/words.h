// Describes FastRPC's error numbers in words and as a status.
#ifndef RULES_DNN_RUNTIME_FASTRPC_WORDS_H_
#define RULES_DNN_RUNTIME_FASTRPC_WORDS_H_

#include "runtime/dnn_runtime.h"
#include "runtime/dnn_words.h"
#include "runtime/fastrpc/rpc.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// Returns the status of a function's code, and writes both: "remote_handle64_open: the DSP finds no
// such file in the folders of DSP_LIBRARY_PATH and its own (AEE_ENOSUCHFILE, 0x45)".
Status Failed(Words* words, const char* function, Code code);

// Writes a sentence and returns the status.
Status Failed(Words* words, Status status, const char* sentence);

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_WORDS_H_
