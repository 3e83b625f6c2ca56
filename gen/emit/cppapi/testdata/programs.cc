// Programs as a code generator would print them, small enough to check by hand.
#include "app_fake_internal.h"
#include "constant_internal.h"
#include "rows_internal.h"

namespace {

// Row n: the sum of the image's row and the scalar input, times each weight.
void FakeBlock(const dnn_ctx* c, int64_t first, int64_t last, int worker) {
  const float* const image = static_cast<const float*>(c->in[0]);
  const int64_t* const scalar = static_cast<const int64_t*>(c->in[1]);
  const float* const w = reinterpret_cast<const float*>(c->weights);
  float* const y = static_cast<float*>(c->out[0]);
  float* const tile = reinterpret_cast<float*>(c->scratch(worker));
  const int64_t h = c->sym[1];
  for (int64_t n = first; n < last; ++n) {
    float sum = static_cast<float>(*scalar);
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t k = 0; k < h; ++k) tile[k] = image[(n * 3 + i) * h + k];
      for (int64_t k = 0; k < h; ++k) sum += tile[k];
    }
    c->arena[n] = static_cast<uint8_t>(n);
    for (int64_t i = 0; i < 4; ++i) y[n * 4 + i] = sum * w[i];
  }
}

// Element [i, n] of the second output: what the first block left in the arena, plus i.
void FakeBlock2(const dnn_ctx* c, int64_t first, int64_t last, int worker) {
  (void)worker;
  uint8_t* const y = static_cast<uint8_t*>(c->out[1]);
  const int64_t n = c->sym[0];
  for (int64_t i = first; i < last; ++i) {
    for (int64_t k = 0; k < n; ++k) y[i * n + k] = static_cast<uint8_t>(c->arena[k] + i);
  }
}

}  // namespace

rules_dnn::Status app_fake_program(const rules_dnn::Ctx* c) {
  if (*static_cast<const int64_t*>(c->in[1]) < 0) {
    return dnn_refuse(c, rules_dnn::Status::kBadValue, "Gather \"rows\"");
  }
  dnn_parallel(c, 0, FakeBlock, c->sym[0]);
  dnn_parallel(c, 1, FakeBlock2, (c->sym[1] + 1) / 2);
  return rules_dnn::Status::kOk;
}

// The indices of positive elements, by way of two run-time allocations.
rules_dnn::Status rows_program(const rules_dnn::Ctx* c) {
  const float* const x = static_cast<const float*>(c->in[0]);
  int64_t found = 0;
  for (int64_t i = 0; i < c->sym[0]; ++i) found += x[i] > 0;
  int64_t* const list = static_cast<int64_t*>(dnn_alloc(c, found * 8));
  int64_t* const copy = static_cast<int64_t*>(dnn_alloc(c, found * 8));
  if (list == nullptr || copy == nullptr) return rules_dnn::Status::kOutOfMemory;
  int64_t at = 0;
  for (int64_t i = 0; i < c->sym[0]; ++i) {
    if (x[i] > 0) list[at++] = i + c->weights[0] - '1';
  }
  for (int64_t i = 0; i < found; ++i) copy[i] = list[i];
  for (int64_t i = 0; i < found; ++i) static_cast<int64_t*>(c->out[0])[i] = copy[i];
  c->sym[1] = found;
  return rules_dnn::Status::kOk;
}

rules_dnn::Status constant_program(const rules_dnn::Ctx* c) {
  static_cast<uint16_t*>(c->out[0])[0] = 0x3c00;
  static_cast<uint16_t*>(c->out[0])[1] = 0xbc00;
  return rules_dnn::Status::kOk;
}
