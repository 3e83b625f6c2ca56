#include "runtime/opencl/find.h"

#include <string.h>

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

constexpr Uint kMost = 32;     // maximum number of platforms, and of devices of a platform
constexpr size_t kName = 256;  // maximum bytes of a name

// Parses a number; returns -1 if the text is not a number.
int64_t Number(const char* s) {
  int64_t n = 0;
  const char* const begin = s;
  for (; *s >= '0' && *s <= '9' && s - begin < 9; ++s) n = n * 10 + (*s - '0');
  return s == begin || *s != 0 ? -1 : n;
}

// Reports whether an option is not set.
bool Any(const char* want) { return want == nullptr || *want == 0; }

// Reports whether an option selects the i-th object, which has this name.
bool Meant(const char* want, int64_t i, const char* name) {
  if (Any(want)) return true;
  const int64_t n = Number(want);
  return n >= 0 ? n == i : strstr(name, want) != nullptr;
}

struct Name {
  char text[kName];
};

Name PlatformName(const Api& api, Platform platform) {
  Name name = {};
  if (api.GetPlatformInfo(platform, kPlatformName, kName - 1, name.text, nullptr) != kSuccess) {
    name.text[0] = 0;
  }
  return name;
}

Name DeviceName(const Api& api, Device device) {
  Name name = {};
  if (api.GetDeviceInfo(device, kDeviceName, kName - 1, name.text, nullptr) != kSuccess) {
    name.text[0] = 0;
  }
  return name;
}

// The state of a search for a device.
struct Search {
  const Api* api;
  const DeviceOptions* options;
  Device found;  // null: not found yet
  Device devices[kMost];
};

// Takes the first of the listed devices that the option selects.
void Look(Search* s, Uint count) {
  for (Uint i = 0; i < count && i < kMost && s->found == nullptr; ++i) {
    if (Meant(s->options->device, i, DeviceName(*s->api, s->devices[i]).text)) {
      s->found = s->devices[i];
    }
  }
}

// Lists all platforms and devices if none is selected.
void List(const Api& api, const Platform* platforms, Uint count, Words* words) {
  Device devices[kMost];
  for (Uint i = 0; i < count; ++i) {
    words->Add(i == 0 ? "; there are " : ", ").Add("platform ").Add(int64_t{i}).Add(" \"");
    words->Add(PlatformName(api, platforms[i]).text).Add("\"");
    Uint n = 0;
    if (api.GetDeviceIDs(platforms[i], kAllDevices, kMost, devices, &n) != kSuccess) n = 0;
    for (Uint k = 0; k < n && k < kMost; ++k) {
      words->Add(k == 0 ? " with " : ", ").Add("device ").Add(int64_t{k}).Add(" \"");
      words->Add(DeviceName(api, devices[k]).text).Add("\"");
    }
  }
}

// Without a device option, a GPU is preferred.
Status Choose(const Api& api, const DeviceOptions& o, Device* device, Words* words) {
  Platform platforms[kMost];
  Uint count = 0;
  const Int code = api.GetPlatformIDs(kMost, platforms, &count);
  if (code != kSuccess) return Failed(words, "clGetPlatformIDs", code);
  if (count > kMost) count = kMost;
  if (count == 0) return Failed(words, Status::kNoDevice, "no OpenCL platform is installed");
  Search s = {&api, &o, nullptr, {}};
  const Bits types[] = {Any(o.device) ? kGpus : kAllDevices, kAllDevices};
  for (const Bits type : types) {
    for (Uint i = 0; i < count && s.found == nullptr; ++i) {
      if (!Meant(o.platform, i, PlatformName(api, platforms[i]).text)) continue;
      Uint n = 0;
      if (api.GetDeviceIDs(platforms[i], type, kMost, s.devices, &n) == kSuccess) Look(&s, n);
    }
    if (s.found != nullptr) break;
  }
  *device = s.found;
  if (s.found != nullptr) return Status::kOk;
  Failed(words, Status::kNoDevice, "no device matches the options");
  words->Add(" (platform: ").Add(Any(o.platform) ? "any" : o.platform);
  words->Add(", device: ").Add(Any(o.device) ? "any" : o.device).Add(")");
  List(api, platforms, count, words);
  return Status::kNoDevice;
}

// Finds the device of the application's context: its only device, or the selected one.
Status OfContext(const Api& api, const DeviceOptions& o, Device* device, Words* words) {
  Search s = {&api, &o, nullptr, {}};
  size_t bytes = 0;
  const Int code = api.GetContextInfo(static_cast<Context>(o.context), kContextDevices,
                                      sizeof(s.devices), s.devices, &bytes);
  if (code != kSuccess) {
    Failed(words, "clGetContextInfo", code);
    return Status::kBadOptions;
  }
  Look(&s, static_cast<Uint>(bytes / sizeof(Device)));
  *device = s.found;
  if (s.found != nullptr) return Status::kOk;
  return Failed(words, Status::kNoDevice, "the context has no device with this name or number");
}

