// A network of many launches: each adds to what the one before it left, in its place, so that a
// launch which ran twice, or with what another run had, shows.
#ifndef RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_CHAIN_H_
#define RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_CHAIN_H_

#include <stdint.h>

#include <vector>

#include "model.h"

// What the next runs do: launches of a segment, and segments with a copy to the host and back
// between.
inline int launches = 5, segments = 1;
inline int32_t first_block = 7;

// Every launch adds 1 + N: x, at byte 128 of the arena, becomes y behind it, and y becomes x.
inline Status Launches(const rules_dnn::Ctx* c) {
  const int64_t n = c->sym[0], at[] = {32, 32 + n};
  int k = 0;
  for (int segment = 0; segment < segments; ++segment) {
    if (segment > 0) {
      std::vector<float> there(static_cast<size_t>(n));
      const dnn_arg place = {dnn_kind::kArena, 4 * at[k % 2]};
      Status s = dnn_from_device(c, there.data(), place, 4 * n);
      for (float& x : there) x += 100;
      if (s == Status::kOk) s = dnn_to_device(c, place, there.data(), 4 * n);
      if (s != Status::kOk) return dnn_refuse(c, s, "between");
    }
    for (int i = 0; i < launches; ++i, ++k) {
      const dnn_arg args[] = {{dnn_kind::kArena, at[(k + 1) % 2]},
                              {dnn_kind::kArena, at[k % 2]},
                              {dnn_kind::kWeights, 0},
                              {dnn_kind::kSymbol, n},
                              {dnn_kind::kFlag, 1}};
      const int64_t global[] = {(n + 63) / 64 * 64, 1, 1}, local[] = {64, 1, 1};
      const Status s = dnn_launch(c, first_block + k, 0, args, 5, global, local);
      if (s != Status::kOk) return dnn_refuse(c, s, "Add (the node)");
    }
  }
  return Status::kOk;
}

inline Status Chain(const rules_dnn::Ctx* c) {
  const int64_t n = c->sym[0], end = launches * segments % 2 == 0 ? 32 : 32 + n;
  Status s = dnn_input_to_device(c, {dnn_kind::kArena, 128}, 0, 0, 4 * n);
  if (s == Status::kOk) s = Launches(c);
  if (s != Status::kOk) return s;
  s = dnn_device_to_output(c, 0, 0, {dnn_kind::kArena, 4 * end}, 4 * n);
  return s == Status::kOk ? s : dnn_refuse(c, s, "y");
}

inline float Want(float x, int64_t n) {
  for (int segment = 0; segment < segments; ++segment) {
    if (segment > 0) x += 100;
    for (int i = 0; i < launches; ++i) x += 1 + static_cast<float>(n);
  }
  return x;
}

#endif  // RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_CHAIN_H_
