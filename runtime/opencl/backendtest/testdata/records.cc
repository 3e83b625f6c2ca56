// Runs whose launches the driver records, with the fake OpenCL library. Checks when launches start,
// that changed launches are never replayed, and that every call of the extension may fail.
#include "chain.h"

namespace {

// The first runs launch; later ones call the driver once for each segment.
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
      overwrites = i % 2 == 0;  // a copy to the device follows the launches
    }
    overwrites = false;
    CHECK(alive() == before && taken == host);
  }
  segments = 1;
  Clean();
}

// Changes of what launches depend on: dimensions, their memory, and the path through the program.
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
  CHECK(settle(7) == kPatience);      // larger memory: the record is dropped before launches differ
  CHECK(settle(5) == 2 * kPatience);  // same memory; a discarded record doubles the patience
  CHECK(settle(3000) == 2 * kPatience);  // larger memory
  CHECK(settle(5) == 4 * kPatience);
  life.Expect(5, 0, 6);
  life.Expect(0, 0, 0);  // no launch
  life.Expect(5, 0, 5);
  CHECK(settle(5) > 0);
  for (const int more : {7, 4, 1, 6}) {  // longer and shorter runs: deferred launches start in time
    launches = more;
    life.Expect(more, 0);
    CHECK(settle(5) > 0);
  }
  idle_items = 64;
  life.Expect(6, 0);
  CHECK(settle(5) > 0);
  idle_items = 0;
  CHECK(settle(5) > 0);
  first_block = 70;  // another branch of the program
  life.Expect(6, 0);
  CHECK(settle(5) == kPatience - 1);
  first_block = 7;
  life.Expect(0, 1);
  launches = 5;
  for (int i = 0; i < 50; ++i) life.Expect(5, 0, 1 + i % 2);  // consecutive runs always differ
}

// Unchanged arguments are not set again, with and without the extension.
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

// The application's memory is copied outside of records, because it may change in each run.
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
    // Nobody waited meanwhile: a record that must not run concurrently with itself is started once.
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
    Fill(a, 3);  // the copy after the launches must follow them
    CHECK(start(a.y) == Status::kOk && rules_dnn::Wait(life.context) == Status::kOk);
    float y[5] = {};
    a.api.EnqueueReadBuffer(a.queue, a.y, 1, 0, sizeof(y), y, 0, nullptr, nullptr);
    CHECK(y[4] == Want(3, 5));
    a.api.ReleaseMemObject(more);
  }
  setenv("FAKE_RECORDS", "0.9.4", 1);
  unsetenv("FAKE_CAN");
  Clean();
}

// A value that the device rejects is named as without records.
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

// Timed kernels are launched, not replayed.
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

// By default a record is kept if it starts sooner than its separate launches.
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

// The time of deferred launches counts, too: a record of more launches must not be compared with
// only the launches after them.
void TestLonger() {
  setenv("FAKE_LAUNCH_US", "200", 1);
  setenv("FAKE_REPLAY_US", "500", 1);
  {
    Life life(Options());
    for (int i = 0; i < 2 * kPatience; ++i) CHECK(life.Run() == Status::kOk);
    life.Expect(0, 1);
    launches = 6;
    for (int i = 0; i < 4 * kPatience; ++i) CHECK(life.Run() == Status::kOk);
    life.Expect(0, 1);
    launches = 5;
  }
  unsetenv("FAKE_LAUNCH_US");
  unsetenv("FAKE_REPLAY_US");
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
  TestRefuses();
  TestClocks();
  TestSlow();
  TestLonger();
  Clean();
  puts("all checks passed");
  return 0;
}
