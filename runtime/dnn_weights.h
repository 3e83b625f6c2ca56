// A model's packed constants: the library's own, or those of a weights file; internal to the
// runtime.
#ifndef RULES_DNN_RUNTIME_DNN_WEIGHTS_H_
#define RULES_DNN_RUNTIME_DNN_WEIGHTS_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// Finds the constants, and says what is wrong with a weights file.
Status FindWeights(const Description* d, const Options& o, const uint8_t** weights);

// The SHA-256 of bytes.
void Sha256(const uint8_t* data, size_t bytes, uint8_t hash[32]);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_WEIGHTS_H_
