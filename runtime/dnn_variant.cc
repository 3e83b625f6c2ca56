#include "runtime/dnn_variant.h"

#include "runtime/dnn_context.h"
#include "runtime/dnn_cpu.h"
#include "runtime/dnn_system.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

bool Runs(const VariantInfo& v) { return CpuHasAll(v.cpu_features, v.cpu_feature_count); }

}  // namespace

Status ChooseVariant(const Description* d, const char* name, int32_t* variant) {
  *variant = 0;
  if (name == nullptr) name = Environment("DNN_VARIANT");
  const bool any = name == nullptr || *name == 0;
  for (int32_t i = d->variant_count - 1; i >= 0; --i) {
    const VariantInfo& v = d->variants[i];
    if (!any && strcmp(name, v.name) != 0) continue;
    *variant = i;
    if (Runs(v)) return Status::kOk;
    if (!any) return Status::kUnsupportedCpu;
  }
  return any ? Status::kUnsupportedCpu : Status::kUnknownVariant;
}

int32_t ModelVariant(const Model* model) { return model->variant; }

const char* VariantName(const Model* model) {
  if (model == nullptr) return "";
  if (model->remote != nullptr) {
    return model->description->remote->remote->chip(model->remote);
  }
  return model->description->variants[model->variant].name;
}

}  // namespace v1
}  // namespace rules_dnn
