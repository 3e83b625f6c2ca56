// This application's network: its input and its answer.
#ifndef RULES_DNN_APP_CLASSIFIER_H_
#define RULES_DNN_APP_CLASSIFIER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace app {

constexpr int kSide = 32;
constexpr size_t kPixels = size_t{kSide} * kSide;
constexpr size_t kClasses = 10;

extern const char* const kClassNames[kClasses];

// The backend that runs the network; the program contains both.
enum class Backend { kCpu, kOpenCl };

struct Settings {
  Backend backend = Backend::kCpu;
  int workers = 1;
  std::string cores;  // of the threads, as in options.cores; empty: the system decides
  // For OpenCL: a device, by number or a part of its name (empty: the first GPU, or else the first
  // device), and the folder of compiled kernels (empty: they are not stored).
  std::string device, cache;
};

// The network, compiled for one backend.
class Network {
 public:
  virtual ~Network() = default;
  virtual std::string Create(const Settings& settings) = 0;
  virtual std::string Run(size_t batch, const float* input, float* logits) = 0;
};

class Classifier {
 public:
  // Returns an error, or an empty string.
  std::string Create(const Settings& settings);

  // Reports whether creation failed because the machine has no OpenCL library or no device.
  bool without_device() const { return without_device_; }

  // Appends the network's input for an image of kPixels * 3 floats from 0 to 255.
  static void AppendInput(const float* rgb, std::vector<float>* input);

  // Runs a batch of inputs; logits has room for kClasses numbers for each image.
  std::string Run(size_t batch, const float* input, float* logits);

 private:
  std::unique_ptr<Network> network_;
  bool without_device_ = false;
};

// Converts logits to probabilities.
std::vector<float> Softmax(const float* logits);

}  // namespace app

#endif  // RULES_DNN_APP_CLASSIFIER_H_
