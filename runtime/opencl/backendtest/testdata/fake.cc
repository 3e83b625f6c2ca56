// A fake OpenCL library with two platforms. Their devices compute one kernel: "add" writes x + w +
// n to y for each work-item, and sets its flag if x is negative. The library counts objects and
// fails at the calls that a test selects.
#include "fake.h"

namespace {

cl::Int Text(const std::string& s, size_t capacity, void* to, size_t* size) {
  return Give(s.c_str(), s.size() + 1, capacity, to, size);
}

int platforms[2], devices[2];
constexpr char kBinary[] = "binary of ";

}  // namespace

// The arguments are y, x, w, n and the flag; each buffer is followed by the index of its first
// element.
cl::Int Compute(const Launched& l) {
  const auto buffer = [&](size_t i) {
    cl::Memory m;
    int64_t at;
    memcpy(&m, l.args[i].data(), sizeof(m));
    memcpy(&at, l.args[i + 1].data(), sizeof(at));
    return Get(m, 'm')->bytes.data() + 4 * at;
  };
  if (l.items % l.group != 0) return -54;
  float w;
  int32_t n;
  memcpy(&w, buffer(4), sizeof(w));
  memcpy(&n, l.args[6].data(), sizeof(n));
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    float x;
    memcpy(&x, buffer(2) + 4 * i, sizeof(x));
    const int32_t one = 1;
    if (x < 0) memcpy(buffer(7), &one, sizeof(one));
    x += w + static_cast<float>(n);
    memcpy(buffer(0) + 4 * i, &x, sizeof(x));
  }
  return 0;
}

