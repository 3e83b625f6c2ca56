// Runs a model of one launch with the fake OpenCL library, and makes each OpenCL call fail.
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model.h"

namespace {

// A program whose input and output the processor reads and writes, too.
Status HostProgram(const rules_dnn::Ctx* c) {
  const int64_t n = c->sym[0];
  Status s = dnn_to_device(c, {dnn_kind::kArena, 128}, c->in[0], 4 * n);
  if (s == Status::kOk) s = Compute(c);
  if (s == Status::kOk) {
    s = dnn_from_device(c, c->out[0], {dnn_kind::kArena, 128 + 4 * n}, 4 * n);
  }
  for (int64_t i = 0; i < n && s == Status::kOk; ++i) static_cast<float*>(c->out[0])[i] += 0;
  return s;
}

Status Create(const rules_dnn::DeviceOptions& o, rules_dnn::Model** model) {
  return CreateModel(&kDescription, o, model);
}

// Runs once with N elements, and checks the result if it succeeds.
Status RunOnce(rules_dnn::Context* context, int64_t n, float first) {
  std::vector<float> x(static_cast<size_t>(n), 2), y(static_cast<size_t>(n), 0);
  if (n > 0) x[0] = first;
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  const Status s = rules_dnn::Run(context, &n, in, out);
  rules_dnn::ExplainRun(context, words, sizeof(words));
  if (s == Status::kOk) {
    for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == x[i] + 1 + static_cast<float>(n));
  }
  return s;
}

struct Expected {
  const char* function;
  int code;
  Status status;
};

// Creates, runs and destroys a model; returns the first failure.
Status Scenario(const rules_dnn::DeviceOptions& o) {
  rules_dnn::Model* model = nullptr;
  Status s = Create(o, &model);
  if (s != Status::kOk) {
    CHECK(model == nullptr);
    return s;
  }
  rules_dnn::Context *a = nullptr, *b = nullptr;
  CHECK(rules_dnn::ContextCreate(model, &a) == Status::kOk);
  CHECK(rules_dnn::ContextCreate(model, &b) == Status::kOk);
  rules_dnn::ModelDestroy(model);
  for (const int64_t n : {3, 70, 3, 0, 100}) {
    for (rules_dnn::Context* c : {a, b}) {
      if (s == Status::kOk) s = RunOnce(c, n, 2);
    }
  }
  rules_dnn::ContextDestroy(a);
  rules_dnn::ContextDestroy(b);
  return s;
}

// Makes every call of every function fail once, with each code that drivers return there.
void TestFailures() {
  const Expected all[] = {
      {"clGetPlatformIDs", -1001, Status::kNoDevice},
      {"clCreateContext", -2, Status::kDeviceLost},
      {"clCreateContext", -5, Status::kDeviceResources},
      {"clCreateCommandQueue", -6, Status::kOutOfMemory},
      {"clCreateProgramWithSource", -5, Status::kDeviceResources},
      {"clBuildProgram", -11, Status::kBuildFailed},
      {"clBuildProgram", -3, Status::kUnsupportedDevice},
      {"clCreateKernel", -46, Status::kBuildFailed},
      {"clCreateKernel", -5, Status::kDeviceResources},
      {"clGetKernelInfo", -5, Status::kDeviceResources},
      {"clCreateBuffer", -4, Status::kDeviceMemory},
      {"clCreateBuffer", -61, Status::kDeviceMemory},
      {"clCreateImage", -4, Status::kDeviceMemory},
      {"clSetKernelArg", -38, Status::kDeviceFailed},
      {"clEnqueueNDRangeKernel", -5, Status::kDeviceResources},
      {"clEnqueueNDRangeKernel", -54, Status::kDeviceResources},
      {"clEnqueueNDRangeKernel", -4, Status::kDeviceMemory},
      {"clEnqueueNDRangeKernel", -36, Status::kDeviceLost},
      {"clEnqueueWriteBuffer", -5, Status::kDeviceResources},
      {"clEnqueueReadBuffer", -14, Status::kDeviceLost},
      {"clEnqueueReadBuffer", -9999, Status::kDeviceLost},
      {"clEnqueueReadBuffer", -36, Status::kDeviceLost},
  };
  for (const Expected& e : all) {
    fail("", 0, 0);
    CHECK(Scenario(Options()) == Status::kOk);
    Clean();
    const int calls = count(e.function);
    CHECK(calls > 0);
    for (int n = 1; n <= calls; ++n) {
      fail(e.function, n, e.code);
      CHECK(Scenario(Options()) == e.status);
      const char* const said = words[0] != 0 ? words : message;
      if (e.status >= Status::kNoOpenCl) {
        CHECK(strstr(said, e.function) != nullptr);
        CHECK(strstr(said, ("(" + std::to_string(e.code) + ")").c_str()) != nullptr);
      }
      if (e.status == Status::kBuildFailed && strcmp(e.function, "clBuildProgram") == 0) {
        CHECK(strstr(said, "line 7: no such thing") != nullptr);
      }
      Clean();
    }
  }
  fail("clGetDeviceInfo", 0, -5);  // for each call: no information about any device
  CHECK(Scenario(Options()) != Status::kOk);
  Clean();
  fail("", 0, 0);
}

