// The stub: models whose runs are calls of a skeleton on the DSP.
#ifndef RULES_DNN_RUNTIME_FASTRPC_STUB_H_
#define RULES_DNN_RUNTIME_FASTRPC_STUB_H_

#include "runtime/dnn_remote.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

extern const Remote kRemote;

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_STUB_H_
