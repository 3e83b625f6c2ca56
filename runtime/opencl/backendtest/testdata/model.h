// A model for the fake OpenCL library, and an application with its own memory and queue. Each
// driver is one source file.
#ifndef RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_MODEL_H_
#define RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_MODEL_H_

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "runtime/dnn_device.h"
#include "runtime/opencl/backend.h"
#include "runtime/opencl/loader.h"
#include "runtime/testing/driver.h"

using rules_dnn::Status;
namespace cl = rules_dnn::opencl;

constexpr char kSource[] = "the kernels";
constexpr const char* kKernels[] = {"add"};
constexpr const char* kNeeds[] = {"cl_khr_fp64"};
constexpr const char* kFlags[] = {"Other (unused)", "Add (the node)"};
constexpr uint8_t kNo[] = {0}, kYes[] = {1};
constexpr rules_dnn::ImageInfo kImages[] = {{{1, 0, 0, -1}, {0, 3, -1, -1}}};
constexpr rules_dnn::DeviceInfo kDevice = {&cl::kBackend,
                                           kSource,
                                           sizeof(kSource) - 1,
                                           kKernels,
                                           1,
                                           kNeeds,
                                           1,
                                           4,
                                           64,
                                           {8, 256, 0, -1},
                                           {0, 64, -1, -1},
                                           8,
                                           64,
                                           4,
                                           kImages,
                                           1,
                                           kFlags,
                                           2,
                                           kNo,
                                           kNo};

struct alignas(64) Weights {
  uint8_t others[64];
  float w;
};
constexpr Weights kWeights = {{}, 1};
constexpr rules_dnn::SymbolInfo kSymbols[] = {{"N", 0, 1000000, false, {}}};
constexpr rules_dnn::Dim kDims[] = {{{1, 0, 0, -1}, "N"}};
constexpr rules_dnn::TensorInfo kInputs[] = {{"x", "f32", 4, 1, kDims}};
constexpr rules_dnn::TensorInfo kOutputs[] = {{"y", "f32", 4, 1, kDims}};

// y is in the arena from byte 128 + 4 * N on, x from 128 on.
inline Status Compute(const rules_dnn::Ctx* c) {
  const int64_t n = c->sym[0];
  const dnn_arg args[] = {{dnn_kind::kArena, 32 + n},
                          {dnn_kind::kArena, 32},
                          {dnn_kind::kWeights, 0},
                          {dnn_kind::kSymbol, n},
                          {dnn_kind::kFlag, 1}};
  const int64_t global[] = {(n + 63) / 64 * 64, 1, 1}, local[] = {64, 1, 1};
  const Status s = dnn_launch(c, 7, 0, args, 5, global, local);
  return s == Status::kOk ? s : dnn_refuse(c, s, "Add (the node)");
}

inline Status AddOnce(const rules_dnn::Ctx* c) {
  const int64_t n = c->sym[0];
  Status s = dnn_input_to_device(c, {dnn_kind::kArena, 128}, 0, 0, 4 * n);
  if (s != Status::kOk) return dnn_refuse(c, s, "x");
  s = Compute(c);
  if (s != Status::kOk) return s;
  s = dnn_device_to_output(c, 0, 0, {dnn_kind::kArena, 128 + 4 * n}, 4 * n);
  return s == Status::kOk ? s : dnn_refuse(c, s, "y");
}

inline const rules_dnn::VariantInfo kVariants[] = {{"any", nullptr, 0}};

inline const rules_dnn::Description kDescription = {"fake",
                                                    "test",
                                                    1,
                                                    1,
                                                    kSymbols,
                                                    0,
                                                    nullptr,
                                                    1,
                                                    kInputs,
                                                    1,
                                                    kOutputs,
                                                    nullptr,
                                                    0,
                                                    {0, 0, -1, -1},
                                                    kWeights.others,
                                                    68,
                                                    nullptr,
                                                    nullptr,
                                                    AddOnce,
                                                    kVariants,
                                                    1,
                                                    &kDevice};

// The fake library's own functions.
inline void (*fail)(const char*, int, int);
inline int (*count)(const char*);
inline int (*alive)();

inline rules_dnn::DeviceOptions Options() { return CountedOptions<rules_dnn::DeviceOptions>(); }

inline void Clean() {
  CHECK(alive() == 0);
  CHECK(taken == 0);
}

// An application's objects on the first device.
struct Application {
  cl::Api api;
  cl::Context context, other;
  cl::Queue queue;
  cl::Memory x, y;

  Application() {
    const char* error = nullptr;
    CHECK(cl::Load(&api, &error));
    cl::Platform platforms[2];
    cl::Uint n = 0;
    cl::Device device;
    api.GetPlatformIDs(2, platforms, &n);
    api.GetDeviceIDs(platforms[0], cl::kAllDevices, 1, &device, &n);
    context = api.CreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    other = api.CreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = api.CreateCommandQueue(context, device, 0, nullptr);
    x = api.CreateBuffer(context, 1, 64, nullptr, nullptr);
    y = api.CreateBuffer(context, 1, 128, nullptr, nullptr);
  }
  ~Application() {
    for (const cl::Memory m : {x, y}) api.ReleaseMemObject(m);
    api.ReleaseCommandQueue(queue);
    api.ReleaseContext(context);
    api.ReleaseContext(other);
  }
};

using rules_dnn::Buffer;
using rules_dnn::Events;

// Five elements at byte 8 of x become five at byte 16 of y.
inline void Fill(const Application& a, float first) {
  const float x[] = {first, 1, 2, 3, 4}, y[32] = {};
  a.api.EnqueueWriteBuffer(a.queue, a.x, 1, 8, sizeof(x), x, 0, nullptr, nullptr);
  a.api.EnqueueWriteBuffer(a.queue, a.y, 1, 0, sizeof(y), y, 0, nullptr, nullptr);
}

// Looks up the fake library's functions.
inline void LookAtFake() {
  void* const fake = dlopen("libOpenCL.so.1", RTLD_NOW);
  CHECK(fake != nullptr);
  Look(fake, "fake_fail", &fail);
  Look(fake, "fake_calls", &count);
  Look(fake, "fake_alive", &alive);
}

#endif  // RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_MODEL_H_