// The message is a valid string after any failure.
void TestMessage() {
  rules_dnn::DeviceOptions o = Options();
  o.host.variant = "none";
  rules_dnn::Model* model = nullptr;
  strcpy(message, "of the last time");
  CHECK(rules_dnn::ModelCreate(&kDescription, &o.host, &model) == Status::kUnknownVariant);
  CHECK(message[0] == 0);
  rules_dnn::Description without = kDescription;
  without.device = nullptr;
  o = Options();
  CHECK(rules_dnn::ModelCreate(&without, &o.host, &model) == Status::kBadOptions);
  o.message = nullptr;
  o.message_bytes = 0;
  CHECK(rules_dnn::ModelCreate(&without, &o.host, &model) == Status::kOk);
  rules_dnn::ModelDestroy(model);
  o.cache = "x";
  CHECK(rules_dnn::ModelCreate(&without, &o.host, &model) == Status::kBadOptions);
  Clean();
}

// A context that failed for lack of memory runs again when memory is available.
void TestRecovers() {
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* context = nullptr;
  CHECK(Create(Options(), &model) == Status::kOk);
  CHECK(rules_dnn::ContextCreate(model, &context) == Status::kOk);
  for (const char* f :
       {"clCreateCommandQueue", "clCreateKernel", "clCreateBuffer", "clCreateImage"}) {
    fail(f, 1, -4);
    const int64_t n = 1000 + static_cast<int64_t>(strlen(f)) * 1000;
    const Status s = RunOnce(context, n, 1);
    CHECK(s == Status::kOk || s == Status::kDeviceMemory);
    fail("", 0, 0);
    CHECK(RunOnce(context, n, 1) == Status::kOk);
  }
  rules_dnn::ContextDestroy(context);
  rules_dnn::ModelDestroy(model);
  Clean();
}

// The kernel that rejects a value is named, and the next run is not affected.
void TestRefuses() {
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* context = nullptr;
  CHECK(Create(Options(), &model) == Status::kOk);
  CHECK(rules_dnn::ContextCreate(model, &context) == Status::kOk);
  CHECK(RunOnce(context, 5, -1) == Status::kBadValue);
  CHECK(strstr(words, "Add (the node)") != nullptr);
  CHECK(RunOnce(context, 5, 1) == Status::kOk);
  fail("clEnqueueReadBuffer", 2, -36);  // the read of the flags
  CHECK(RunOnce(context, 5, -1) == Status::kDeviceLost);
  fail("", 0, 0);
  rules_dnn::ContextDestroy(context);
  rules_dnn::ModelDestroy(model);
  Clean();
}

// Two contexts share the weights and the program of one model.
void TestShares() {
  fail("", 0, 0);
  CHECK(Scenario(Options()) == Status::kOk);
  CHECK(count("clCreateKernel") == 2 && count("clCreateCommandQueue") == 2);  // one each
  CHECK(count("weights") == 1 && count("clBuildProgram") == 1);
  Clean();
}

// The kernels use a driver's extension if the driver compiles the probe for it. The probe is
// compiled once, and not if the compiled kernels are cached.
void TestProbe(const std::string& folder) {
  rules_dnn::DeviceInfo info = kDevice;
  info.probe = "the probe";
  info.probed = "MORE";
  rules_dnn::Description d = kDescription;
  d.device = &info;
  const auto create = [&d](const std::string& cache, int builds, int defined) {
    rules_dnn::DeviceOptions o = Options();
    if (!cache.empty()) o.cache = cache.c_str();
    rules_dnn::Model* model = nullptr;
    CHECK(CreateModel(&d, o, &model) == Status::kOk);
    CHECK(count("clBuildProgram") == builds && count("defined") == defined);
    rules_dnn::ModelDestroy(model);
    Clean();
  };
  fail("", 0, 0);
  create("", 2, 1);
  for (const char* f : {"clBuildProgram", "clCreateProgramWithSource"}) {
    const bool asked = strcmp(f, "clBuildProgram") == 0;
    fail(f, 1, -11);
    create("", asked ? 2 : 1, 0);
  }
  const std::string cache = folder + "/probed";
  fail("", 0, 0);
  create(cache, 2, 1);
  fail("", 0, 0);
  create(cache, 1, 0);
  fail("clBuildProgram", 2, -11);  // the kernels themselves
  rules_dnn::Model* model = nullptr;
  CHECK(CreateModel(&d, Options(), &model) == Status::kBuildFailed);
  Clean();
}

