#include "runtime/opencl/measure.h"

#include <time.h>

#include "runtime/opencl/state.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

// Chains of products and sums in scalars and in vectors, because devices are fastest with one or
// the other. The result is stored only if it equals a value that it never has.
constexpr char kSource[] = R"(
#define PEAK(name, T, last)                                                           \
  __kernel void name(__global float* y, __global const float* x, int rounds) {        \
    const T m = (T)(0.999f), a = (T)(0.001f + 1e-9f * get_global_id(0));              \
    T x0 = a, x1 = a + 1, x2 = a + 2, x3 = a + 3, x4 = a + 4, x5 = a + 5, x6 = a + 6, \
      x7 = a + 7;                                                                     \
    for (int i = 0; i < rounds; ++i) {                                                \
      x0 = mad(x0, m, a); x1 = mad(x1, m, a); x2 = mad(x2, m, a); x3 = mad(x3, m, a); \
      x4 = mad(x4, m, a); x5 = mad(x5, m, a); x6 = mad(x6, m, a); x7 = mad(x7, m, a); \
    }                                                                                 \
    const T s = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;                                \
    if (last == -1.0f) y[0] = last + x[0];                                            \
  }
PEAK(multiply1, float, s)
PEAK(multiply4, float4, s.x + s.y + s.z + s.w)
PEAK(multiply8, float8, s.s0 + s.s1 + s.s2 + s.s3 + s.s4 + s.s5 + s.s6 + s.s7)

// Adjacent work-items read adjacent elements, which is best for GPUs, or each reads its own part.
#define MEMORY(suffix, at)                                                                       \
  __kernel void read_##suffix(__global float* y, __global const float4* x, int n) {              \
    float4 s = (float4)(0);                                                                      \
    for (int i = 0; i < n; ++i) s += x[at];                                                      \
    if (s.x + s.y + s.z + s.w == -1.0f) y[0] = s.x;                                              \
  }                                                                                              \
  __kernel void copy_##suffix(__global float4* y, __global const float4* x, int n) {             \
    for (int i = 0; i < n; ++i) y[at] = x[at];                                                   \
  }
MEMORY(across, get_global_id(0) + i * get_global_size(0))
MEMORY(along, get_global_id(0) * n + i)
)";

constexpr int kChains = 8;
constexpr double kLeastMs = 1;  // minimum duration of a kernel whose rate counts
constexpr size_t kMostBytes = size_t{256} << 20;

double Now() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The measurement's objects on the device, which the destructor releases.
class Probe {
 public:
  Probe(const SharedState& m, Words* words) : m_(m), api_(m.api), words_(words) {}
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe() {
    if (x_ != nullptr) api_.ReleaseMemObject(x_);
    if (y_ != nullptr) api_.ReleaseMemObject(y_);
    if (program_ != nullptr) api_.ReleaseProgram(program_);
    if (queue_ != nullptr) api_.ReleaseCommandQueue(queue_);
  }

  bool Make() {
    Int code = kSuccess;
    uint64_t most = 0;
    code = api_.GetDeviceInfo(m_.device, kDeviceMaxAlloc, sizeof(most), &most, nullptr);
    if (code == kSuccess) {
      code = api_.GetDeviceInfo(m_.device, kDeviceUnits, sizeof(units_), &units_, nullptr);
    }
    if (code != kSuccess) return Fail("clGetDeviceInfo", code);
    bytes_ = most / 4 < kMostBytes ? static_cast<size_t>(most) / 4 : kMostBytes;
    queue_ = api_.CreateCommandQueue(m_.context, m_.device, kProfiling, &code);
    if (queue_ == nullptr) return Fail("clCreateCommandQueue", code);
    const char* texts[] = {kSource};
    const size_t length = sizeof(kSource) - 1;
    program_ = api_.CreateProgramWithSource(m_.context, 1, texts, &length, &code);
    if (program_ == nullptr) return Fail("clCreateProgramWithSource", code);
    code = api_.BuildProgram(program_, 1, &m_.device, "-cl-std=CL1.2", nullptr, nullptr);
    if (code != kSuccess) return Fail("clBuildProgram", code);
    return MakeBuffer(&x_) && MakeBuffer(&y_);
  }

  // Returns the highest rate of products and sums in GFLOP/s.
  double Gflops(double seconds) {
    double best = 0;
    const struct {
      const char* name;
      int width;
    } all[] = {{"multiply1", 1}, {"multiply4", 4}, {"multiply8", 8}};
    const size_t items = size_t{units_} * 2048;
    for (const auto& k : all) {
      best = Greatest(
          k.name, seconds / 3, items, 256, 1 << 24,
          [&](int rounds) { return 2.0 * kChains * k.width * static_cast<double>(items) * rounds; },
          best);
    }
    return best;
  }

