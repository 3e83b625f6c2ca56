// The network of this application: what it wants, what it answers.
#ifndef RULES_DNN_APP_CLASSIFIER_H_
#define RULES_DNN_APP_CLASSIFIER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "app/model.h"

namespace app {

constexpr int kSide = 32;
constexpr size_t kPixels = size_t{kSide} * kSide;
constexpr size_t kClasses = 10;

extern const char* const kClassNames[kClasses];

class Classifier {
 public:
  // Returns an empty string, or what is wrong.
  std::string Create(int workers);

  // Appends the network's input of an image, given as kPixels * 3 floats from 0 to 255.
  static void AppendInput(const float* rgb, std::vector<float>* input);

  // Runs a batch of inputs; logits has room for kClasses numbers an image.
  std::string Run(size_t batch, const float* input, float* logits);

 private:
  app_model::Model model_;
  app_model::Context context_;
};

// What logits mean as probabilities.
std::vector<float> Softmax(const float* logits);

}  // namespace app

#endif  // RULES_DNN_APP_CLASSIFIER_H_