// A run with known dims allocates nothing.
void TestAllocatesNothing() {
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* context = nullptr;
  CHECK(Create(Options(), &model) == Status::kOk);
  CHECK(rules_dnn::ContextCreate(model, &context) == Status::kOk);
  int64_t n = 9;
  CHECK(rules_dnn::Reserve(context, &n) == Status::kOk);
  fail("", 0, 0);
  const int before = alive();
  const int64_t host = taken;
  for (int i = 0; i < 5; ++i) CHECK(RunOnce(context, 9, 1) == Status::kOk);
  CHECK(alive() == before && taken == host);
  CHECK(count("clCreateBuffer") == 0 && count("clCreateImage") == 0 &&
        count("clCreateKernel") == 0);
  rules_dnn::ContextDestroy(context);
  rules_dnn::ModelDestroy(model);
  for (int i = 0; i < 1000; ++i) CHECK(Scenario(Options()) == Status::kOk);
  Clean();
}

Status With(const char* platform, const char* device) {
  rules_dnn::DeviceOptions o = Options();
  o.platform = platform;
  o.device = device;
  const Status s = Scenario(o);
  Clean();
  return s;
}

void TestChoice() {
  CHECK(With("1", nullptr) == Status::kOk);
  CHECK(With("Two", "GPU") == Status::kOk);
  CHECK(With("Fake One", "0") == Status::kOk);
  CHECK(With(nullptr, "slow") == Status::kOk);
  CHECK(With("1", "0") == Status::kOk && With("", "") == Status::kOk);
  CHECK(With("7", nullptr) == Status::kNoDevice);
  CHECK(With("", "1") == Status::kNoDevice);  // a number selects among its platform's devices
  CHECK(strstr(message, "(platform: any, device: 1)") != nullptr);
  CHECK(With("One", "GPU") == Status::kNoDevice);
  CHECK(strstr(message, "platform 1 \"Fake Two\" with device 0 \"fast GPU\"") != nullptr);
  setenv("FAKE_PLATFORMS", "0", 1);
  CHECK(With(nullptr, nullptr) == Status::kNoDevice);
  unsetenv("FAKE_PLATFORMS");
  setenv("FAKE_EXTENSIONS", "cl_khr_fp64_not", 1);
  CHECK(With(nullptr, nullptr) == Status::kUnsupportedDevice);
  CHECK(strcmp(message, "fast GPU has no cl_khr_fp64") == 0);
  unsetenv("FAKE_EXTENSIONS");
  setenv("FAKE_GROUP", "32", 1);
  CHECK(With(nullptr, nullptr) == Status::kUnsupportedDevice);
  unsetenv("FAKE_GROUP");
  setenv("FAKE_IMAGES", "0", 1);
  CHECK(With(nullptr, nullptr) == Status::kUnsupportedDevice);
  unsetenv("FAKE_IMAGES");
  rules_dnn::DeviceOptions o = Options();
  o.message_bytes = 5;  // text beyond the capacity is dropped
  o.platform = "7";
  CHECK(Scenario(o) == Status::kNoDevice && strcmp(message, "no d") == 0);
  Clean();
}

