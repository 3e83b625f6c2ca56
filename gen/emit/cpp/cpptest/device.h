// The device's part of a program for tests: described by a request, and made for one run.
#include <stdlib.h>

#include <string>
#include <vector>

#include "runtime/dnn_device.h"
#include "runtime/opencl/backend.h"

// Runs of each program; where they are many, the last ones replay what the first ones launched, if
// the driver has command buffers.
#ifndef DRIVER_RUNS
#define DRIVER_RUNS 1
#endif

static std::string Text() {
  std::string s(static_cast<size_t>(Number()), '\0');
  if (!Read(&s[0], s.size())) Fail("the request is too short");
  return s;
}

static std::vector<std::string> Texts() {
  std::vector<std::string> list(static_cast<size_t>(Number()));
  for (std::string& s : list) s = Text();
  return list;
}

static std::vector<const char*> Pointers(const std::vector<std::string>& list) {
  std::vector<const char*> out;
  for (const std::string& s : list) out.push_back(s.c_str());
  return out;
}

static rules_dnn::Size Constant() { return {0, Number(), -1, -1}; }

static std::string Contents(const std::string& path) {
  std::string s;
  FILE* const f = fopen(path.c_str(), "rb");
  if (f == nullptr) Fail("no source of kernels");
  char buffer[1 << 16];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), f)) > 0;) s.append(buffer, n);
  fclose(f);
  return s;
}

static void* AllocateSome(void*, size_t bytes, size_t alignment) {
  void* p = nullptr;
  return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

static void ReleaseSome(void*, void* memory, size_t) { free(memory); }

// Reads what a program has of the device, and runs it there.
static rules_dnn::Status RunOnDevice(Program* run, rules_dnn::Ctx* c, const char** refused) {
  const rules_dnn::Backend& backend = rules_dnn::opencl::kBackend;
  const std::string source = Contents(Text());
  const std::vector<std::string> kernels = Texts(), needs = Texts(), flags = Texts();
  const std::vector<const char*> kernel_names = Pointers(kernels), need_names = Pointers(needs),
                                 flag_names = Pointers(flags);
  rules_dnn::DeviceInfo info = {};
  info.backend = &backend;
  info.source = source.data();
  info.source_bytes = source.size();
  info.kernels = kernel_names.data();
  info.kernel_count = static_cast<int32_t>(kernels.size());
  info.needs = need_names.data();
  info.need_count = static_cast<int32_t>(needs.size());
  info.flags = flag_names.data();
  info.flag_count = static_cast<int32_t>(flags.size());
  info.index_bytes = static_cast<int32_t>(Number());
  info.group_items = static_cast<int32_t>(Number());
  info.workers = static_cast<int32_t>(Number());
  info.arena = Constant();
  info.scratch = Constant();
  info.weights_at = Number();
  info.weights_bytes = Number();
  std::vector<rules_dnn::ImageInfo> images(static_cast<size_t>(Number()));
  for (rules_dnn::ImageInfo& x : images) {
    x.width = Constant();
    x.height = Constant();
  }
  info.images = images.data();
  info.image_count = static_cast<int32_t>(images.size());
  rules_dnn::Description d = {};
  d.device = &info;
  rules_dnn::DeviceOptions options = {};
  static char message[1 << 16];
  options.message = message;
  options.message_bytes = sizeof(message);
  options.command_buffers = DRIVER_RUNS > 1 ? 1 : -1;
  options.host.allocate = AllocateSome;
  options.host.release = ReleaseSome;
  rules_dnn::DeviceModel* model = nullptr;
  rules_dnn::Status status = backend.model_create(&info, options, c->weights, &model);
  if (status == rules_dnn::Status::kBuildFailed) Fail(message);
  if (status != rules_dnn::Status::kOk) return status;
  status = backend.context_create(model, &c->device);
  if (status == rules_dnn::Status::kOk) status = backend.prepare(c->device, &d, c->sym);
  if (status == rules_dnn::Status::kOk) {
    status = backend.finish(c->device, run(c), refused);
  }
  for (int i = 1; i < DRIVER_RUNS && status == rules_dnn::Status::kOk; ++i) {
    status = backend.finish(c->device, run(c), refused);
  }
  if (status >= rules_dnn::Status::kNoOpenCl) Fail(c->device->words);
  backend.context_destroy(c->device);
  backend.model_destroy(model);
  return status;
}
