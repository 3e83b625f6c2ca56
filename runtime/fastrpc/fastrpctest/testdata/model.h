// A model for both sides: z = 2 * x + 1, and the rows of x that begin with a positive number. It
// rejects rows that begin with 13, and ends its process at a row that begins with 666.
#ifndef FASTRPCTEST_MODEL_H_
#define FASTRPCTEST_MODEL_H_

#include "runtime/dnn_remote.h"
#include "runtime/dnn_runtime.h"

namespace {

struct alignas(64) Weights {
  float one;
};
constexpr Weights kWeights = {1};

constexpr rules_dnn::SymbolInfo kSymbols[] = {{"N", 0, 1000, false, {}},
                                              {"found", 0, 1000, true, {1, 0, 0, -1}}};
constexpr rules_dnn::Dim kRows[] = {{{1, 0, 0, -1}, "N"}, {{0, 4, -1, -1}, "4"}};
constexpr rules_dnn::Dim kFound[] = {{{1, 0, 1, -1}, "found"}};
constexpr rules_dnn::TensorInfo kInputs[] = {{"x", "f32", 4, 2, kRows}};
constexpr rules_dnn::TensorInfo kOutputs[] = {{"z", "f32", 4, 2, kRows},
                                              {"at", "i64", 8, 1, kFound}};
constexpr rules_dnn::Size kArena[] = {{16, 64, 0, -1}};

inline rules_dnn::Status Compute(const rules_dnn::Ctx* c) {
  const auto x = static_cast<const float*>(c->in[0]);
  const auto z = static_cast<float*>(c->out[0]);
  const auto at = static_cast<int64_t*>(c->out[1]);
  const auto t = reinterpret_cast<float*>(c->arena);
  const float one = reinterpret_cast<const Weights*>(c->weights)->one;
  int64_t found = 0;
  for (int64_t i = 0; i < c->sym[0]; ++i) {
    if (x[4 * i] == 13) return dnn_refuse(c, rules_dnn::Status::kBadValue, "Above (the node)");
    if (x[4 * i] == 666) __builtin_trap();
    for (int64_t k = 0; k < 4; ++k) t[4 * i + k] = 2 * x[4 * i + k];
    for (int64_t k = 0; k < 4; ++k) z[4 * i + k] = t[4 * i + k] + one;
    if (x[4 * i] > 0) at[found++] = i;
  }
  c->sym[1] = found;
  return rules_dnn::Status::kOk;
}

inline rules_dnn::Description Describe(const rules_dnn::VariantInfo* chip,
                                       const rules_dnn::RemoteInfo* remote) {
  rules_dnn::Description d = {"fake",
                              "test",
                              2,
                              1,
                              kSymbols,
                              0,
                              nullptr,
                              1,
                              kInputs,
                              2,
                              kOutputs,
                              kArena,
                              1,
                              {0, 0, -1, -1},
                              reinterpret_cast<const uint8_t*>(&kWeights),
                              sizeof(kWeights),
                              nullptr,
                              nullptr,
                              Compute,
                              chip,
                              1};
  d.remote = remote;
  return d;
}

constexpr uint8_t kGraphHash[32] = {1, 2, 3}, kWeightsHash[32] = {4, 5, 6};
constexpr uint8_t kOther[32] = {7};

}  // namespace

#endif  // FASTRPCTEST_MODEL_H_
