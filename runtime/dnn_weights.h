// A model's packed constants, from the library itself or from a weights file; internal to the
// runtime.
#ifndef RULES_DNN_RUNTIME_DNN_WEIGHTS_H_
#define RULES_DNN_RUNTIME_DNN_WEIGHTS_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// Finds the constants; returns the problem of a weights file as a status.
Status FindWeights(const Description* d, const Options& o, const uint8_t** weights);

// Computes the SHA-256 of bytes.
void Sha256(const uint8_t* data, size_t bytes, uint8_t hash[32]);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_WEIGHTS_H_
