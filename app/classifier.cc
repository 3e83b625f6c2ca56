#include "app/classifier.h"

#include <algorithm>
#include <cmath>

#include "app/networks.h"

namespace app {
namespace {

// Statistics of the colors in the training images, for values from 0 to 1.
constexpr float kMean[] = {0.4914f, 0.4822f, 0.4465f};
constexpr float kDeviation[] = {0.2470f, 0.2435f, 0.2616f};

}  // namespace

const char* const kClassNames[kClasses] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

std::string Classifier::Create(const Settings& settings) {
  without_device_ = false;
  network_ = settings.backend == Backend::kCpu ? OnCpu() : OnOpenCl(&without_device_);
  return network_->Create(settings);
}

void Classifier::AppendInput(const float* rgb, std::vector<float>* input) {
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < kPixels; ++i) {
      input->push_back((rgb[i * 3 + c] / 255.0f - kMean[c]) / kDeviation[c]);
    }
  }
}

std::string Classifier::Run(size_t batch, const float* input, float* logits) {
  return network_->Run(batch, input, logits);
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
