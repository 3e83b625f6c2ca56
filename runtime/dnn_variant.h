// Which of a model's kernels run; internal to the runtime.
#ifndef RULES_DNN_RUNTIME_DNN_VARIANT_H_
#define RULES_DNN_RUNTIME_DNN_VARIANT_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// Finds the number of the variant of a name. Where that is null it is the one that DNN_VARIANT in
// the environment names, or, without it, the last one that this processor runs.
Status ChooseVariant(const Description* d, const char* name, int32_t* variant);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_VARIANT_H_
