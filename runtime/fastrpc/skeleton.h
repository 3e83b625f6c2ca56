// The skeleton: functions that FastRPC calls on the DSP, in the library of one model.
#ifndef RULES_DNN_RUNTIME_FASTRPC_SKELETON_H_
#define RULES_DNN_RUNTIME_FASTRPC_SKELETON_H_

#include "runtime/dnn_model.h"
#include "runtime/fastrpc/rpc.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// The model, and the hashes by which a stub identifies it.
struct Skeleton {
  const Description* description;
  const uint8_t* graph_hash;
  const uint8_t* weights_hash;
};

// Answers a call. A library has one model, which all its sessions use.
Code Answer(const Skeleton& skeleton, Handle handle, uint32_t scalars, Arg* args);

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_SKELETON_H_
