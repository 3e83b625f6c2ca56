// Measures a model on its OpenCL device with inputs and outputs in the device's memory, as
// networks.py asks, a line each:
//
// - `time SECONDS`, answered by {"ms": [...]}: of runs, each of which is waited for.
// - `stream RUNS`, {"ms": [x]}: of a run, where all are started before the last is waited for.
// - `blocks RUNS`, {"blocks": [...]}: how long each block's kernels take by the driver's clocks.
// - `output`, {"shape": [...], "values": [...]}: the first output, null where it is not finite.
//
// Before that it says {"device": NAME}, or {"error": TEXT}. Images of a batch are copies of one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/dnn_profile.h"
#include "runtime/opencl/loader.h"
#include "runtime/serve/buffer.h"
#include "runtime/serve/json.h"
#include "runtime/serve/npy.h"

extern "C" const void* dnn_served_model(void);
extern "C" const void* dnn_served_profile(void);

namespace {

namespace cl = rules_dnn::opencl;
using Clock = std::chrono::steady_clock;
using rules_dnn::Description;
using rules_dnn::Status;
using rules_dnn::TensorInfo;

// The symbols' values of a model that has none.
constexpr int64_t kNoSymbols[1] = {};

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

[[noreturn]] void Fail(const std::string& text) {
  std::printf("{\"error\": %s}\n", rules_dnn::serve::QuoteJson(text).c_str());
  std::exit(1);
}

// The device's context and queue, and memory there.
struct Device {
  cl::Api api;
  cl::Device device;
  cl::Context context;
  cl::Queue queue;
  char name[256] = "";

  void Check(cl::Int code, const char* what) const {
    if (code != cl::kSuccess) Fail(std::string(what) + ": " + std::to_string(code));
  }

  // The first GPU, or else the first device.
  void Open() {
    const char* error = nullptr;
    if (!cl::Load(&api, &error)) Fail(error);
    cl::Platform platforms[8];
    cl::Uint count = 0, found = 0;
    Check(api.GetPlatformIDs(8, platforms, &count), "clGetPlatformIDs");
    for (const cl::Bits kind : {cl::kGpus, cl::kAllDevices}) {
      for (cl::Uint i = 0; i < std::min(count, cl::Uint{8}) && found == 0; ++i) {
        if (api.GetDeviceIDs(platforms[i], kind, 1, &device, &found) != cl::kSuccess) found = 0;
      }
    }
    if (found == 0) Fail("there is no OpenCL device");
    cl::Int code = 0;
    context = api.CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    Check(code, "clCreateContext");
    queue = api.CreateCommandQueue(context, device, 0, &code);
    Check(code, "clCreateCommandQueue");
    api.GetDeviceInfo(device, cl::kDeviceName, sizeof(name) - 1, name, nullptr);
  }

  cl::Memory Allocate(size_t bytes) const {
    cl::Int code = 0;
    const cl::Memory m = api.CreateBuffer(context, cl::kReadWrite, bytes, nullptr, &code);
    Check(code, "clCreateBuffer");
    return m;
  }
};

// Numbers of an input, each image the same ones: of f32 from -1 to 1; integers and booleans are 1.
std::vector<unsigned char> Numbers(const TensorInfo& tensor, size_t bytes,
                                   const std::vector<int64_t>& shape) {
  const std::string type = tensor.type;
  const size_t size = rules_dnn::serve::ElementBytes(type);
  const bool floats = type == "f32";
  if (size == 0 || (!floats && type[0] != 'i' && type[0] != 'u' && type != "bool")) {
    Fail("an input of " + type + ": want f32, integers or booleans");
  }
  std::vector<unsigned char> out(bytes);
  const int64_t images = shape.empty() ? 1 : std::max<int64_t>(shape[0], 1);
  const size_t image = bytes / size / static_cast<size_t>(images);
  for (size_t i = 0; i < bytes / size; ++i) {
    if (floats) {
      const uint32_t h = static_cast<uint32_t>(i % image) * 2654435761u;
      const float x = static_cast<float>(h >> 8) / 8388608.0f - 1;
      std::memcpy(&out[i * size], &x, sizeof(x));
    } else {
      out[i * size] = 1;
    }
  }
  return out;
}

// A number, which JSON does not have of infinities and NaN.
std::string Number(float x) {
  if (!std::isfinite(x)) return "null";
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(x));
  return text;
}