  // Returns the memory rate of the faster of two kernels in GB/s; each byte of a buffer counts
  // `times` times.
  double Through(const char* const (&kernels)[2], int times, double seconds) {
    const size_t items = size_t{units_} * 1024;
    const int each = static_cast<int>(bytes_ / 16 / items);
    double best = 0;
    for (const char* const kernel : kernels) {
      if (each < 1) break;
      best = Greatest(
          kernel, seconds / 2, items, each, each,
          [&](int n) { return 16.0 * times * static_cast<double>(items) * n; }, best);
    }
    return best;
  }

  // Writes both buffers, because the system may not have allocated unwritten memory yet.
  void Touch() {
    Through({"copy_across", "copy_along"}, 1, 0);
    Memory const x = x_;
    x_ = y_;
    y_ = x;
    Through({"copy_across", "copy_along"}, 1, 0);
  }

 private:
  bool Fail(const char* function, Int code) {
    Failed(words_, function, code);
    return false;
  }

  bool MakeBuffer(Memory* memory) {
    Int code = kSuccess;
    *memory = api_.CreateBuffer(m_.context, kReadWrite, bytes_, nullptr, &code);
    return *memory != nullptr || Fail("clCreateBuffer", code);
  }

  // Runs a kernel repeatedly and returns its highest rate in units per nanosecond, at least `best`.
  // It doubles `number` up to `most` until the kernel takes long enough.
  template <class Units>
  double Greatest(const char* name, double seconds, size_t items, int number, int most, Units units,
                  double best) {
    Int code = kSuccess;
    const Kernel kernel = api_.CreateKernel(program_, name, &code);
    if (kernel == nullptr) {
      Fail("clCreateKernel", code);
      return best;
    }
    const double start = Now();
    double ms = 0;
    do {
      if (!Time(kernel, items, number, &ms)) break;
      const double rate = ms > 0 ? units(number) / (ms * 1e6) : 0;
      if ((ms >= kLeastMs || number == most) && rate > best) best = rate;
      if (ms < kLeastMs && number < most) number = number > most / 2 ? most : 2 * number;
    } while (Now() - start < seconds || (number < most && ms < kLeastMs));
    api_.ReleaseKernel(kernel);
    return best;
  }

  bool Time(Kernel kernel, size_t items, int number, double* ms) {
    const size_t local = 64;
    const int32_t n = number;
    Int code = api_.SetKernelArg(kernel, 0, sizeof(y_), &y_);
    if (code == kSuccess) code = api_.SetKernelArg(kernel, 1, sizeof(x_), &x_);
    if (code == kSuccess) code = api_.SetKernelArg(kernel, 2, sizeof(n), &n);
    if (code != kSuccess) return Fail("clSetKernelArg", code);
    Event event = nullptr;
    code =
        api_.EnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &items, &local, 0, nullptr, &event);
    if (code != kSuccess) return Fail("clEnqueueNDRangeKernel", code);
    code = api_.Finish(queue_);
    uint64_t start = 0, end = 0;
    if (code == kSuccess) {
      code = api_.GetEventProfilingInfo(event, kEventStart, sizeof(start), &start, nullptr);
    }
    if (code == kSuccess) {
      code = api_.GetEventProfilingInfo(event, kEventEnd, sizeof(end), &end, nullptr);
    }
    api_.ReleaseEvent(event);
    *ms = end < start ? 0 : static_cast<double>(end - start) / 1e6;
    return code == kSuccess || Fail("clGetEventProfilingInfo", code);
  }

  const SharedState& m_;
  const Api& api_;
  Words* const words_;
  Queue queue_ = nullptr;
  Program program_ = nullptr;
  Memory x_ = nullptr, y_ = nullptr;
  size_t bytes_ = 0;
  Uint units_ = 0;
};

}  // namespace

void MeasurePeaks(DeviceModel* model, double seconds, DevicePeaks* peaks) {
  *peaks = {};
  const SharedState& m = *State(model);
  Words words(peaks->error, sizeof(peaks->error));
  m.api.GetDeviceInfo(m.device, kDeviceName, sizeof(peaks->name) - 1, peaks->name, nullptr);
  Probe probe(m, &words);
  if (!probe.Make()) return;
  peaks->gflops = probe.Gflops(seconds / 2);
  probe.Touch();
  peaks->read_gbs = probe.Through({"read_across", "read_along"}, 1, seconds / 4);
  peaks->copy_gbs = probe.Through({"copy_across", "copy_along"}, 2, seconds / 4);
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
