#include "app/classifier.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

// Of the colors in the training images, each from 0 to 1.
constexpr float kMean[] = {0.4914f, 0.4822f, 0.4465f};
constexpr float kDeviation[] = {0.2470f, 0.2435f, 0.2616f};

std::string Error(const char* what, app_model::Status status) {
  return status == app_model_OK ? "" : std::string(what) + ": " + app_model::Message(status);
}

}  // namespace

const char* const kClassNames[kClasses] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

std::string Classifier::Create(int workers) {
  app_model::Options options = {};
  options.size = sizeof(options);
  options.workers = workers;
  const std::string error = Error("creating the model", model_.Create(&options));
  return error.empty() ? Error("creating a context", context_.Create(model_)) : error;
}

void Classifier::AppendInput(const float* rgb, std::vector<float>* input) {
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < kPixels; ++i) {
      input->push_back((rgb[i * 3 + c] / 255.0f - kMean[c]) / kDeviation[c]);
    }
  }
}

std::string Classifier::Run(size_t batch, const float* input, float* logits) {
  const app_model::Dims dims = {static_cast<int64_t>(batch)};
  return Error("running the model", context_.Run(dims, input, logits));
}

std::vector<float> Softmax(const float* logits) {
  const float top = *std::max_element(logits, logits + kClasses);
  std::vector<float> p;
  float sum = 0;
  for (size_t i = 0; i < kClasses; ++i) {
    p.push_back(std::exp(logits[i] - top));
    sum += p.back();
  }
  for (float& x : p) x /= sum;
  return p;
}

}  // namespace app
