// Runs the network on OpenCL in an application that uses OpenCL itself: its own context, queue,
// memory and events; threads, several models, and repeated creation of models. Without an OpenCL
// device it tests nothing.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "app/classifier.h"
#include "app/expected.h"
#include "app/model_opencl.h"
#include "runtime/opencl/loader.h"

namespace {

namespace cl = rules_dnn::opencl;

using app::Expected;
using app::kInput;
using app::message;

std::vector<float> Images(size_t count, int seed) {
  std::vector<float> x(count * kInput);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((i * 7919 + static_cast<size_t>(seed) * 104729) % 1009) / 504 - 1;
  }
  return x;
}

bool Near(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::fabs(a[i] - b[i]) <= 1e-4f)) return false;
  }
  return a.size() == b.size();
}

app_model_opencl::Options Options(const char* cache) {
  app_model_opencl::Options o = {};
  o.size = sizeof(o);
  o.cache = cache;
  o.message = message;
  o.message_bytes = sizeof(message);
  return o;
}

// Runs the network on images; returns all logits.
std::vector<float> RunOn(app_model_opencl::Context* context, const std::vector<float>& x) {
  std::vector<float> y(x.size() / kInput * app::kClasses, NAN);
  const app_model_opencl::Dims dims = {static_cast<int64_t>(x.size() / kInput)};
  const app_model_opencl::Status status = context->Run(dims, x.data(), y.data());
  context->Explain(message, sizeof(message));
  CHECK(status == app_model_opencl_OK);
  return y;
}

// Inputs and outputs in the application's memory, ordered before and after its own commands.
void TestOwnMemory(const char* cache) {
  cl::Api api;
  const char* error = nullptr;
  CHECK(cl::Load(&api, &error));
  cl::Platform platform;
  cl::Device device;
  cl::Uint n = 0;
  CHECK(api.GetPlatformIDs(1, &platform, &n) == 0);
  CHECK(api.GetDeviceIDs(platform, cl::kAllDevices, 1, &device, &n) == 0);
  cl::Int code = 0;
  const cl::Context context = api.CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  const cl::Queue queue = api.CreateCommandQueue(context, device, 0, &code);
  const std::vector<float> images = Images(4, 3), want = Expected(images);
  const size_t in_bytes = images.size() * sizeof(float), out_bytes = want.size() * sizeof(float);
  const cl::Memory x = api.CreateBuffer(context, 1, in_bytes + 64, nullptr, &code);
  const cl::Memory y = api.CreateBuffer(context, 1, out_bytes + 64, nullptr, &code);
  CHECK(code == 0);
  app_model_opencl::Options o = Options(cache);
  o.context = context;
  app_model_opencl::Model model;
  app_model_opencl::Context run;
  CHECK(model.Create(&o) == app_model_opencl_OK && run.Create(model) == app_model_opencl_OK);

  // The application's queue writes the input and reads the result.
  cl::Event arrived = nullptr;
  CHECK(api.EnqueueWriteBuffer(queue, x, 0, 64, in_bytes, images.data(), 0, nullptr, &arrived) ==
        0);
  void* const wait[] = {arrived};
  void* done = nullptr;
  const app_model_opencl::Events events = {1, wait, &done};
  const app_model_opencl::Buffer in = {x, 64, nullptr}, out = {y, 32, nullptr};
  const app_model_opencl::Dims dims = {4};
  CHECK(run.Start(dims, &in, &out, &events) == app_model_opencl_OK && done != nullptr);
  std::vector<float> got(want.size(), NAN);
  const cl::Event ended = static_cast<cl::Event>(done);
  CHECK(api.EnqueueReadBuffer(queue, y, 1, 32, out_bytes, got.data(), 1, &ended, nullptr) == 0);
  CHECK(Near(got, want));
  CHECK(run.Wait() == app_model_opencl_OK);
  api.ReleaseEvent(ended);
  api.ReleaseEvent(arrived);

  // Several pending runs of one context execute in order.
  for (int i = 0; i < 3; ++i) CHECK(run.Start(dims, &in, &out) == app_model_opencl_OK);
  CHECK(run.Wait() == app_model_opencl_OK && Near(RunOn(&run, images), want));

  // Memory that is too small, and memory of another context.
  const app_model_opencl::Buffer beyond = {y, 128, nullptr};
  CHECK(run.Start(dims, &in, &beyond) == app_model_opencl_BUFFER_SIZE);
  const cl::Context other = api.CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  const cl::Memory theirs = api.CreateBuffer(other, 1, in_bytes, nullptr, &code);
  const app_model_opencl::Buffer foreign = {theirs, 0, nullptr};
  CHECK(run.Start(dims, &foreign, &out) == app_model_opencl_FOREIGN);
  for (const cl::Memory m : {x, y, theirs}) api.ReleaseMemObject(m);
  api.ReleaseCommandQueue(queue);
  api.ReleaseContext(other);
  api.ReleaseContext(context);
}

