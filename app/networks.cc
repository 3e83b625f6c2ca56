#include "app/networks.h"

#include "app/model.h"
#include "app/model_opencl.h"

namespace app {
namespace {

// Both APIs differ only in names and options.
struct CpuApi {
  using Model = app_model::Model;
  using Context = app_model::Context;
  using Options = app_model::Options;
  using Dims = app_model::Dims;
  static constexpr app_model::Status kOk = app_model_OK;
  static const char* Message(app_model::Status status) { return app_model::Message(status); }
};

struct OpenClApi {
  using Model = app_model_opencl::Model;
  using Context = app_model_opencl::Context;
  using Options = app_model_opencl::Options;
  using Dims = app_model_opencl::Dims;
  static constexpr app_model_opencl::Status kOk = app_model_opencl_OK;
  static const char* Message(app_model_opencl::Status status) {
    return app_model_opencl::Message(status);
  }
};

template <class Api>
class Compiled : public Network {
 public:
  std::string Run(size_t batch, const float* input, float* logits) override {
    const typename Api::Dims dims = {static_cast<int64_t>(batch)};
    const auto status = context_.Run(dims, input, logits);
    if (status == Api::kOk) return "";
    char why[1024] = "";
    context_.Explain(why, sizeof(why));
    return std::string("running the model: ") + Api::Message(status) + ": " + why;
  }

 protected:
  // Also stores the status of the model's creation.
  template <class Status>
  std::string CreateWith(const typename Api::Options& options, Status* status) {
    *status = model_.Create(&options);
    if (*status != Api::kOk) return std::string("creating the model: ") + Api::Message(*status);
    const auto made = context_.Create(model_);
    return made == Api::kOk ? "" : std::string("creating a context: ") + Api::Message(made);
  }

 private:
  typename Api::Model model_;
  typename Api::Context context_;
};

class Cpu : public Compiled<CpuApi> {
 public:
  std::string Create(const Settings& settings) override {
    app_model::Options options = {};
    options.size = sizeof(options);
    options.workers = settings.workers;
    options.cores = settings.cores.c_str();
    app_model::Status status = app_model_OK;
    return CreateWith(options, &status);
  }
};

class OpenCl : public Compiled<OpenClApi> {
 public:
  explicit OpenCl(bool* without_device) : without_device_(without_device) {}

  std::string Create(const Settings& settings) override {
    char message[4096] = "";  // the driver's words
    app_model_opencl::Options options = {};
    options.size = sizeof(options);
    options.workers = settings.workers;
    options.cores = settings.cores.c_str();
    options.device = settings.device.empty() ? nullptr : settings.device.c_str();
    options.cache = settings.cache.empty() ? nullptr : settings.cache.c_str();
    options.message = message;
    options.message_bytes = sizeof(message);
    app_model_opencl::Status status = app_model_opencl_OK;
    const std::string error = CreateWith(options, &status);
    *without_device_ = status == app_model_opencl_NO_OPENCL || status == app_model_opencl_NO_DEVICE;
    return message[0] == '\0' ? error : error + ": " + message;
  }

 private:
  bool* const without_device_;
};

}  // namespace

std::unique_ptr<Network> OnCpu() { return std::make_unique<Cpu>(); }

std::unique_ptr<Network> OnOpenCl(bool* without_device) {
  return std::make_unique<OpenCl>(without_device);
}

}  // namespace app
