// Runs whose launches the driver records, with the fake OpenCL library: what is started when, that
// what changes is never replayed, and every call of the extension that may fail.
#include "chain.h"
#include "runtime/opencl/replay.h"

namespace {

constexpr int kPatience = cl::kPatience;

// Without an image, which other dimensions would make anew.
rules_dnn::DeviceInfo Imageless() {
  rules_dnn::DeviceInfo info = kDevice;
  info.image_count = 0;
  return info;
}
const rules_dnn::DeviceInfo kImageless = Imageless();
rules_dnn::Description ChainOf() {
  rules_dnn::Description d = kDescription;
  d.program = Chain;
  d.device = &kImageless;
  return d;
}
const rules_dnn::Description kChain = ChainOf();

rules_dnn::DeviceOptions Always() {
  rules_dnn::DeviceOptions o = Options();
  o.command_buffers = 1;
  return o;
}

// A model and a context of it.
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

  // Launches and replays of a run that succeeds.
  void Expect(int launched, int replayed, int64_t n = 5) {
    fail("", 0, 0);
    CHECK(Run(n) == Status::kOk);
    CHECK(count("clEnqueueNDRangeKernel") == launched);
    CHECK(count("clEnqueueCommandBufferKHR") == replayed);
  }
};

// The first runs launch, and from then on the driver is called once a segment.
void TestReplays() {
  for (segments = 1; segments <= 3; ++segments) {
    Life life(Always());
    for (int i = 0; i < kPatience; ++i) life.Expect(5 * segments, 0);
    CHECK(count("clCommandNDRangeKernelKHR") == 5 * segments);
    const int before = alive();
    const int64_t host = taken;
    for (int i = 0; i < 1000; ++i) {
      life.Expect(0, segments);
      CHECK(count("clSetKernelArg") == 0 && count("clReleaseEvent") == segments);
    }
    CHECK(alive() == before && taken == host);
  }
  segments = 1;
  Clean();
}

// What a launch is made of changes: dimensions, the memory that they need, the way of the program.
void TestChanges() {
  Life life(Always());
  const auto settle = [&](int64_t n) {
    for (int i = 0; i < 10000; ++i) {
      fail("", 0, 0);
      CHECK(life.Run(n) == Status::kOk);
      if (count("clEnqueueCommandBufferKHR") == 1) return i;
    }
    CHECK(false);
    return 0;
  };
  CHECK(settle(5) == kPatience);
  CHECK(settle(7) == kPatience);      // more memory: the record went before launches differed
  CHECK(settle(5) == 2 * kPatience);  // in the same; a record that was of no use makes for patience
  CHECK(settle(3000) == 2 * kPatience);  // more
  CHECK(settle(5) == 4 * kPatience);
  life.Expect(5, 0, 6);
  life.Expect(0, 0, 0);  // nothing to launch
  life.Expect(5, 0, 5);
  CHECK(settle(5) > 0);
  for (const int more : {7, 4, 1, 6}) {  // longer, shorter: what is put off is launched in time
    launches = more;
    life.Expect(more, 0);
    CHECK(settle(5) > 0);
  }
  first_block = 70;  // another branch of the program
  life.Expect(6, 0);
  CHECK(settle(5) == kPatience - 1);
  first_block = 7;
  life.Expect(0, 1);
  launches = 5;
  for (int i = 0; i < 50; ++i) life.Expect(5, 0, 1 + i % 2);  // never twice the same
}

// Arguments that are as they were are not set again, with the extension or without.
void TestArguments() {
  rules_dnn::DeviceOptions o = Options();
  o.command_buffers = -1;
  Life life(o);
  launches = 1;
  life.Expect(1, 0, 6);
  CHECK(count("clSetKernelArg") == 9);
  life.Expect(1, 0, 6);
  CHECK(count("clSetKernelArg") == 0);
  life.Expect(1, 0, 5);  // N, and where y is
  CHECK(count("clSetKernelArg") == 2);
  life.Expect(1, 0, 3000);  // other memory
  CHECK(count("clSetKernelArg") == 9);
  launches = 2;
  life.Expect(2, 0, 3000);
  life.Expect(2, 0, 3000);
  CHECK(count("clSetKernelArg") == 4);  // x and y change places
  fail("clSetKernelArg", 1, -38);
  CHECK(life.Run(3000) == Status::kDeviceFailed);
  life.Expect(2, 0, 3000);
  launches = 5;
}

