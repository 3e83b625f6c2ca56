// Sizes from symbols; internal to the runtime.
#ifndef RULES_DNN_RUNTIME_DNN_SIZES_H_
#define RULES_DNN_RUNTIME_DNN_SIZES_H_

#include <stdint.h>

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// Values of all symbols of a model: given ones within their bounds, computed ones at their maximum.
struct Symbols {
  int64_t value[kMaxSymbols];
};

// Binds the symbols; fails if one is out of its bounds or a check does not hold.
Status BindSymbols(const Description* d, const int64_t* sym, Symbols* out);

// Evaluates a check, and stores the two values that it compares.
Status EvalCheck(const Description* d, const CheckInfo& check, const int64_t* sym, int64_t* a,
                 int64_t* b);

// Evaluate sizes for bound symbols. A size is not negative and at most half of the address space,
// so that differences of pointers are representable.
Status EvalSize(const Description* d, const Size& size, const int64_t* sym, int64_t* out);
Status EvalShape(const Description* d, const TensorInfo& t, const int64_t* sym, int64_t* shape);
Status EvalBytes(const Description* d, const TensorInfo& t, const int64_t* sym, int64_t* bytes);
Status EvalArena(const Description* d, const int64_t* sym, int64_t* bytes);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_SIZES_H_
