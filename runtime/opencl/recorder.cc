#include "runtime/opencl/recorder.h"

#include <string.h>

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

constexpr char kExtension[] = "cl_khr_command_buffer";

// Constants of the specification. Devices of OpenCL 3.0 or with cl_khr_extended_versioning know the
// first one.
constexpr Uint kExtensionVersions = 0x1060;
constexpr Uint kCapabilities = 0x12a9, kRequiredOfQueues = 0x12aa;
constexpr Bits kCanOverlap = 4;  // until version 0.9.8
constexpr int kNewest = 8;       // the third part of version 0.9.8

// An extension as devices list it.
struct Listed {
  Uint version;  // 10 bits, 10 bits and 12 bits
  char name[64];
};

// Returns the third part of the extension's version; negative if the extension or its version is
// not known.
int Revision(const Api& api, Device device, const Options& options) {
  size_t bytes = 0;
  if (api.GetDeviceInfo(device, kExtensionVersions, 0, nullptr, &bytes) != kSuccess) return -1;
  Bytes list(options);
  if (bytes < sizeof(Listed) || !list.Resize(bytes)) return -1;
  if (api.GetDeviceInfo(device, kExtensionVersions, bytes, list.data(), nullptr) != kSuccess) {
    return -1;
  }
  for (size_t at = 0; at + sizeof(Listed) <= bytes; at += sizeof(Listed)) {
    Listed one;
    memcpy(&one, list.data() + at, sizeof(one));
    if (memcmp(one.name, kExtension, sizeof(kExtension)) != 0) continue;
    const int last = static_cast<int>(one.version & 0xfff);
    return one.version >> 12 == 9 && last <= kNewest ? last : -1;
  }
  return -1;
}

template <class Function>
bool Look(const Api& api, Platform platform, const char* name, Function** out) {
  void* const found = api.GetExtensionFunctionAddressForPlatform(platform, name);
  *out = reinterpret_cast<Function*>(found);
  return found != nullptr;
}

// Reports whether a queue has the properties that command buffers require; null stands for a queue
// that we create.
bool Fits(const Api& api, Device device, Queue queue) {
  Bits wants = 0, has = 0;
  if (api.GetDeviceInfo(device, kRequiredOfQueues, sizeof(wants), &wants, nullptr) != kSuccess) {
    return false;
  }
  if (queue != nullptr &&
      api.GetCommandQueueInfo(queue, kQueueProperties, sizeof(has), &has, nullptr) != kSuccess) {
    return false;
  }
  return (wants & ~has) == 0;
}

}  // namespace

bool FindRecorder(const Api& api, Device device, Queue queue, const Options& options,
                  Recorder* recorder) {
  const int revision = Revision(api, device, options);
  if (revision < 0 || !Fits(api, device, queue)) return false;
  Platform platform = nullptr;
  Bits can = 0;
  if (api.GetDeviceInfo(device, kDevicePlatform, sizeof(platform), &platform, nullptr) !=
          kSuccess ||
      api.GetDeviceInfo(device, kCapabilities, sizeof(can), &can, nullptr) != kSuccess) {
    return false;
  }
  recorder->asks = revision < 8 && (can & kCanOverlap) != 0;
  // From 0.9.8 on any command buffer may be started again while an in-order queue serializes its
  // runs.
  recorder->overlaps = revision >= 8 || recorder->asks;
#define RULES_DNN_OPENCL_FIND(name, result, params) \
  if (!Look(api, platform, "cl" #name "KHR", &recorder->name)) return false;
  RULES_DNN_OPENCL_RECORDING(RULES_DNN_OPENCL_FIND)
#undef RULES_DNN_OPENCL_FIND
  return true;
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