// The application's memory is copied from and to outside of records: it may change from run to run.
void TestBuffers(const char* version, const char* can, bool overlaps) {
  setenv("FAKE_RECORDS", version, 1);
  setenv("FAKE_CAN", can, 1);
  {
    Application a;
    const cl::Memory more = a.api.CreateBuffer(a.context, 1, 128, nullptr, nullptr);
    rules_dnn::DeviceOptions o = Always();
    o.context = a.context;
    o.queue = a.queue;
    Life life(o);
    const int64_t n = 5;
    const auto start = [&](cl::Memory to) {
      const Buffer x = {a.x, 8, nullptr}, y = {to, 16, nullptr};
      return rules_dnn::Start(life.context, &n, &x, &y, nullptr);
    };
    Fill(a, 0);
    fail("", 0, 0);
    for (int i = 0; i < kPatience; ++i) CHECK(start(a.y) == Status::kOk);
    CHECK(count("clEnqueueCommandBufferKHR") == 0);
    fail("", 0, 0);
    for (int i = 0; i < 3; ++i) CHECK(start(i % 2 == 0 ? more : a.y) == Status::kOk);
    // Nobody waited meanwhile: a record that may not run twice at a time is started once.
    CHECK(count("clEnqueueCommandBufferKHR") == (overlaps ? 3 : 1));
    CHECK(count("clEnqueueNDRangeKernel") == (overlaps ? 0 : 10));
    CHECK(rules_dnn::Wait(life.context) == Status::kOk);
    fail("", 0, 0);
    CHECK(start(a.y) == Status::kOk && rules_dnn::Wait(life.context) == Status::kOk);
    CHECK(count("clEnqueueCommandBufferKHR") == 1);
    for (const cl::Memory m : {a.y, more}) {
      float y[9] = {};
      a.api.EnqueueReadBuffer(a.queue, m, 1, 0, sizeof(y), y, 0, nullptr, nullptr);
      for (int i = 0; i < 5; ++i) CHECK(y[4 + i] == Want(static_cast<float>(i), 5));
    }
    a.api.ReleaseMemObject(more);
  }
  setenv("FAKE_RECORDS", "0.9.4", 1);
  unsetenv("FAKE_CAN");
  Clean();
}

// Each call fails once: runs go on without, and what was recorded until then is given back.
void TestFailures() {
  segments = 2;
  for (const char* f :
       {"clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR", "clFinalizeCommandBufferKHR",
        "clEnqueueCommandBufferKHR", "clSetKernelArg"}) {
    for (const int code : {-5, -6, -59, -1140}) {
      for (int n = 1; n <= 12; ++n) {
        {
          Life life(Always());
          for (int i = 0; i < kPatience - 1; ++i) life.Expect(10, 0);
          const bool argument = strcmp(f, "clSetKernelArg") == 0;
          fail(f, n, code);
          for (int i = 0; i < 2 * kPatience; ++i) {
            const Status s = life.Run();
            CHECK(s == Status::kOk || argument);
            if (s >= Status::kNoOpenCl) CHECK(strstr(words, f) != nullptr);
          }
          fail("", 0, 0);
          for (int i = 0; i < 10; ++i) CHECK(life.Run() == Status::kOk);
        }
        Clean();
      }
    }
  }
  segments = 1;
  // A driver that refuses a record that has ended may take it the next time, but not for ever.
  {
    Life life(Always());
    for (int i = 0; i < kPatience; ++i) life.Expect(5, 0);
    fail("clEnqueueCommandBufferKHR", 1, -59);
    CHECK(life.Run() == Status::kOk && count("clEnqueueNDRangeKernel") == 5);
    life.Expect(0, 1);
    fail("clEnqueueCommandBufferKHR", 0, -59);
    for (int i = 0; i < 20; ++i) CHECK(life.Run() == Status::kOk);
    CHECK(count("clEnqueueCommandBufferKHR") == 8 && count("clReleaseCommandBufferKHR") == 1);
    life.Expect(5, 0);
  }
  Clean();
}