// The application's own context and queue.
void TestOwn() {
  {
    const Application a;
    const int before = alive();
    rules_dnn::DeviceOptions o = Options();
    o.queue = a.queue;
    CHECK(Scenario(o) == Status::kBadOptions);
    o.context = a.other;
    CHECK(Scenario(o) == Status::kBadOptions && strstr(message, "another context") != nullptr);
    o.context = a.context;
    CHECK(Scenario(o) == Status::kOk);
    o.device = "GPU";
    CHECK(Scenario(o) == Status::kBadOptions && strstr(message, "another device") != nullptr);
    o.device = "1";
    CHECK(Scenario(o) == Status::kBadOptions && strstr(message, "another device") != nullptr);
    o.device = "0";  // among the context's devices
    CHECK(Scenario(o) == Status::kOk);
    fail("clGetContextInfo", 1, -34);
    CHECK(Scenario(o) == Status::kBadOptions);
    fail("", 0, 0);
    o.device = nullptr;
    setenv("FAKE_QUEUE", "out of order", 1);
    CHECK(Scenario(o) == Status::kBadOptions && strstr(message, "in-order") != nullptr);
    unsetenv("FAKE_QUEUE");
    o.queue = nullptr;
    CHECK(Scenario(o) == Status::kOk);
    o.device = "GPU";
    CHECK(Scenario(o) == Status::kNoDevice);
    o.device = nullptr;
    o.platform = "0";
    CHECK(Scenario(o) == Status::kBadOptions);
    o.platform = "";  // any
    CHECK(Scenario(o) == Status::kOk);
    o.platform = nullptr;
    for (const char* f : {"clRetainContext", "clGetContextInfo"}) {
      fail(f, 1, -34);
      CHECK(Scenario(o) != Status::kOk);
    }
    o.queue = a.queue;
    for (const char* f : {"clRetainCommandQueue", "clGetCommandQueueInfo"}) {
      for (int i = 1; i <= 3; ++i) {
        fail(f, i, -36);
        CHECK(Scenario(o) != Status::kOk);
      }
    }
    fail("", 0, 0);
    CHECK(alive() == before && taken == 0);
  }
  Clean();
}

// A model and one context of it in the application's OpenCL context.
struct Session {
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* context = nullptr;

  Session(const Application& a, const rules_dnn::Description* d) {
    rules_dnn::DeviceOptions o = Options();
    o.context = a.context;
    CHECK(rules_dnn::ModelCreate(d, &o.host, &model) == Status::kOk);
    CHECK(rules_dnn::ContextCreate(model, &context) == Status::kOk);
  }
  ~Session() {
    rules_dnn::ContextDestroy(context);
    rules_dnn::ModelDestroy(model);
  }

  Status Start(const Buffer& x, const Buffer& y, const Events* events = nullptr) {
    const int64_t n = 5;
    const Status s = rules_dnn::Start(context, &n, &x, &y, events);
    rules_dnn::ExplainRun(context, words, sizeof(words));
    return s;
  }

  Status Wait() {
    const Status s = rules_dnn::Wait(context);
    rules_dnn::ExplainRun(context, words, sizeof(words));
    return s;
  }
};

void CheckFilled(const Application& a) {
  float y[32];
  a.api.EnqueueReadBuffer(a.queue, a.y, 1, 0, sizeof(y), y, 0, nullptr, nullptr);
  for (int i = 0; i < 32; ++i) {
    CHECK(y[i] == (i < 4 || i >= 9 ? 0 : static_cast<float>(i - 4 + 6)));
  }
}

rules_dnn::Description Hosted(rules_dnn::DeviceInfo* info) {
  *info = kDevice;
  info->host_inputs = info->host_outputs = kYes;
  rules_dnn::Description d = kDescription;
  d.device = info;
  d.program = HostProgram;
  return d;
}

