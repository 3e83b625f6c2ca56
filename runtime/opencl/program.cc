#include "runtime/opencl/program.h"

#include <string.h>

#include "runtime/dnn_weights.h"
#include "runtime/opencl/cache.h"
#include "runtime/opencl/find.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

constexpr Uint kProgramDevices = 0x1163;
constexpr size_t kMostDevices = 32;

// The inputs of a build: the kernels and the device.
struct Build {
  const Api& api;
  Context context;
  Device device;
  const DeviceInfo& info;
  const Options& options;
  const char* flags;
};

// Returns the build options: OpenCL C 1.2, and exact division if the device supports it.
Status Flags(const Api& api, Device device, const char** flags, Words* words) {
  Bits config = 0;
  const Int code = api.GetDeviceInfo(device, kDeviceSingleConfig, sizeof(config), &config, nullptr);
  if (code != kSuccess) return Failed(words, "clGetDeviceInfo", code);
  *flags = (config & kCorrectDivide) != 0 ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
                                          : "-cl-std=CL1.2";
  return Status::kOk;
}

// Computes the hash of the hashes of everything that determines the driver's binary.
Status MakeKey(const Build& b, Key* key, Words* words) {
  constexpr Uint kWhat[] = {kDeviceName, kDeviceVersion, kDriverVersion, kDeviceExtensions};
  constexpr size_t kParts = sizeof(kWhat) / sizeof(kWhat[0]) + 3;
  uint8_t parts[kParts][32];
  Bytes text(b.options);
  size_t n = 0;
  for (const Uint what : kWhat) {
    const Status status = InfoText(b.api, b.device, what, &text, words);
    if (status != Status::kOk) return status;
    Sha256(text.data(), text.size(), parts[n++]);
  }
  Sha256(reinterpret_cast<const uint8_t*>(b.flags), strlen(b.flags), parts[n++]);
  Sha256(reinterpret_cast<const uint8_t*>(b.info.source), b.info.source_bytes, parts[n++]);
  if (b.info.probe != nullptr) {
    Sha256(reinterpret_cast<const uint8_t*>(b.info.probe), strlen(b.info.probe), parts[n++]);
  }
  Sha256(parts[0], n * sizeof(parts[0]), key->hash);
  return Status::kOk;
}

// Adds the driver's log to the words.
void AddLog(const Build& b, Program program, Words* words) {
  size_t n = 0;
  Bytes log(b.options);
  if (b.api.GetProgramBuildInfo(program, b.device, kBuildLog, 0, nullptr, &n) != kSuccess) return;
  if (n == 0 || !log.Resize(n)) return;
  if (b.api.GetProgramBuildInfo(program, b.device, kBuildLog, n, log.data(), nullptr) == kSuccess) {
    words->Add("\n").Add(log.text(), strnlen(log.text(), n));
  }
}

// Reports whether the driver compiles the probe. A failure is not reported: the kernels also work
// without the probed feature.
bool Takes(const Build& b) {
  Int code = kSuccess;
  const size_t bytes = strlen(b.info.probe);
  const char* texts[] = {b.info.probe};
  const Program p = b.api.CreateProgramWithSource(b.context, 1, texts, &bytes, &code);
  if (p == nullptr) return false;
  const bool taken = code == kSuccess &&
                     b.api.BuildProgram(p, 1, &b.device, b.flags, nullptr, nullptr) == kSuccess;
  b.api.ReleaseProgram(p);
  return taken;
}

Status Compiled(const Build& b, Program* program, Words* words) {
  Int code = kSuccess;
  const char* const text = b.info.source;
  const char* texts[] = {text};
  const Program p = b.api.CreateProgramWithSource(b.context, 1, texts, &b.info.source_bytes, &code);
  if (p == nullptr || code != kSuccess) return Failed(words, "clCreateProgramWithSource", code);
  code = b.api.BuildProgram(p, 1, &b.device, b.flags, nullptr, nullptr);
  if (code == kSuccess) {
    *program = p;
    return Status::kOk;
  }
  const Status status = Failed(words, "clBuildProgram", code);
  AddLog(b, p, words);
  b.api.ReleaseProgram(p);
  return status;
}