// Launches that were put off and then fail: the status of the driver, and which kernel it was.
void TestLateFailures() {
  for (const int code : {-5, -36}) {
    for (int n = 1; n <= 5; ++n) {
      Life life(Always());
      for (int i = 0; i <= kPatience; ++i) CHECK(life.Run() == Status::kOk);
      launches = 4;  // four of five
      fail("clEnqueueNDRangeKernel", n, code);
      const Status want = code == -5 ? Status::kDeviceResources : Status::kDeviceLost;
      CHECK(life.Run() == (n < 5 ? want : Status::kOk));
      CHECK(n == 5 || strstr(words, ", of kernel add") != nullptr);
      fail("", 0, 0);
      launches = 5;
      for (int i = 0; i < 20; ++i) CHECK(life.Run() == Status::kOk);
    }
  }
  Clean();
}

// A value that the device refuses is named as without records.
void TestRefuses() {
  Life life(Always());
  for (int i = 0; i < kPatience; ++i) {
    CHECK(life.Run(5, -100) == Status::kBadValue && strstr(words, "Add (the node)") != nullptr);
  }
  for (int i = 0; i < 10; ++i) {
    fail("", 0, 0);
    CHECK(life.Run(5, -100) == Status::kBadValue && strstr(words, "Add (the node)") != nullptr);
    CHECK(count("clEnqueueCommandBufferKHR") == 1);
    life.Expect(0, 1);
  }
}

// Clocks want launches of their own.
void TestClocks() {
  static int took = 0;
  const rules_dnn::LaunchObserver clocks = {nullptr, [](void*, int32_t, double) { ++took; },
                                            nullptr};
  Life life(Always());
  for (int i = 0; i < kPatience; ++i) CHECK(life.Run() == Status::kOk);
  CHECK(rules_dnn::ObserveLaunches(life.context, &clocks) == Status::kOk);
  life.Expect(5, 0);
  CHECK(took == 5);
  CHECK(rules_dnn::ObserveLaunches(life.context, nullptr) == Status::kOk);
  life.Expect(0, 1);
}

// By default the record stays where it starts sooner than its launches do one by one.
void TestSlow() {
  setenv("FAKE_LAUNCH_US", "200", 1);
  {
    Life life(Options());
    for (int i = 0; i < 20; ++i) CHECK(life.Run() == Status::kOk);
    life.Expect(0, 1);
  }
  unsetenv("FAKE_LAUNCH_US");
  setenv("FAKE_REPLAY_US", "5000", 1);
  {
    Life life(Options());
    for (int i = 0; i < kPatience; ++i) life.Expect(5, 0);
    for (int i = 0; i < cl::kTrials; ++i) life.Expect(0, 1);
    life.Expect(5, 0);
    Life slow(Always());
    for (int i = 0; i < 20; ++i) CHECK(slow.Run() == Status::kOk);
    slow.Expect(0, 1);
  }
  unsetenv("FAKE_REPLAY_US");
  Clean();
}

