// A network of many launches. Each adds to the result of the previous one in place, so that a
// launch that runs twice or uses another run's data is detected.
#ifndef RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_CHAIN_H_
#define RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_CHAIN_H_

#include <stdint.h>

#include <vector>

#include "model.h"
#include "runtime/opencl/replay.h"

// The shape of the next runs: launches of a segment, and segments separated by a copy to the host
// and back, or only to the device. idle_items adds work-items beyond the elements.
inline int launches = 5, segments = 1;
inline bool overwrites = false;
inline int64_t idle_items = 0;
inline int32_t first_block = 7;

// Every launch adds 1 + N. x is at byte 128 of the arena and y behind it; they swap roles after
// each launch.
inline Status Launches(const rules_dnn::Ctx* c) {
  const int64_t n = c->sym[0], at[] = {32, 32 + n};
  int k = 0;
  for (int segment = 0; segment < segments; ++segment) {
    if (segment > 0) {
      std::vector<float> there(static_cast<size_t>(n));
      const dnn_arg place = {dnn_kind::kArena, 4 * at[k % 2]};
      Status s = Status::kOk;
      if (!overwrites) s = dnn_from_device(c, there.data(), place, 4 * n);
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
      const int64_t global[] = {(n + 63) / 64 * 64 + idle_items, 1, 1}, local[] = {64, 1, 1};
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
    if (segment > 0) x = overwrites ? 100 : x + 100;
    for (int i = 0; i < launches; ++i) x += 1 + static_cast<float>(n);
  }
  return x;
}

constexpr int kPatience = cl::kPatience;

// The device without an image, which would be reallocated for other dimensions.
inline rules_dnn::DeviceInfo Imageless() {
  rules_dnn::DeviceInfo info = kDevice;
  info.image_count = 0;
  return info;
}
inline const rules_dnn::DeviceInfo kImageless = Imageless();
inline rules_dnn::Description ChainOf() {
  rules_dnn::Description d = kDescription;
  d.program = Chain;
  d.device = &kImageless;
  return d;
}
inline const rules_dnn::Description kChain = ChainOf();

inline rules_dnn::DeviceOptions Always() {
  rules_dnn::DeviceOptions o = Options();
  o.command_buffers = 1;
  return o;
}

// A model and one context of it.
struct Life {
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* context = nullptr;

  explicit Life(const rules_dnn::DeviceOptions& o) {
    fail("", 0, 0);
    CHECK(CreateModel(&kChain, o, &model) == Status::kOk);
    CHECK(rules_dnn::ContextCreate(model, &context) == Status::kOk);
  }
  ~Life() {
    rules_dnn::ContextDestroy(context);
    rules_dnn::ModelDestroy(model);
  }

  Status Run(int64_t n = 5, float first = 2) {
    std::vector<float> x(static_cast<size_t>(n), 2), y(static_cast<size_t>(n), 0);
    if (n > 0) x[0] = first;
    const void* in[] = {x.data()};
    void* out[] = {y.data()};
    const Status s = rules_dnn::Run(context, &n, in, out);
    rules_dnn::ExplainRun(context, words, sizeof(words));
    for (size_t i = 0; i < y.size() && s == Status::kOk; ++i) CHECK(y[i] == Want(x[i], n));
    return s;
  }

  // Checks the numbers of launches and replays of a successful run.
  void Expect(int launched, int replayed, int64_t n = 5) {
    fail("", 0, 0);
    CHECK(Run(n) == Status::kOk);
    CHECK(count("clEnqueueNDRangeKernel") == launched);
    CHECK(count("clEnqueueCommandBufferKHR") == replayed);
  }
};

#endif  // RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_CHAIN_H_