extern "C" {

void fake_fail(const char* name, int n, int code) {
  calls.clear();
  failing = name;
  nth = n;
  failure = code;
}
int fake_calls(const char* name) { return calls[name]; }
int fake_alive() { return static_cast<int>(alive.size()); }

cl::Int clGetPlatformIDs(cl::Uint n, cl::Platform* out, cl::Uint* count) {
  const cl::Int code = Call("clGetPlatformIDs");
  for (cl::Uint i = 0; i < 2 && i < n; ++i) out[i] = reinterpret_cast<cl::Platform>(&platforms[i]);
  *count = Env("FAKE_PLATFORMS", "2") == "0" ? 0 : 2;
  return code;
}
cl::Int clGetPlatformInfo(cl::Platform p, cl::Uint, size_t n, void* to, size_t* size) {
  const cl::Int code = Call("clGetPlatformInfo");
  const bool first = reinterpret_cast<int*>(p) == &platforms[0];
  return code != 0 ? code : Text(first ? "Fake One" : "Fake Two", n, to, size);
}
cl::Int clGetDeviceIDs(cl::Platform p, cl::Bits type, cl::Uint, cl::Device* out, cl::Uint* count) {
  const cl::Int code = Call("clGetDeviceIDs");
  const bool first = reinterpret_cast<int*>(p) == &platforms[0];
  if (code != 0) return code;
  if (type == cl::kGpus && first) return -1;
  *count = 1;
  *out = reinterpret_cast<cl::Device>(&devices[first ? 0 : 1]);
  return 0;
}
cl::Int clGetDeviceInfo(cl::Device d, cl::Uint what, size_t n, void* to, size_t* size) {
  const cl::Int code = Call("clGetDeviceInfo");
  if (code != 0) return code;
  const bool first = reinterpret_cast<int*>(d) == &devices[0];
  const size_t group = static_cast<size_t>(atoi(Env("FAKE_GROUP", "256").c_str()));
  const cl::Uint images = Env("FAKE_IMAGES", "1") == "1";
  const cl::Bits config = cl::kCorrectDivide;
  void* const platform = &platforms[first ? 0 : 1];
  cl::Int told = 0;
  if (RecordingInfo(what, n, to, size, &told)) return told;
  switch (what) {
    case cl::kDevicePlatform:
      return Give(&platform, sizeof(platform), n, to, size);
    case cl::kDeviceName:
      return Text(first ? "slow processor" : "fast GPU", n, to, size);
    case cl::kDeviceExtensions:
      return Text(Env("FAKE_EXTENSIONS", "cl_khr_fp64_not cl_khr_fp64"), n, to, size);
    case cl::kDriverVersion:
      return Text(Env("FAKE_DRIVER", "1.0"), n, to, size);
    case cl::kDeviceMaxGroup:
      return Give(&group, sizeof(group), n, to, size);
    case cl::kDeviceImages:
      return Give(&images, sizeof(images), n, to, size);
    case cl::kDeviceSingleConfig:
      return Give(&config, sizeof(config), n, to, size);
  }
  return Text("OpenCL 1.2", n, to, size);
}
void* clGetExtensionFunctionAddressForPlatform(cl::Platform p, const char* name) {
  const int* const x = reinterpret_cast<int*>(p);
  if (x != &platforms[0] && x != &platforms[1]) abort();
  return RecordingFunction(name);
}
cl::Context clCreateContext(const intptr_t*, cl::Uint, const cl::Device* d, cl::Notify, void*,
                            cl::Int* code) {
  cl::Context c = Make<cl::Context>('c', Call("clCreateContext"), code);
  if (c != nullptr) Get(c, 'c')->of = *d;
  return c;
}
cl::Int clGetContextInfo(cl::Context c, cl::Uint, size_t n, void* to, size_t* size) {
  const cl::Int code = Call("clGetContextInfo");
  return code != 0 ? code : Give(&Get(c, 'c')->of, sizeof(void*), n, to, size);
}
cl::Int clRetainContext(cl::Context c) {
  const cl::Int code = Call("clRetainContext");
  if (code == 0) ++Get(c, 'c')->references;
  return code;
}
cl::Int clReleaseContext(cl::Context c) { return Drop(c, 'c'); }
cl::Queue clCreateCommandQueue(cl::Context c, cl::Device, cl::Bits bits, cl::Int* code) {
  Get(c, 'c');
  cl::Queue q = Make<cl::Queue>('q', Call("clCreateCommandQueue"), code);
  if (q != nullptr) Get(q, 'q')->of = c;
  if (q != nullptr) Get(q, 'q')->clocks = (bits & cl::kProfiling) != 0;
  return q;
}
cl::Int clGetCommandQueueInfo(cl::Queue q, cl::Uint what, size_t n, void* to, size_t* size) {
  const cl::Int code = Call("clGetCommandQueueInfo");
  if (code != 0) return code;
  void* const context = Get(q, 'q')->of;
  const cl::Bits bits = Env("FAKE_QUEUE", "") == "out of order" ? cl::kOutOfOrder : 0;
  if (what == cl::kQueueContext) return Give(&context, sizeof(context), n, to, size);
  if (what == cl::kQueueProperties) return Give(&bits, sizeof(bits), n, to, size);
  return Give(&static_cast<Object*>(context)->of, sizeof(void*), n, to, size);
}
cl::Int clRetainCommandQueue(cl::Queue q) {
  const cl::Int code = Call("clRetainCommandQueue");
  if (code == 0) ++Get(q, 'q')->references;
  return code;
}
cl::Int clReleaseCommandQueue(cl::Queue q) { return Drop(q, 'q'); }
cl::Program clCreateProgramWithSource(cl::Context c, cl::Uint, const char** text, const size_t* n,
                                      cl::Int* code) {
  Get(c, 'c');
  cl::Program p = Make<cl::Program>('p', Call("clCreateProgramWithSource"), code);
  if (p != nullptr) {
    const std::string s = kBinary + std::string(*text, *n);
    Get(p, 'p')->bytes.assign(s.begin(), s.end());
    Get(p, 'p')->of = Get(c, 'c')->of;
  }
  return p;
}
cl::Program clCreateProgramWithBinary(cl::Context c, cl::Uint, const cl::Device*, const size_t* n,
                                      const uint8_t** data, cl::Int* loaded, cl::Int* code) {
  cl::Int result = Call("clCreateProgramWithBinary");
  if (*n < sizeof(kBinary) || memcmp(*data, kBinary, sizeof(kBinary) - 1) != 0) result = -42;
  *loaded = result;
  cl::Program p = Make<cl::Program>('p', result, code);
  if (p != nullptr) {
    Get(p, 'p')->bytes.assign(*data, *data + *n);
    Get(p, 'p')->of = Get(c, 'c')->of;
  }
  return p;
}
cl::Int clGetProgramInfo(cl::Program p, cl::Uint what, size_t n, void* to, size_t* size) {
  const cl::Int code = Call("clGetProgramInfo");
  if (code != 0) return code;
  Object* const o = Get(p, 'p');
  const size_t bytes = o->bytes.size();
  if (what == cl::kBinarySizes) return Give(&bytes, sizeof(bytes), n, to, size);
  if (what != cl::kBinaries) return Give(&o->of, sizeof(o->of), n, to, size);
  memcpy(*static_cast<uint8_t**>(to), o->bytes.data(), bytes);
  return 0;
}
cl::Int clBuildProgram(cl::Program p, cl::Uint, const cl::Device*, const char* flags, cl::Built,
                       void*) {
  Get(p, 'p')->built = true;
  if (strstr(flags, " -D MORE") != nullptr) ++calls["defined"];
  return Call("clBuildProgram");
}
cl::Int clGetProgramBuildInfo(cl::Program p, cl::Device, cl::Uint, size_t n, void* to,
                              size_t* size) {
  Get(p, 'p');
  const cl::Int code = Call("clGetProgramBuildInfo");
  return code != 0 ? code : Text("line 7: no such thing", n, to, size);
}
cl::Int clReleaseProgram(cl::Program p) { return Drop(p, 'p'); }
cl::Kernel clCreateKernel(cl::Program p, const char*, cl::Int* code) {
  if (!Get(p, 'p')->built) abort();
  cl::Kernel k = Make<cl::Kernel>('k', Call("clCreateKernel"), code);
  if (k != nullptr) Get(k, 'k')->args.resize(9);
  return k;
}
cl::Int clGetKernelInfo(cl::Kernel k, cl::Uint what, size_t n, void* to, size_t* size) {
  const cl::Uint args = static_cast<cl::Uint>(Get(k, 'k')->args.size());
  const cl::Int code = Call("clGetKernelInfo");
  if (what != cl::kKernelArgs) abort();
  return code != 0 ? code : Give(&args, sizeof(args), n, to, size);
}
cl::Int clSetKernelArg(cl::Kernel k, cl::Uint i, size_t n, const void* value) {
  const uint8_t* const b = static_cast<const uint8_t*>(value);
  Get(k, 'k')->args.at(i).assign(b, b + n);
  return Call("clSetKernelArg");
}
cl::Int clReleaseKernel(cl::Kernel k) { return Drop(k, 'k'); }
cl::Memory clCreateBuffer(cl::Context c, cl::Bits flags, size_t n, void* from, cl::Int* code) {
  Get(c, 'c');
  cl::Memory m = Make<cl::Memory>('m', n == 0 ? -61 : Call("clCreateBuffer"), code);
  if (m == nullptr) return m;
  Get(m, 'm')->bytes.assign(n, 0xff);
  Get(m, 'm')->of = c;
  if ((flags & cl::kCopyHost) != 0) ++calls["weights"];
  if ((flags & cl::kCopyHost) != 0) memcpy(Get(m, 'm')->bytes.data(), from, n);
  return m;
}
cl::Memory clCreateImage(cl::Context c, cl::Bits, const cl::ImageFormat*, const cl::ImageDesc* d,
                         void*, cl::Int* code) {
  Get(c, 'c');
  cl::Memory m = Make<cl::Memory>('m', d->width == 0 ? -40 : Call("clCreateImage"), code);
  if (m != nullptr) Get(m, 'm')->of = c;
  if (m != nullptr) Get(m, 'm')->image = true;
  return m;
}
cl::Int clGetMemObjectInfo(cl::Memory m, cl::Uint what, size_t n, void* to, size_t* size) {
  const cl::Int code = Call("clGetMemObjectInfo");
  Object* const o = reinterpret_cast<Object*>(m);
  if (code != 0 || alive.count(o) == 0) return code != 0 ? code : -38;
  const cl::Uint type = o->image ? cl::kImage2D : cl::kBuffer;
  const size_t bytes = o->bytes.size();
  if (what == cl::kMemoryType) return Give(&type, sizeof(type), n, to, size);
  if (what == cl::kMemorySize) return Give(&bytes, sizeof(bytes), n, to, size);
  return Give(&o->of, sizeof(o->of), n, to, size);
}
cl::Int clReleaseMemObject(cl::Memory m) { return Drop(m, 'm'); }
cl::Int clEnqueueReadBuffer(cl::Queue q, cl::Memory m, cl::Uint, size_t at, size_t n, void* to,
                            cl::Uint, const cl::Event*, cl::Event*) {
  Wait(Get(q, 'q'));
  Object* const o = Get(m, 'm');
  if (at + n > o->bytes.size()) return -30;
  memcpy(to, o->bytes.data() + at, n);
  return Call("clEnqueueReadBuffer");
}
cl::Int clEnqueueWriteBuffer(cl::Queue q, cl::Memory m, cl::Uint, size_t at, size_t n,
                             const void* from, cl::Uint, const cl::Event*, cl::Event*) {
  Wait(Get(q, 'q'));
  Object* const o = Get(m, 'm');
  if (at + n > o->bytes.size()) return -30;
  const cl::Int code = Call("clEnqueueWriteBuffer");
  if (code == 0) memcpy(o->bytes.data() + at, from, n);
  return code;
}
cl::Int clEnqueueCopyBuffer(cl::Queue q, cl::Memory from, cl::Memory to, size_t at, size_t to_at,
                            size_t n, cl::Uint, const cl::Event*, cl::Event*) {
  Get(q, 'q');
  Object *const a = Get(from, 'm'), *const b = Get(to, 'm');
  if (at + n > a->bytes.size() || to_at + n > b->bytes.size()) return -30;
  const cl::Int code = Call("clEnqueueCopyBuffer");
  if (code == 0) memcpy(b->bytes.data() + to_at, a->bytes.data() + at, n);
  return code;
}
cl::Int clEnqueueBarrierWithWaitList(cl::Queue q, cl::Uint n, const cl::Event* events, cl::Event*) {
  Get(q, 'q');
  for (cl::Uint i = 0; i < n; ++i) {
    if (alive.count(reinterpret_cast<Object*>(events[i])) == 0) return -57;
  }
  return Call("clEnqueueBarrierWithWaitList");
}
cl::Int clEnqueueMarkerWithWaitList(cl::Queue q, cl::Uint, const cl::Event*, cl::Event* out) {
  Get(q, 'q');
  cl::Int code = 0;
  *out = Make<cl::Event>('e', Call("clEnqueueMarkerWithWaitList"), &code);
  return code;
}
// Each kernel takes two milliseconds.
cl::Int clGetEventProfilingInfo(cl::Event e, cl::Uint what, size_t n, void* to, size_t* size) {
  const cl::Int code = Call("clGetEventProfilingInfo");
  if (code != 0 || !Get(e, 'e')->clocks) return code != 0 ? code : -7;
  const uint64_t ns = what == cl::kEventEnd ? 5000000 : 3000000;
  return Give(&ns, sizeof(ns), n, to, size);
}
cl::Int clReleaseEvent(cl::Event e) {
  Call("clReleaseEvent");
  return Drop(e, 'e');
}
cl::Int clFlush(cl::Queue q) {
  Get(q, 'q');
  return Call("clFlush");
}
cl::Int clEnqueueReadImage(cl::Queue, cl::Memory, cl::Uint, const size_t*, const size_t*, size_t,
                           size_t, void*, cl::Uint, const cl::Event*, cl::Event*) {
  return Call("clEnqueueReadImage");
}

cl::Int clEnqueueNDRangeKernel(cl::Queue q, cl::Kernel k, cl::Uint, const size_t*,
                               const size_t* global, const size_t* local, cl::Uint,
                               const cl::Event*, cl::Event* event) {
  Get(q, 'q');
  cl::Int code = Call("clEnqueueNDRangeKernel");
  Dawdle("FAKE_LAUNCH_US");
  if (code == 0) code = Compute({k, Get(k, 'k')->args, global[0], local[0]});
  if (code != 0) return code;
  if (event != nullptr) {
    *event = Make<cl::Event>('e', 0, nullptr);
    Get(*event, 'e')->clocks = Get(q, 'q')->clocks;
  }
  return 0;
}
cl::Int clFinish(cl::Queue q) {
  Wait(Get(q, 'q'));
  return Call("clFinish");
}

}  // extern "C"