// One model with a context for each thread: weights and kernels are shared, and each context
// records its launches.
void TestThreads(const char* cache) {
  app_model_opencl::Model model;
  app_model_opencl::Options o = Options(cache);
  o.command_buffers = 1;
  CHECK(model.Create(&o) == app_model_opencl_OK);
  std::vector<float> images[2], want[2], got[2];
  app_model_opencl::Context contexts[2];
  for (int i = 0; i < 2; ++i) {
    images[i] = Images(static_cast<size_t>(i) + 1, i);
    want[i] = Expected(images[i]);
    CHECK(contexts[i].Create(model) == app_model_opencl_OK);
  }
  model = app_model_opencl::Model();  // the contexts keep it alive
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) {
        got[i].assign(want[i].size(), NAN);
        const app_model_opencl::Dims dims = {i + 1};
        if (contexts[i].Run(dims, images[i].data(), got[i].data()) != app_model_opencl_OK) return;
        if (!Near(got[i], want[i])) return;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < 2; ++i) CHECK(Near(got[i], want[i]));
}

// Returns the resident kilobytes of the process.
int64_t Resident() {
  std::FILE* const f = std::fopen("/proc/self/statm", "r");
  long long size = 0, pages = 0;
  if (f == nullptr) return 0;
  if (std::fscanf(f, "%lld %lld", &size, &pages) != 2) pages = 0;
  std::fclose(f);
  return int64_t{pages} * 4;
}

// Two models in one process, created and destroyed repeatedly with running contexts: a thousand
// contexts, and a tenth as many models. Memory that the driver keeps from the first ones does not
// count as growth.
void TestComeAndGo(const char* cache) {
  const std::vector<float> images = Images(1, 5), want = Expected(images);
  app_model_opencl::Model kept;
  const app_model_opencl::Options o = Options(cache);
  CHECK(kept.Create(&o) == app_model_opencl_OK);
  int64_t begin = 0;
  for (int i = 0; i < 1000; ++i) {
    app_model_opencl::Context context;
    CHECK(context.Create(kept) == app_model_opencl_OK);
    CHECK(Near(RunOn(&context, images), want));
    if (i % 10 == 0) {
      app_model_opencl::Model model;
      CHECK(model.Create(&o) == app_model_opencl_OK);
      CHECK(context.Create(model) == app_model_opencl_OK);
      CHECK(Near(RunOn(&context, images), want));
    }
    if (i == 200) begin = Resident();
  }
  const int64_t end = Resident();
  std::printf("memory: %lld KB after 200 contexts, %lld KB after 1000\n",
              static_cast<long long>(begin), static_cast<long long>(end));
  CHECK(end - begin < 16 * 1024);
}

// Recorded launches return the same bytes as separate launches, for dimensions that change
// sometimes or in each run. Neither replays nor new records leak memory. If the driver does not
// record, separate launches are compared.
void TestCommandBuffers(const char* cache) {
  app_model_opencl::Model models[2];
  app_model_opencl::Context contexts[2];
  for (int i = 0; i < 2; ++i) {
    app_model_opencl::Options o = Options(cache);
    o.command_buffers = i == 0 ? -1 : 1;
    CHECK(models[i].Create(&o) == app_model_opencl_OK);
    CHECK(contexts[i].Create(models[i]) == app_model_opencl_OK);
  }
  const std::vector<float> images[] = {Images(1, 7), Images(2, 8), Images(3, 9)};
  const std::vector<float> want[] = {RunOn(&contexts[0], images[0]), RunOn(&contexts[0], images[1]),
                                     RunOn(&contexts[0], images[2])};
  CHECK(Near(want[1], Expected(images[1])));
  int64_t begin = 0;
  for (int i = 0; i < 1300; ++i) {
    const int which = i < 150 ? i / 50 : i < 300 ? i % 3 : 0;
    const std::vector<float> got = RunOn(&contexts[1], images[which]);
    CHECK(std::memcmp(got.data(), want[which].data(), got.size() * sizeof(float)) == 0);
    if (i == 400) begin = Resident();
  }
  const int64_t replayed = Resident();
  // Each context records launches, and releases its records.
  for (int i = 0; i < 40; ++i) {
    app_model_opencl::Context context;
    CHECK(context.Create(models[1]) == app_model_opencl_OK);
    for (int k = 0; k < 12; ++k) {
      const std::vector<float> got = RunOn(&context, images[0]);
      CHECK(std::memcmp(got.data(), want[0].data(), got.size() * sizeof(float)) == 0);
    }
  }
  const int64_t end = Resident();
  std::printf(
      "memory: %lld KB after 400 runs, %lld KB after 1300, %lld KB after 40 contexts more\n",
      static_cast<long long>(begin), static_cast<long long>(replayed), static_cast<long long>(end));
  CHECK(replayed - begin < 4 * 1024 && end - begin < 16 * 1024);
}

}  // namespace

int main() {
  app::Settings settings;
  settings.backend = app::Backend::kOpenCl;
  app::Classifier probe;
  const std::string error = probe.Create(settings);
  if (probe.without_device()) {
    std::printf("nothing to test: %s\n", error.c_str());
    return 0;
  }
  CHECK(error.empty());
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string cache = std::string(folder == nullptr ? "/tmp" : folder) + "/kernels";
  TestOwnMemory(cache.c_str());
  TestThreads(cache.c_str());
  TestCommandBuffers(cache.c_str());
  TestComeAndGo(cache.c_str());
  std::printf("all checks passed\n");
  return 0;
}
