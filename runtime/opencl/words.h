// Describes failures in words and as a status.
#ifndef RULES_DNN_RUNTIME_OPENCL_WORDS_H_
#define RULES_DNN_RUNTIME_OPENCL_WORDS_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/dnn_runtime.h"
#include "runtime/dnn_words.h"
#include "runtime/opencl/loader.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// Returns the status of a function's code, and writes both: "clFinish: CL_OUT_OF_RESOURCES (-5)".
Status Failed(Words* words, const char* function, Int code);

// Writes a sentence and returns the status.
Status Failed(Words* words, Status status, const char* sentence);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_WORDS_H_