// Inputs and outputs in the device's memory, and events, with and without steps on the processor
// that access them.
void TestStart() {
  rules_dnn::DeviceInfo info;
  const rules_dnn::Description hosted = Hosted(&info);
  for (const rules_dnn::Description* d : {&kDescription, &hosted}) {
    const bool moves = d == &kDescription;
    Application a;
    Session s(a, d);
    const Buffer x = {a.x, 8, nullptr}, y = {a.y, 16, nullptr};
    Fill(a, 0);
    fail("", 0, 0);
    CHECK(s.Start(x, y) == Status::kOk);
    CHECK(count("clEnqueueCopyBuffer") == (moves ? 2 : 0));
    CHECK(count("clEnqueueReadBuffer") == (moves ? 0 : 2));
    CHECK(count("clFinish") == 0 && count("clFlush") == 1);  // everything is enqueued
    CheckFilled(a);
    CHECK(s.Wait() == Status::kOk && s.Wait() == Status::kOk);
    const int before = alive();
    const int64_t host = taken;
    void* done = nullptr;
    void* mine = nullptr;
    CHECK(a.api.EnqueueMarkerWithWaitList(a.queue, 0, nullptr,
                                          reinterpret_cast<cl::Event*>(&mine)) == 0);
    const Events events = {1, &mine, &done};
    Fill(a, 0);
    fail("", 0, 0);
    CHECK(s.Start(x, y, &events) == Status::kOk && done != nullptr);
    CHECK(count("clEnqueueBarrierWithWaitList") == 1 && count("clFlush") == 1);
    CheckFilled(a);
    a.api.ReleaseEvent(static_cast<cl::Event>(done));
    a.api.ReleaseEvent(static_cast<cl::Event>(mine));
    CHECK(alive() == before && taken == host);  // a run allocates nothing
    CHECK(s.Start(x, y, &events) == Status::kForeign && done == nullptr);  // the event was released
    // One of input and output is in host memory.
    std::vector<float> there(5, 1);
    const Buffer h = {nullptr, 0, there.data()};
    Fill(a, 0);
    CHECK(s.Start(x, h) == Status::kOk && there[4] == 4 + 1 + 5);
    CHECK(s.Start(h, y) == Status::kOk && s.Start(h, h) == Status::kOverlap);
    CHECK(RunOnce(s.context, 5, 2) == Status::kOk);
    // A value that the device rejects is reported later, once.
    Fill(a, -1);
    CHECK(s.Start(x, y) == Status::kOk && s.Start(x, y) == Status::kOk);
    CHECK(s.Wait() == Status::kBadValue && strstr(words, "Add (the node)") != nullptr);
    Fill(a, 0);
    CHECK(s.Start(x, y) == Status::kOk && s.Wait() == Status::kOk);
    Fill(a, -1);
    CHECK(s.Start(x, y) == Status::kOk);
    fail("clEnqueueWriteBuffer", 1, -6);  // the flags are not cleared yet
    CHECK(s.Wait() == Status::kOutOfMemory);
    fail("", 0, 0);
    Fill(a, 0);
    CHECK(s.Start(x, y) == Status::kOk && s.Wait() == Status::kOk);
    Fill(a, -1);
    CHECK(s.Start(x, y) == Status::kOk && RunOnce(s.context, 5, 2) == Status::kBadValue);
    CHECK(RunOnce(s.context, 5, 2) == Status::kOk);
  }
  Clean();
}

// Memory and events that a run must reject, with the name that the message begins with.
void TestForeign() {
  Application a;
  Session s(a, &kDescription);
  const cl::Memory foreign = a.api.CreateBuffer(a.other, 1, 64, nullptr, nullptr);
  cl::ImageDesc desc = {};
  desc.width = 8;
  const cl::Memory image = a.api.CreateImage(a.context, 1, nullptr, &desc, nullptr, nullptr);
  int none = 0;
  const Buffer x = {a.x, 8, nullptr}, y = {a.y, 16, nullptr};
  const struct {
    Buffer x, y;
    Status status;
    const char* said;
  } all[] = {
      {{foreign, 0, nullptr}, y, Status::kForeign, "input x: "},
      {x, {foreign, 0, nullptr}, Status::kForeign, "output y: "},
      {{image, 0, nullptr}, y, Status::kForeign, "not a buffer"},
      {{&none, 0, nullptr}, y, Status::kForeign, "clGetMemObjectInfo: CL_INVALID_MEM_OBJECT (-38)"},
      {{a.x, 48, nullptr}, y, Status::kBufferSize, "input x: "},
      {{a.x, 1000, nullptr}, y, Status::kBufferSize, "input x: "},
      {x, {a.y, 112, nullptr}, Status::kBufferSize, "output y: "},
      {{a.x, 2, nullptr}, y, Status::kMisaligned, "input x: "},
      {x, {a.x, 16, nullptr}, Status::kOverlap, "output y: "},
      {x, {a.x, 28, nullptr}, Status::kOk, ""},
      {{nullptr, 0, nullptr}, y, Status::kNullArgument, "input x: "},
  };
  for (const auto& c : all) {
    Fill(a, 0);
    CHECK(s.Start(c.x, c.y) == c.status);
    CHECK(strstr(words, c.said) != nullptr);
  }
  const int64_t n = 5;
  const Events list = {1, nullptr, nullptr}, negative = {-1, nullptr, nullptr};
  CHECK(s.Start(x, y, &list) == Status::kNullArgument);
  CHECK(s.Start(x, y, &negative) == Status::kBadOptions);
  CHECK(rules_dnn::Start(s.context, &n, nullptr, &y, nullptr) == Status::kNullArgument);
  CHECK(rules_dnn::Start(nullptr, &n, &x, &y, nullptr) == Status::kNullArgument);
  CHECK(rules_dnn::Wait(nullptr) == Status::kNullArgument);
  // A model with its own OpenCL context cannot use the application's memory.
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* own = nullptr;
  CHECK(Create(Options(), &model) == Status::kOk);
  CHECK(rules_dnn::ContextCreate(model, &own) == Status::kOk);
  CHECK(rules_dnn::Start(own, &n, &x, &y, nullptr) == Status::kForeign);
  rules_dnn::ContextDestroy(own);
  rules_dnn::ModelDestroy(model);
  for (const cl::Memory m : {foreign, image}) a.api.ReleaseMemObject(m);
}

