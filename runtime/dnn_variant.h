// Chooses which of a model's kernels run; internal to the runtime.
#ifndef RULES_DNN_RUNTIME_DNN_VARIANT_H_
#define RULES_DNN_RUNTIME_DNN_VARIANT_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// Finds the index of the variant with a name. If name is null, it is the variant that the
// environment variable DNN_VARIANT names; without that, the last one that this processor can run.
Status ChooseVariant(const Description* d, const char* name, int32_t* variant);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_VARIANT_H_