// Builds from source; defines the macro for the probed feature if the driver compiles the probe.
Status FromSource(const Build& b, Program* program, Words* words) {
  if (b.info.probe == nullptr || !Takes(b)) return Compiled(b, program, words);
  Bytes flags(b.options);
  constexpr char kDefine[] = " -D ";
  const size_t had = strlen(b.flags), more = strlen(b.info.probed);
  if (!flags.Resize(had + sizeof(kDefine) + more)) return Status::kOutOfMemory;
  uint8_t* to = flags.data();
  memcpy(to, b.flags, had);
  memcpy(to + had, kDefine, sizeof(kDefine) - 1);
  memcpy(to + had + sizeof(kDefine) - 1, b.info.probed, more + 1);
  const Build probed = {b.api, b.context, b.device, b.info, b.options, flags.text()};
  return Compiled(probed, program, words);
}

// Builds from a binary. Returns false if the driver rejects it, for example after an update.
bool FromBinary(const Build& b, const Bytes& binary, Program* program) {
  Int code = kSuccess, loaded = kSuccess;
  const size_t bytes = binary.size();
  const uint8_t* data[] = {binary.data()};
  const Program p =
      b.api.CreateProgramWithBinary(b.context, 1, &b.device, &bytes, data, &loaded, &code);
  if (p == nullptr) return false;
  if (code == kSuccess && loaded == kSuccess &&
      b.api.BuildProgram(p, 1, &b.device, b.flags, nullptr, nullptr) == kSuccess) {
    *program = p;
    return true;
  }
  b.api.ReleaseProgram(p);
  return false;
}

// Returns the index of the device among the program's devices, which are all of the context's.
size_t Place(const Build& b, Program program) {
  Device devices[kMostDevices];
  size_t bytes = 0;
  if (b.api.GetProgramInfo(program, kProgramDevices, sizeof(devices), devices, &bytes) !=
      kSuccess) {
    return kMostDevices;
  }
  for (size_t i = 0; i < bytes / sizeof(Device) && i < kMostDevices; ++i) {
    if (devices[i] == b.device) return i;
  }
  return kMostDevices;
}

void Keep(const Build& b, Program program, const char* cache, const Key& key) {
  const size_t place = Place(b, program);
  size_t sizes[kMostDevices] = {}, bytes = 0;
  uint8_t* binaries[kMostDevices] = {};
  if (place == kMostDevices ||
      b.api.GetProgramInfo(program, kBinarySizes, sizeof(sizes), sizes, &bytes) != kSuccess) {
    return;
  }
  Bytes binary(b.options);
  if (sizes[place] == 0 || !binary.Resize(sizes[place])) return;
  binaries[place] = binary.data();  // other devices' binaries are not requested
  const size_t pointers = bytes / sizeof(size_t) * sizeof(uint8_t*);
  if (b.api.GetProgramInfo(program, kBinaries, pointers, binaries, nullptr) != kSuccess) return;
  WriteCache(cache, key, b.options, binary.data(), binary.size());
}

}  // namespace

Status MakeProgram(const Api& api, Context context, Device device, const DeviceInfo& info,
                   const Options& options, const char* cache, Program* program, Words* words) {
  const char* flags = nullptr;
  Status status = Flags(api, device, &flags, words);
  if (status != Status::kOk) return status;
  const Build b = {api, context, device, info, options, flags};
  if (cache == nullptr || *cache == 0) return FromSource(b, program, words);
  Key key;
  status = MakeKey(b, &key, words);
  if (status != Status::kOk) return status;
  Bytes binary(options);
  if (ReadCache(cache, key, options, &binary) && FromBinary(b, binary, program)) {
    return Status::kOk;
  }
  binary.Resize(0);
  status = FromSource(b, program, words);
  if (status == Status::kOk) Keep(b, *program, cache, key);
  return status;
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