// A rejected call ends nothing: Wait waits for earlier runs. It reports a value that the device
// rejected in these, not the buffers of the rejected call.
void TestWaitsForAll() {
  Application a;
  const Buffer x = {a.x, 8, nullptr}, y = {a.y, 16, nullptr}, odd = {a.y, 2, nullptr};
  const int64_t many = -1;
  for (const bool reserve : {false, true}) {
    const Status refused = reserve ? Status::kBadDims : Status::kMisaligned;
    Session s(a, &kDescription);
    const auto refuse = [&] {
      return reserve ? rules_dnn::Reserve(s.context, &many) : s.Start(x, odd);
    };
    Fill(a, 0);
    CHECK(s.Start(x, y) == Status::kOk && refuse() == refused);
    fail("", 0, 0);
    CHECK(s.Wait() == refused && count("clEnqueueReadBuffer") == 1);  // the read of the flags
    CHECK(s.Wait() == refused && count("clEnqueueReadBuffer") == 1);
    Fill(a, -1);
    CHECK(s.Start(x, y) == Status::kOk && refuse() == refused);
    CHECK(s.Wait() == Status::kBadValue && strncmp(words, "Add (the node): ", 16) == 0);
    Fill(a, -1);
    CHECK(s.Start(x, y) == Status::kOk && refuse() == refused);
    fail("clEnqueueReadBuffer", 1, -36);
    CHECK(s.Wait() == Status::kDeviceLost && strstr(words, "output") == nullptr);
    fail("", 0, 0);
  }
}

// Records the calls of a launch observer.
struct Seen {
  int launched = 0, took = 0;
  double ms = 0;

  static void Launched(void* self, const rules_dnn::Ctx* c, int32_t block) {
    CHECK(block == 7 && c->sym[0] == 5);
    ++static_cast<Seen*>(self)->launched;
  }
  static void Took(void* self, int32_t block, double ms) {
    CHECK(block == 7);
    ++static_cast<Seen*>(self)->took;
    static_cast<Seen*>(self)->ms += ms;
  }
};

// Times of kernels are reported when runs end, and kernels are timed only with an observer.
void TestClocks() {
  Application a;
  const Buffer x = {a.x, 8, nullptr}, y = {a.y, 16, nullptr};
  Seen seen;
  const rules_dnn::LaunchObserver both = {Seen::Launched, Seen::Took, &seen};
  const rules_dnn::LaunchObserver launches = {Seen::Launched, nullptr, &seen};
  {
    Session s(a, &kDescription);
    Fill(a, 0);
    CHECK(rules_dnn::ObserveLaunches(s.context, &launches) == Status::kOk);
    CHECK(RunOnce(s.context, 5, 1) == Status::kOk && seen.launched == 1 && seen.took == 0);
    CHECK(rules_dnn::ObserveLaunches(s.context, &both) == Status::kOk);
    CHECK(RunOnce(s.context, 5, 1) == Status::kOk && seen.took == 1 && seen.ms == 2);
    for (int i = 0; i < 600; ++i) CHECK(s.Start(x, y) == Status::kOk);  // more than kMostTimed
    CHECK(seen.took < 601);
    CHECK(s.Wait() == Status::kOk && seen.launched == 602 && seen.took == 601 && seen.ms == 1202);
    CHECK(s.Start(x, y) == Status::kOk);
    CHECK(rules_dnn::ObserveLaunches(s.context, nullptr) == Status::kOk && seen.took == 602);
    const int before = alive();
    CHECK(s.Start(x, y) == Status::kOk && RunOnce(s.context, 5, 1) == Status::kOk);
    CHECK(alive() == before && seen.launched == 603 && seen.took == 602);
    CHECK(rules_dnn::ObserveLaunches(s.context, &both) == Status::kOk);
    CHECK(s.Start(x, y) == Status::kOk);  // no Wait: the context releases the events
  }
  for (const char* f : {"clGetEventProfilingInfo", "clEnqueueNDRangeKernel", "clFinish"}) {
    Session s(a, &kDescription);
    CHECK(rules_dnn::ObserveLaunches(s.context, &both) == Status::kOk);
    fail(f, 0, -5);
    CHECK(RunOnce(s.context, 5, 1) == Status::kDeviceResources && strstr(words, f) != nullptr);
    fail("", 0, 0);
    CHECK(RunOnce(s.context, 5, 1) == Status::kOk);
  }
  {  // After it is removed, an observer is not called, even if a call fails.
    Session s(a, &kDescription);
    CHECK(rules_dnn::ObserveLaunches(s.context, &both) == Status::kOk);
    CHECK(s.Start(x, y) == Status::kOk);
    fail("clFinish", 0, -5);
    CHECK(rules_dnn::ObserveLaunches(s.context, nullptr) == Status::kDeviceResources);
    fail("", 0, 0);
    const Seen before = seen;
    CHECK(s.Wait() == Status::kOk);
    for (int i = 0; i < 300; ++i) CHECK(s.Start(x, y) == Status::kOk);
    CHECK(s.Wait() == Status::kOk && RunOnce(s.context, 5, 1) == Status::kOk);
    CHECK(seen.launched == before.launched && seen.took == before.took);
  }
  Session s(a, &kDescription);
  fail("clCreateCommandQueue", 2, -6);  // the timed queue
  CHECK(rules_dnn::ObserveLaunches(s.context, &both) == Status::kOutOfMemory);
  fail("", 0, 0);
  CHECK(RunOnce(s.context, 5, 1) == Status::kOk);
  CHECK(rules_dnn::ObserveLaunches(nullptr, &both) == Status::kNullArgument);
}