// Returns the index of a device in the application's context; -1 if it is not known.
int64_t NumberInContext(const Api& api, const DeviceOptions& o, Device device) {
  Device devices[kMost];
  size_t bytes = 0;
  if (api.GetContextInfo(static_cast<Context>(o.context), kContextDevices, sizeof(devices), devices,
                         &bytes) != kSuccess) {
    return -1;
  }
  for (size_t i = 0; i < bytes / sizeof(Device) && i < kMost; ++i) {
    if (devices[i] == device) return static_cast<int64_t>(i);
  }
  return -1;
}

// Checks that the application's queue belongs to its context and is in order.
Status OfQueue(const Api& api, const DeviceOptions& o, Device* device, Words* words) {
  const Queue queue = static_cast<Queue>(o.queue);
  Context context = nullptr;
  Bits properties = 0;
  Int code = api.GetCommandQueueInfo(queue, kQueueContext, sizeof(context), &context, nullptr);
  if (code == kSuccess) {
    code = api.GetCommandQueueInfo(queue, kQueueDevice, sizeof(*device), device, nullptr);
  }
  if (code == kSuccess) {
    code =
        api.GetCommandQueueInfo(queue, kQueueProperties, sizeof(properties), &properties, nullptr);
  }
  if (code != kSuccess) {
    Failed(words, "clGetCommandQueueInfo", code);
    return Status::kBadOptions;
  }
  if (context != static_cast<Context>(o.context)) {
    return Failed(words, Status::kBadOptions,
                  "the queue belongs to another context than the options'");
  }
  if ((properties & kOutOfOrder) != 0) {
    return Failed(words, Status::kBadOptions, "the queue is out of order; want an in-order queue");
  }
  const int64_t number = Any(o.device) ? -1 : NumberInContext(api, o, *device);
  if (!Meant(o.device, number, DeviceName(api, *device).text)) {
    return Failed(words, Status::kBadOptions,
                  "the queue belongs to another device than the options'");
  }
  return Status::kOk;
}

// Reports whether a word is in a list of words separated by spaces.
bool Has(const char* list, const char* word) {
  const size_t n = strlen(word);
  for (const char* at = list; (at = strstr(at, word)) != nullptr; at += n) {
    if ((at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) return true;
  }
  return false;
}

}  // namespace

Status Find(const Api& api, const DeviceOptions& o, Found* found, Words* words) {
  *found = {nullptr, static_cast<Context>(o.context), static_cast<Queue>(o.queue)};
  if (o.context == nullptr) {
    if (o.queue == nullptr) return Choose(api, o, &found->device, words);
    return Failed(words, Status::kBadOptions, "the options have a queue but not its context");
  }
  if (!Any(o.platform)) {
    return Failed(words, Status::kBadOptions,
                  "the options have a context and a platform; set one of them");
  }
  if (o.queue != nullptr) return OfQueue(api, o, &found->device, words);
  return OfContext(api, o, &found->device, words);
}

Status InfoText(const Api& api, Device device, Uint what, Bytes* text, Words* words) {
  size_t n = 0;
  Int code = api.GetDeviceInfo(device, what, 0, nullptr, &n);
  if (code != kSuccess) return Failed(words, "clGetDeviceInfo", code);
  if (!text->Resize(n + 1)) return Status::kOutOfMemory;
  code = api.GetDeviceInfo(device, what, n, text->data(), nullptr);
  if (code != kSuccess) return Failed(words, "clGetDeviceInfo", code);
  text->data()[n] = 0;
  return Status::kOk;
}

Status Check(const Api& api, Device device, const DeviceInfo& info, const Options& options,
             Words* words) {
  Bytes extensions(options);
  const Status status = InfoText(api, device, kDeviceExtensions, &extensions, words);
  if (status != Status::kOk) return status;
  for (int32_t i = 0; i < info.need_count; ++i) {
    if (Has(extensions.text(), info.needs[i])) continue;
    Failed(words, Status::kUnsupportedDevice, DeviceName(api, device).text);
    words->Add(" has no ").Add(info.needs[i]);
    return Status::kUnsupportedDevice;
  }
  size_t items = 0;
  Uint images = 0;
  Int code = api.GetDeviceInfo(device, kDeviceMaxGroup, sizeof(items), &items, nullptr);
  if (code == kSuccess) {
    code = api.GetDeviceInfo(device, kDeviceImages, sizeof(images), &images, nullptr);
  }
  if (code != kSuccess) return Failed(words, "clGetDeviceInfo", code);
  if (items < static_cast<size_t>(info.group_items)) {
    Failed(words, Status::kUnsupportedDevice, DeviceName(api, device).text);
    words->Add(" allows work-groups of ").Add(static_cast<int64_t>(items));
    words->Add(" work-items; the kernels have up to ").Add(int64_t{info.group_items});
    return Status::kUnsupportedDevice;
  }
  if (images == 0 && info.image_count > 0) {
    Failed(words, Status::kUnsupportedDevice, DeviceName(api, device).text);
    words->Add(" has no images");
    return Status::kUnsupportedDevice;
  }
  return Status::kOk;
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