class Network {
 public:
  Network(const Description* d, const char* weights) : d_(d) {
    device_.Open();
    if (!rules_dnn::serve::ReadFile(weights, &weights_)) Fail("the weights cannot be read");
    rules_dnn::DeviceOptions options = {};
    options.host.size = sizeof(options);
    options.host.weights = weights_.data();
    options.host.weights_bytes = weights_.size();
    options.host.workers = 1;
    options.context = device_.context;
    char message[4096] = "";
    options.message = message;
    options.message_bytes = sizeof(message);
    Check(rules_dnn::ModelCreate(d_, &options.host, &model_), message);
    Check(rules_dnn::ContextCreate(model_, &context_), message);
    for (int32_t i = 0; i < d_->input_count; ++i) AddInput(d_->inputs[i]);
    for (int32_t i = 0; i < d_->output_count; ++i) {
      const size_t bytes =
          static_cast<size_t>(rules_dnn::TensorBytes(d_, &d_->outputs[i], kNoSymbols));
      out_.push_back({device_.Allocate(bytes), 0, nullptr});
    }
  }

  const Device& device() const { return device_; }

  void Start() {
    Check(rules_dnn::Start(context_, kNoSymbols, in_.data(), out_.data(), nullptr), "");
  }
  void Wait() { Check(rules_dnn::Wait(context_), ""); }

  std::vector<double> Time(double seconds) {
    std::vector<double> ms;
    const Clock::time_point start = Clock::now();
    while (ms.size() < 3 || MsSince(start) < seconds * 1e3) {
      const Clock::time_point one = Clock::now();
      Start();
      Wait();
      ms.push_back(MsSince(one));
    }
    return ms;
  }