// Makes each driver call in a started run fail once.
void TestStartFails() {
  rules_dnn::DeviceInfo info;
  const rules_dnn::Description hosted = Hosted(&info);
  const Expected all[] = {
      {"clGetMemObjectInfo", -6, Status::kOutOfMemory},
      {"clEnqueueCopyBuffer", -5, Status::kDeviceResources},
      {"clEnqueueCopyBuffer", -36, Status::kDeviceLost},
      {"clEnqueueBarrierWithWaitList", -5, Status::kDeviceResources},
      {"clEnqueueBarrierWithWaitList", -34, Status::kForeign},
      {"clEnqueueMarkerWithWaitList", -5, Status::kDeviceResources},
      {"clFlush", -36, Status::kDeviceLost},
      {"clEnqueueReadBuffer", -5, Status::kDeviceResources},
      {"clEnqueueWriteBuffer", -4, Status::kDeviceMemory},
  };
  for (const rules_dnn::Description* d : {&kDescription, &hosted}) {
    Application a;
    void* mine = nullptr;
    a.api.EnqueueMarkerWithWaitList(a.queue, 0, nullptr, reinterpret_cast<cl::Event*>(&mine));
    const Buffer x = {a.x, 8, nullptr}, y = {a.y, 16, nullptr};
    for (const Expected& e : all) {
      for (int n = 1;; ++n) {
        Session s(a, d);
        Fill(a, 0);
        const int64_t five = 5;
        CHECK(rules_dnn::Reserve(s.context, &five) == Status::kOk);
        const int before = alive();
        void* done = nullptr;
        const Events events = {1, &mine, &done};
        fail(e.function, n, e.code);
        Status status = s.Start(x, y, &events);
        const bool failed = count(e.function) >= n;
        fail("", 0, 0);
        if (!failed) {
          CHECK(status == Status::kOk);
          a.api.ReleaseEvent(static_cast<cl::Event>(done));
          break;
        }
        CHECK(status == e.status && done == nullptr && alive() == before);
        CHECK(e.status < Status::kNoOpenCl || strstr(words, e.function) != nullptr);
        Fill(a, 0);
        CHECK(s.Start(x, y) == Status::kOk && s.Wait() == Status::kOk);
      }
    }
    a.api.ReleaseEvent(static_cast<cl::Event>(mine));
  }
  Clean();
}

std::vector<std::string> Entries(const std::string& folder) {
  std::vector<std::string> out;
  DIR* const d = opendir(folder.c_str());
  if (d == nullptr) return out;
  while (const dirent* e = readdir(d)) {
    if (e->d_name[0] != '.') out.push_back(folder + "/" + e->d_name);
  }
  closedir(d);
  return out;
}

std::string Contents(const std::string& path) {
  std::string s;
  FILE* const f = fopen(path.c_str(), "rb");
  CHECK(f != nullptr);
  for (int c; (c = fgetc(f)) != EOF;) s += static_cast<char>(c);
  fclose(f);
  return s;
}

