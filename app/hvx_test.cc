// Runs the quantized network through a stub and its skeleton. A FastRPC library loads the skeleton
// into this process, or into one under qemu-hexagon. The results for the pictures must equal the
// processor's byte by byte.
//
//   hvx_test SHEET.png COUNT SKELETON.so
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "app/classifier.h"
#include "app/expected.h"
#include "app/image.h"
#include "app/model_hvx.h"

namespace {

using app::Expected;
using app::kInput;
using app::message;

std::vector<float> Inputs(const std::string& sheet, size_t count) {
  app::Image image;
  const std::string error = app::ReadPng(sheet, &image);
  std::snprintf(message, sizeof(message), "%s", error.c_str());
  CHECK(error.empty() && image.width == static_cast<int>(app::kPixels) && image.height == 500);
  CHECK(count > 0 && count <= 500);
  std::vector<float> all;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* const row = image.rgb.data() + i * kInput;
    app::Classifier::AppendInput(std::vector<float>(row, row + kInput).data(), &all);
  }
  return all;
}

app_model_hvx::Options Options(const char* library) {
  app_model_hvx::Options o = {};
  o.size = sizeof(o);
  o.library = library;
  o.message = message;
  o.message_bytes = sizeof(message);
  return o;
}

// Reports whether a model returns the expected bytes, in batches, with shared or ordinary memory.
bool Same(app_model_hvx::Model* model, size_t batch, bool shared, const std::vector<float>& x,
          const std::vector<float>& expected) {
  app_model_hvx::Context context;
  CHECK(context.Create(*model) == app_model_hvx_OK);
  void *in = nullptr, *out = nullptr;
  CHECK(model->Allocate(batch * kInput * sizeof(float), &in) == app_model_hvx_OK);
  CHECK(model->Allocate(batch * app::kClasses * sizeof(float), &out) == app_model_hvx_OK);
  bool same = true;
  for (size_t i = 0; i < x.size() / kInput && same; i += batch) {
    const size_t n = i + batch > x.size() / kInput ? x.size() / kInput - i : batch;
    const app_model_hvx::Dims dims = {static_cast<int64_t>(n)};
    const float* from = &x[i * kInput];
    if (shared) from = static_cast<float*>(std::memcpy(in, from, n * kInput * sizeof(float)));
    std::vector<float> own(n * app::kClasses);
    float* const to = shared ? static_cast<float*>(out) : own.data();
    const auto status = context.Run(dims, from, to);
    if (status != app_model_hvx_OK) context.Explain(message, sizeof(message));
    CHECK(status == app_model_hvx_OK);
    same = std::memcmp(to, &expected[i * app::kClasses], n * app::kClasses * sizeof(float)) == 0;
  }
  model->Release(in);
  model->Release(out);
  return same;
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 4);
  const size_t count = std::strtoul(argv[2], nullptr, 10);
  const std::string skeleton = argv[3];
  const size_t folder = skeleton.rfind('/');
  CHECK(folder != std::string::npos);
  setenv("FAKE_DSP", skeleton.substr(0, folder).c_str(), 1);
  const std::string file = skeleton.substr(folder + 1);
  const std::vector<float> x = Inputs(argv[1], count), expected = Expected(x);

  app_model_hvx::Options options = Options(file.c_str());
  std::string chip;
  {
    app_model_hvx::Model model;
    CHECK(model.Create(&options) == app_model_hvx_OK);
    for (const size_t batch : {size_t{7}, size_t{50}}) {
      for (const bool shared : {false, true}) CHECK(Same(&model, batch, shared, x, expected));
    }

    // The stub rejects dims that do not fit, without a call of the DSP.
    const app_model_hvx::Dims none = {0};
    app_model_hvx::Context context;
    CHECK(context.Create(model) == app_model_hvx_OK);
    CHECK(context.Run(none, x.data(), nullptr) == app_model_hvx_BAD_DIMS);
    chip = app_model_hvx_variant(model.get());
  }

  // If no skeleton has the model's name, creation fails, or the processor runs the model.
  setenv("FAKE_DSP", "nowhere", 1);
  app_model_hvx::Model other;
  options = Options(nullptr);
  CHECK(other.Create(&options) == app_model_hvx_NO_SKELETON);
  CHECK(std::strstr(message, "libapp_model_hvx_v68_skel.so") != nullptr);
  options.fallback = 1;
  CHECK(other.Create(&options) == app_model_hvx_OK);
  CHECK(Same(&other, 50, true, x, expected));
  std::printf("%zu pictures, the same bytes by %s and by the processor (%s)\n", count, chip.c_str(),
              app_model_hvx_variant(other.get()));
  return 0;
}
