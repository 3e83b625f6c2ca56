// Runs whose launches the driver cannot record or replay, with the fake OpenCL library: they
// continue as without records.
#include "chain.h"

namespace {

// Makes each call fail once: runs continue without records, and those made until then are released.
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
  // A driver that rejects a record after its last run may accept it next time, but not for ever.
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

// Deferred launches that fail: the status is the driver's, and the message names the kernel.
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

// Drivers whose command buffers are not used.
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
  // If a driver fails one of these queries, it is used without records, and nothing else fails.
  for (int n = 1; n < 30; ++n) {
    fail("clGetDeviceInfo", n, -30);
    const Status s = CreateModel(&kChain, Always(), &model);
    if (s == Status::kOk) rules_dnn::ModelDestroy(model);
    Clean();
  }
}

// The host lacks memory for recorded launches, or there are too many launches.
int64_t allowed = -1;  // allocations; negative: no limit
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
    life.Expect(2 * 7, 63);  // the first one launches 5000
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
  TestFailures();
  TestLateFailures();
  TestVersions();
  TestBounds();
  Clean();
  puts("all checks passed");
  return 0;
}