void Put(const std::string& path, const std::string& text) {
  FILE* const f = fopen(path.c_str(), "wb");
  CHECK(f != nullptr && fwrite(text.data(), 1, text.size(), f) == text.size());
  fclose(f);
}

// Reports whether a model is created without the driver's compiler.
bool FromCache(const rules_dnn::DeviceOptions& o) {
  fail("", 0, 0);
  CHECK(Scenario(o) == Status::kOk);
  const bool built = count("clCreateProgramWithSource") > 0;
  CHECK(built || count("clCreateProgramWithBinary") == 1);
  Clean();
  return !built;
}

// The disk becomes full while an entry is written: the model is created, and no partial entry
// remains.
void TestFullDisk(const std::string& cache) {
  rules_dnn::DeviceOptions o = Options();
  o.cache = cache.c_str();
  rlimit before;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t room : {rlim_t{0}, rlim_t{10}, rlim_t{81}}) {
    const rlimit full = {room, before.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &full) == 0);
    const bool cached = FromCache(o);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(!cached && Entries(cache).empty());
  }
  CHECK(!FromCache(o) && FromCache(o));
}

void TestCache(const std::string& folder) {
  const std::string cache = folder + "/cache";
  rules_dnn::DeviceOptions o = Options();
  o.cache = cache.c_str();
  CHECK(!FromCache(o));
  CHECK(Entries(cache).size() == 1);
  const std::string path = Entries(cache)[0], whole = Contents(path);
  CHECK(path.rfind(".clbin") == path.size() - 6);
  CHECK(FromCache(o));
  for (size_t i = 0; i < whole.size(); ++i) {  // each byte damaged, and each truncated file
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    Put(path, bad);
    CHECK(!FromCache(o));
    CHECK(Contents(path) == whole);
    Put(path, whole.substr(0, i));
    CHECK(!FromCache(o));
    CHECK(Contents(path) == whole);
  }
  Put(path, whole + "x");
  CHECK(!FromCache(o) && FromCache(o));
  for (const char* f : {"clCreateProgramWithBinary", "clBuildProgram"}) {
    fail(f, 1, -42);  // the driver rejects its own binary
    CHECK(Scenario(o) == Status::kOk && count("clCreateProgramWithSource") == 1);
    Clean();
  }
  fail("clGetProgramInfo", 0, -5);
  CHECK(Scenario(o) == Status::kOk);
  Clean();
  setenv("FAKE_DRIVER", "2.0", 1);  // another driver uses another entry
  CHECK(!FromCache(o) && FromCache(o));
  CHECK(Entries(cache).size() == 2);
  Put(Entries(cache)[0], Contents(Entries(cache)[1]));  // another entry's content under this name
  unsetenv("FAKE_DRIVER");
  const bool first = FromCache(o);
  setenv("FAKE_DRIVER", "2.0", 1);
  CHECK(first != FromCache(o));
  unsetenv("FAKE_DRIVER");
  const std::string file = folder + "/file";
  Put(file, "");
  o.cache = file.c_str();  // not a folder
  CHECK(!FromCache(o) && !FromCache(o));
  o.cache = "/dev/full/cache";
  CHECK(!FromCache(o));
  CHECK(Entries(cache).size() == 2);
  TestFullDisk(folder + "/full");
}

// One of several processes that share a folder: the model is created even if others write or remove
// entries.
void Share(const std::string& cache) {
  rules_dnn::DeviceOptions o = Options();
  o.cache = cache.c_str();
  for (int i = 0; i < 300; ++i) {
    CHECK(Scenario(o) == Status::kOk);
    for (const std::string& path : Entries(cache)) {
      if (i % 7 == 0) unlink(path.c_str());
      if (i % 7 == 3 && path.rfind(".clbin") == path.size() - 6) Put(path, "damaged");
    }
  }
  Clean();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[1], "none") == 0) {
    CHECK(Scenario(Options()) == Status::kNoOpenCl && taken == 0);
    CHECK(strstr(message, argv[2]) != nullptr);
    puts("refused");
    return 0;
  }
  LookAtFake();
  if (strcmp(argv[1], "share") == 0) {
    Share(argv[2]);
    puts("shared");
    return 0;
  }
  TestFailures();
  TestMessage();
  TestRecovers();
  TestRefuses();
  TestShares();
  TestProbe(argv[2]);
  TestAllocatesNothing();
  TestChoice();
  TestOwn();
  TestStart();
  TestForeign();
  Clean();
  TestStartFails();
  TestWaitsForAll();
  TestClocks();
  Clean();
  TestCache(argv[2]);
  puts("all checks passed");
  return 0;
}
