// Sizes from symbols; internal to the runtime.
#ifndef RULES_DNN_RUNTIME_DNN_SIZES_H_
#define RULES_DNN_RUNTIME_DNN_SIZES_H_

#include <stdint.h>

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// Values of all symbols of a model: given ones within their bounds, computed ones at most.
struct Symbols {
  int64_t value[kMaxSymbols];
};

// Binds symbols that are within their bounds and that no check refuses.
Status BindSymbols(const Description* d, const int64_t* sym, Symbols* out);

// Whether the check holds, and the two values that it compares.
Status EvalCheck(const Description* d, const CheckInfo& check, const int64_t* sym, int64_t* a,
                 int64_t* b);

// Sizes for bound symbols: at least 0, at most half of the address space, which keeps
// differences of pointers representable.
Status EvalSize(const Description* d, const Size& size, const int64_t* sym, int64_t* out);
Status EvalShape(const Description* d, const TensorInfo& t, const int64_t* sym, int64_t* shape);
Status EvalBytes(const Description* d, const TensorInfo& t, const int64_t* sym, int64_t* bytes);
Status EvalArena(const Description* d, const int64_t* sym, int64_t* bytes);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_SIZES_H_