// Drivers whose buffers are not used.
void TestVersions() {
  const struct {
    const char *name, *value;
    bool used;
  } all[] = {
      {"FAKE_RECORDS", "0.9.0", true},
      {"FAKE_RECORDS", "0.9.8", true},
      {"FAKE_RECORDS", "0.9.9", false},
      {"FAKE_RECORDS", "0.8.0", false},
      {"FAKE_RECORDS", "1.0.0", false},
      {"FAKE_WANTS", "1", false},
      {"FAKE_CAN", "0", true},
      {"FAKE_WITHOUT", "clEnqueueCommandBufferKHR", false},
      {"FAKE_WITHOUT", "clFinalizeCommandBufferKHR", false},
  };
  for (const auto& c : all) {
    setenv(c.name, c.value, 1);
    {
      Life life(Always());
      for (int i = 0; i < kPatience; ++i) life.Expect(5, 0);
      life.Expect(c.used ? 0 : 5, c.used ? 1 : 0);
    }
    unsetenv(c.name);
    setenv("FAKE_RECORDS", "0.9.4", 1);
  }
  unsetenv("FAKE_RECORDS");
  {
    Life life(Always());
    for (int i = 0; i < 2 * kPatience; ++i) life.Expect(5, 0);
  }
  setenv("FAKE_RECORDS", "0.9.4", 1);
  rules_dnn::DeviceOptions o = Options();
  o.command_buffers = -1;
  {
    Life life(o);
    for (int i = 0; i < 2 * kPatience; ++i) life.Expect(5, 0);
  }
  rules_dnn::Model* model = nullptr;
  for (const int64_t wrong : {-2, 2}) {
    o.command_buffers = wrong;
    CHECK(CreateModel(&kChain, o, &model) == Status::kBadOptions);
    CHECK(strstr(message, "command_buffers is ") != nullptr);
    CHECK(strstr(message, "want -1, 0 or 1") != nullptr);
  }
  // A driver that answers none of these questions has no records, and nothing else is wrong.
  for (int n = 1; n < 30; ++n) {
    fail("clGetDeviceInfo", n, -30);
    const Status s = CreateModel(&kChain, Always(), &model);
    if (s == Status::kOk) rules_dnn::ModelDestroy(model);
    Clean();
  }
}

// The host has no memory for what is kept of launches, or there is too much of it.
int64_t allowed = -1;  // pieces; negative: all
void* Sparse(void* user, size_t bytes, size_t alignment) {
  if (allowed == 0) return nullptr;
  if (allowed > 0) --allowed;
  return Allocate(user, bytes, alignment);
}
void TestBounds() {
  rules_dnn::DeviceOptions o = Always();
  o.host.allocate = Sparse;
  for (int n = 0; n < 6; ++n) {
    Life life(o);
    const int64_t dims = 5;
    CHECK(rules_dnn::Reserve(life.context, &dims) == Status::kOk);
    allowed = n;
    for (int i = 0; i < 2 * kPatience; ++i) CHECK(life.Run() == Status::kOk);
    allowed = -1;
    for (int i = 0; i < 2 * kPatience; ++i) CHECK(life.Run() == Status::kOk);
  }
  {
    Life life(Always());
    launches = 5000;
    for (int i = 0; i < kPatience + 2; ++i) life.Expect(5000, 0, 1);
    launches = 2;
    segments = 70;
    for (int i = 0; i < kPatience; ++i) life.Expect(140, 0);
    life.Expect(2 * 7, 63);  // the first one is that of 5000 launches
  }
  launches = 5;
  segments = 1;
  for (int i = 0; i < 1000; ++i) {
    Life life(Always());
    for (int k = 0; k < kPatience + 2; ++k) CHECK(life.Run() == Status::kOk);
  }
  Clean();
}

}  // namespace

int main() {
  LookAtFake();
  setenv("FAKE_RECORDS", "0.9.4", 1);
  TestReplays();
  TestChanges();
  TestArguments();
  TestBuffers("0.9.4", "4", true);
  TestBuffers("0.9.4", "0", false);
  TestBuffers("0.9.8", "0", true);
  TestFailures();
  TestLateFailures();
  TestRefuses();
  TestClocks();
  TestSlow();
  TestVersions();
  TestBounds();
  Clean();
  puts("all checks passed");
  return 0;
}
