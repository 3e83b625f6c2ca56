// The model's skeleton, or with GRAPH or WEIGHTS the skeleton of another model.
#include "model.h"
#include "runtime/fastrpc/skeleton.h"
#include "runtime/fastrpc/wire.h"

#ifndef GRAPH
#define GRAPH kGraphHash
#endif
#ifndef WEIGHTS
#define WEIGHTS kWeightsHash
#endif

extern "C" __attribute__((visibility("default"))) rules_dnn::fastrpc::Code RULES_DNN_FASTRPC_ENTRY(
    rules_dnn::fastrpc::Handle handle, uint32_t scalars, rules_dnn::fastrpc::Arg* args) {
  static const rules_dnn::VariantInfo chip = {"hexagon_fake", nullptr, 0};
  static const rules_dnn::Description d = Describe(&chip, nullptr);
  const rules_dnn::fastrpc::Skeleton s = {&d, GRAPH, WEIGHTS};
  return rules_dnn::fastrpc::Answer(s, handle, scalars, args);
}