  double Stream(int runs) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < runs; ++i) Start();
    Wait();
    return MsSince(start) / runs;
  }

  // The blocks' times, a run each; of blocks of the processor by its clock.
  std::string Blocks(int runs) {
    const auto& all = *static_cast<const rules_dnn::Profile*>(dnn_served_profile());
    const auto& p =
        *static_cast<const rules_dnn::Profile*>(all.variants[rules_dnn::ModelVariant(model_)]());
    const size_t count = static_cast<size_t>(p.block_count);
    std::vector<std::vector<double>> ms(count);
    std::vector<int> calls;
    for (int r = 0; r < runs; ++r) {
      Seen seen = {std::vector<double>(count), std::vector<int>(count), {}};
      const rules_dnn::LaunchObserver launches = {Seen::Launched, Seen::Took, &seen};
      rules_dnn::Observe(context_, Seen::Block, &seen);
      Check(rules_dnn::ObserveLaunches(context_, &launches), "");
      Start();
      Wait();
      rules_dnn::Observe(context_, nullptr, nullptr);
      Check(rules_dnn::ObserveLaunches(context_, nullptr), "");
      for (size_t i = 0; i < count; ++i) ms[i].push_back(seen.ms[i]);
      calls = seen.calls;
    }
    std::string out;
    for (size_t i = 0; i < count; ++i) {
      std::sort(ms[i].begin(), ms[i].end());
      const rules_dnn::BlockInfo& b = p.blocks[i];
      char text[200];
      std::snprintf(
          text, sizeof(text),
          "\"device\": %s, \"calls\": %d, \"us\": %.2f, \"flops\": %lld, \"bytes\": %lld}",
          b.device ? "true" : "false", calls[i], ms[i][ms[i].size() / 2] * 1e3,
          static_cast<long long>(rules_dnn::BlockSize(&p, b.flops, kNoSymbols)),
          static_cast<long long>(rules_dnn::BlockSize(&p, b.bytes, kNoSymbols)));
      out += (i > 0 ? ", " : "") + ("{\"name\": " + rules_dnn::serve::QuoteJson(b.name)) +
             ", \"kernel\": " + rules_dnn::serve::QuoteJson(b.kernel) + ", " + text;
    }
    return "{\"blocks\": [" + out + "]}";
  }

  std::string Output() {
    const TensorInfo& tensor = d_->outputs[0];
    if (std::strcmp(tensor.type, "f32") != 0) {
      Fail(std::string("the first output is of ") + tensor.type + ": want f32");
    }
    Start();
    Wait();
    std::vector<float> values(static_cast<size_t>(rules_dnn::TensorBytes(d_, &tensor, kNoSymbols)) /
                              sizeof(float));
    device_.Check(device_.api.EnqueueReadBuffer(
                      device_.queue, static_cast<cl::Memory>(out_[0].memory), 1, 0,
                      values.size() * sizeof(float), values.data(), 0, nullptr, nullptr),
                  "clEnqueueReadBuffer");
    std::vector<int64_t> shape(static_cast<size_t>(tensor.rank));
    rules_dnn::TensorShape(d_, &tensor, kNoSymbols, shape.data());
    std::string out = "{\"shape\": [";
    for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
    out += "], \"values\": [";
    for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + Number(values[i]);
    return out + "]}";
  }

 private:
  // The observations of a run.
  struct Seen {
    std::vector<double> ms;
    std::vector<int> calls;
    Clock::time_point start;

    static void Took(void* self, int32_t block, double ms) {
      static_cast<Seen*>(self)->ms[static_cast<size_t>(block)] += ms;
    }
    static void Launched(void* self, const rules_dnn::Ctx*, int32_t block) {
      ++static_cast<Seen*>(self)->calls[static_cast<size_t>(block)];
    }
    static void Block(void* self, const rules_dnn::Ctx*, int32_t block, bool done) {
      Seen* const s = static_cast<Seen*>(self);
      if (!done) {
        s->start = Clock::now();
        return;
      }
      s->ms[static_cast<size_t>(block)] += MsSince(s->start);
      ++s->calls[static_cast<size_t>(block)];
    }
  };

  void AddInput(const TensorInfo& tensor) {
    const size_t bytes = static_cast<size_t>(rules_dnn::TensorBytes(d_, &tensor, kNoSymbols));
    std::vector<int64_t> shape(static_cast<size_t>(tensor.rank));
    rules_dnn::TensorShape(d_, &tensor, kNoSymbols, shape.data());
    const cl::Memory m = device_.Allocate(bytes);
    const std::vector<unsigned char> numbers = Numbers(tensor, bytes, shape);
    device_.Check(device_.api.EnqueueWriteBuffer(device_.queue, m, 1, 0, bytes, numbers.data(), 0,
                                                 nullptr, nullptr),
                  "clEnqueueWriteBuffer");
    in_.push_back({m, 0, nullptr});
  }

  void Check(Status status, const char* message) {
    if (status == Status::kOk) return;
    char why[1024] = "";
    if (context_ != nullptr) rules_dnn::ExplainRun(context_, why, sizeof(why));
    Fail(std::string(rules_dnn::StatusMessage(status)) + " " + message + why);
  }

  const Description* d_;
  Device device_;
  rules_dnn::serve::Buffer weights_;
  rules_dnn::Model* model_ = nullptr;
  rules_dnn::Context* context_ = nullptr;
  std::vector<rules_dnn::Buffer> in_, out_;
};

std::string Times(const std::vector<double>& ms) {
  std::string out;
  for (const double x : ms) {
    char text[40];
    std::snprintf(text, sizeof(text), "%s%.5f", out.empty() ? "" : ", ", x);
    out += text;
  }
  return "{\"ms\": [" + out + "]}";
}

}  // namespace

int main(int argc, char** argv) {
  const Description& d = *static_cast<const Description*>(dnn_served_model());
  if (argc != 2 || d.given_count != 0) Fail("want the weights' file, and a model without symbols");
  Network network(&d, argv[1]);
  std::printf("{\"device\": %s}\n", rules_dnn::serve::QuoteJson(network.device().name).c_str());
  std::fflush(stdout);
  for (char line[256]; std::fgets(line, sizeof(line), stdin) != nullptr;) {
    char what[32] = "";
    double number = 1;
    std::sscanf(line, "%31s %lf", what, &number);
    const std::string asked = what;
    std::string answer;
    if (asked == "time") {
      answer = Times(network.Time(number));
    } else if (asked == "stream") {
      answer = Times({network.Stream(static_cast<int>(number))});
    } else if (asked == "blocks") {
      answer = network.Blocks(static_cast<int>(number));
    } else if (asked == "output") {
      answer = network.Output();
    } else {
      Fail("asked for " + asked);
    }
    std::printf("%s\n", answer.c_str());
    std::fflush(stdout);
  }
  return 0;
}
