// Runs programs in OpenCL C that stand, one after the other, on standard input (see write.go), on
// the first device, and writes to standard output the device's name and what each program came to.
// Several are compiled as one.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/opencl/loader.h"

namespace {

namespace cl = rules_dnn::opencl;

cl::Api api;
cl::Device device;
cl::Context context;
cl::Queue queue;
std::string options, extensions;

[[noreturn]] void Fail(const std::string& what, cl::Int code = 0) {
  fprintf(stderr, "%s (%d)\n", what.c_str(), code);
  exit(1);
}

void Check(cl::Int code, const std::string& what) {
  if (code != cl::kSuccess) Fail(what, code);
}

void Read(void* to, size_t n) {
  if (n != 0 && fread(to, 1, n, stdin) != n) Fail("the request ends early");
}

int64_t Number() {
  int64_t x;
  Read(&x, sizeof x);
  return x;
}

size_t Size() { return static_cast<size_t>(Number()); }

std::string Text() {
  std::string s(Size(), '\0');
  Read(&s[0], s.size());
  return s;
}

void Write(const void* from, size_t n) {
  if (n != 0 && fwrite(from, 1, n, stdout) != n) Fail("standard output is closed");
}

std::string Info(cl::Uint what) {
  size_t n = 0;
  Check(api.GetDeviceInfo(device, what, 0, nullptr, &n), "clGetDeviceInfo");
  std::string s(n, '\0');
  Check(api.GetDeviceInfo(device, what, n, &s[0], nullptr), "clGetDeviceInfo");
  return s.c_str();
}

template <class T>
T InfoNumber(cl::Uint what) {
  T x = 0;
  Check(api.GetDeviceInfo(device, what, sizeof x, &x, nullptr), "clGetDeviceInfo");
  return x;
}

void Start() {
  const char* error = nullptr;
  if (!cl::Load(&api, &error)) Fail(error);
  cl::Platform platforms[16];
  cl::Uint n = 0;
  if (api.GetPlatformIDs(16, platforms, &n) != cl::kSuccess || n == 0)
    Fail("no OpenCL platform is installed");
  cl::Uint devices = 0;
  for (cl::Uint i = 0; i < n && i < 16 && devices == 0; i++) {
    if (api.GetDeviceIDs(platforms[i], cl::kAllDevices, 1, &device, &devices) != cl::kSuccess)
      devices = 0;
  }
  if (devices == 0) Fail("no OpenCL platform has a device");
  cl::Int code;
  context = api.CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  Check(code, "clCreateContext");
  queue = api.CreateCommandQueue(context, device, 0, &code);
  Check(code, "clCreateCommandQueue");
  extensions = Info(cl::kDeviceExtensions);
  options = "-cl-std=CL1.2";
  if (InfoNumber<cl::Bits>(cl::kDeviceSingleConfig) & cl::kCorrectDivide) {
    options += " -cl-fp32-correctly-rounded-divide-sqrt";
  }
  const std::string name = Info(cl::kDeviceName) + ", " + Info(cl::kDeviceVersion);
  const int64_t length = static_cast<int64_t>(name.size());
  Write(&length, sizeof length);
  Write(name.data(), name.size());
}

// What follows a buffer: a kernel must not write to it.
constexpr size_t kGuard = 64;
constexpr char kPoison = -1;

// A request: memory, and calls of kernels.
struct Object {
  bool image;
  size_t bytes, width, height;  // an image has all three
  std::string start;
  cl::Memory memory;
};

enum Kind { kMemory, kIndex, kScratch, kBadIndex };

struct Arg {
  int64_t kind, value;
};

struct Call {
  std::string kernel;
  std::vector<Arg> args;
  size_t items[3], group[3];
};

struct Request {
  int64_t index_bytes;
  std::vector<Object> objects;
  std::vector<Call> calls;
  std::vector<size_t> outputs;  // objects
};

Request ReadRequest(int64_t index_bytes) {
  Request r;
  r.index_bytes = index_bytes;
  r.objects.resize(Size());
  for (Object& o : r.objects) {
    o.image = Number() != 0;
    o.bytes = Size();
    o.width = Size();
    o.height = Size();
    o.start = Text();
    o.start.resize(o.bytes + (o.image ? 0 : kGuard), kPoison);
  }
  r.calls.resize(Size());
  for (Call& c : r.calls) {
    c.kernel = Text();
    c.args.resize(Size());
    for (Arg& a : c.args) {
      a.kind = Number();
      a.value = Number();
    }
    for (int d = 0; d < 3; d++) {
      c.items[d] = Size();
      c.group[d] = Size();
    }
  }
  r.outputs.resize(Size());
  for (size_t& n : r.outputs) n = Size();
  return r;
}

void Create(Object* o) {
  cl::Int code;
  if (!o->image) {
    o->memory = api.CreateBuffer(context, cl::kReadWrite | cl::kCopyHost, o->start.size(),
                                 &o->start[0], &code);
    Check(code, "clCreateBuffer");
    return;
  }
  const cl::ImageFormat format = {cl::kRgba, cl::kFloat};
  cl::ImageDesc desc = {};
  desc.type = cl::kImage2D;
  desc.width = o->width;
  desc.height = o->height;
  o->memory =
      api.CreateImage(context, cl::kReadWrite | cl::kCopyHost, &format, &desc, &o->start[0], &code);
  Check(code, "clCreateImage");
}

std::string Contents(const Object& o) {
  std::string s(o.start.size(), '\0');
  if (o.image) {
    const size_t origin[3] = {0, 0, 0}, region[3] = {o.width, o.height, 1};
    Check(
        api.EnqueueReadImage(queue, o.memory, 1, origin, region, 0, 0, &s[0], 0, nullptr, nullptr),
        "clEnqueueReadImage");
    return s;
  }
  Check(api.EnqueueReadBuffer(queue, o.memory, 1, 0, s.size(), &s[0], 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  for (size_t i = o.bytes; i < s.size(); i++) {
    if (s[i] != kPoison)
      Fail("a kernel wrote beyond a buffer of " + std::to_string(o.bytes) + " bytes");
  }
  s.resize(o.bytes);
  return s;
}

cl::Program Build(const std::string& source) {
  const char* text = source.data();
  const size_t length = source.size();
  cl::Int code;
  cl::Program program = api.CreateProgramWithSource(context, 1, &text, &length, &code);
  Check(code, "clCreateProgramWithSource");
  code = api.BuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr);
  if (code == cl::kSuccess) return program;
  size_t n = 0;
  api.GetProgramBuildInfo(program, device, cl::kBuildLog, 0, nullptr, &n);
  std::string log(n, '\0');
  api.GetProgramBuildInfo(program, device, cl::kBuildLog, n, &log[0], nullptr);
  Fail(log + "\n" + source, code);
}

// Start sets the arguments of a kernel and starts it, if it has work.
void Start(cl::Program program, const Request& r, const Call& c, cl::Memory bad,
           std::vector<cl::Memory>* scratch) {
  cl::Int code;
  cl::Kernel kernel = api.CreateKernel(program, c.kernel.c_str(), &code);
  Check(code, "clCreateKernel " + c.kernel);
  cl::Uint next = 0;
  const auto set = [&](size_t size, const void* at) {
    Check(api.SetKernelArg(kernel, next, size, at),
          "clSetKernelArg " + c.kernel + " " + std::to_string(next));
    next++;
  };
  for (const Arg& a : c.args) {
    cl::Memory memory = bad;
    if (a.kind == kMemory) memory = r.objects[static_cast<size_t>(a.value)].memory;
    if (a.kind == kScratch) {
      memory = api.CreateBuffer(context, cl::kReadWrite, static_cast<size_t>(a.value) + kGuard,
                                nullptr, &code);
      Check(code, "clCreateBuffer");
      scratch->push_back(memory);
    }
    const int32_t narrow = static_cast<int32_t>(a.value);
    if (a.kind == kIndex) {
      const void* at = r.index_bytes == 4 ? static_cast<const void*>(&narrow) : &a.value;
      set(static_cast<size_t>(r.index_bytes), at);
      continue;
    }
    set(sizeof memory, &memory);
    const bool image = a.kind == kMemory && r.objects[static_cast<size_t>(a.value)].image;
    const uint64_t begin = 0;  // every value is an object of its own
    if (!image) set(sizeof begin, &begin);
  }
  size_t items[3];
  for (int d = 0; d < 3; d++) items[d] = (c.items[d] + c.group[d] - 1) / c.group[d] * c.group[d];
  if (items[0] * items[1] * items[2] != 0) {
    Check(api.EnqueueNDRangeKernel(queue, kernel, 3, nullptr, items, c.group, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel " + c.kernel);
  }
  Check(api.ReleaseKernel(kernel), "clReleaseKernel");
}

constexpr int32_t kBadValue = 13, kLacks = -1;

bool Has(const std::string& extension) {
  return extension.empty() ||
         (" " + extensions + " ").find(" " + extension + " ") != std::string::npos;
}

void Run(cl::Program program, Request r) {
  for (Object& o : r.objects) Create(&o);
  cl::Int code;
  int32_t status = 0;
  cl::Memory bad =
      api.CreateBuffer(context, cl::kReadWrite | cl::kCopyHost, sizeof status, &status, &code);
  Check(code, "clCreateBuffer");
  std::vector<cl::Memory> made = {bad};
  for (const Call& c : r.calls) Start(program, r, c, bad, &made);
  Check(api.Finish(queue), "clFinish");
  Check(api.EnqueueReadBuffer(queue, bad, 1, 0, sizeof status, &status, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  if (status != 0) status = kBadValue;
  Write(&status, sizeof status);
  for (size_t n : r.outputs) {
    const std::string data = Contents(r.objects[n]);
    Write(data.data(), data.size());
  }
  for (const Object& o : r.objects) {
    Contents(o);  // nothing is written beyond any buffer
    made.push_back(o.memory);
  }
  for (cl::Memory m : made) Check(api.ReleaseMemObject(m), "clReleaseMemObject");
}

// Bundle runs requests whose kernels are one program.
void Bundle() {
  const std::string needs = Text(), source = Text();
  const int64_t index_bytes = Number();
  const bool has = Has(needs);
  cl::Program program = has ? Build(source) : cl::Program();
  for (int64_t n = Number(); n > 0; n--) {
    Request r = ReadRequest(index_bytes);
    if (has)
      Run(program, std::move(r));
    else
      Write(&kLacks, sizeof kLacks);
  }
  if (has) Check(api.ReleaseProgram(program), "clReleaseProgram");
}

}  // namespace

int main() {
  Start();
  for (int64_t n = Number(); n > 0; n--) Bundle();
  return 0;
}
