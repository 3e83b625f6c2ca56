// One model in memory with the inputs of its next run, by names and arrays.
#ifndef RULES_DNN_RUNTIME_SERVE_SESSION_H_
#define RULES_DNN_RUNTIME_SERVE_SESSION_H_

#include <string>
#include <vector>

#include "runtime/dnn_model.h"
#include "runtime/dnn_observe.h"
#include "runtime/serve/npy.h"

namespace rules_dnn::serve {

// The device of a model that runs on one, as the options of its creation say; empty texts are the
// defaults.
struct DeviceChoice {
  std::string platform, device, cache;
  std::string command_buffers = "auto";  // always or never
};

// Functions return an empty string, or what is wrong.
class Session {
 public:
  explicit Session(const Description* description) : d_(description) {}
  ~Session() { Unload(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Makes model and context anew. weights is the path of the weights file, empty for a model
  // that holds its weights.
  // Variant is the name of the chip whose kernels run, empty for the one that suits the processor.
  std::string Load(int workers, const std::string& weights, const std::string& variant = "",
                   const DeviceChoice& choice = {});

  // The number of the chip whose kernels run; 0 where the model has them for one.
  int32_t variant() const { return ModelVariant(model_); }

  // Takes an array for each input, in the model's order; finds the symbols' values in
  // their shapes and makes room for the outputs.
  std::string SetInputs(std::vector<Array> inputs);

  // The same where the symbols' values are known, one for each that the model is given.
  std::string SetInputs(std::vector<Array> inputs, const std::vector<int64_t>& symbols);

  std::string Run();

  // Has the runs of the loaded model observed; see rules_dnn::Observe.
  void Observe(Observer observer, void* user) { rules_dnn::Observe(context_, observer, user); }

  // The same for what runs launch on a device.
  std::string ObserveLaunches(const LaunchObserver* observer);

  // The same for the values that blocks compute, of models that are compiled to tell.
  std::string ObserveValues(const ValueObserver& observer);

  // Null where the model has no device.
  DeviceModel* device() const { return DeviceOf(model_); }

  // The outputs of the last run, in the model's order.
  std::string GetOutput(int32_t output, std::vector<int64_t>* shape, const void** data) const;

  const Description& description() const { return *d_; }
  bool loaded() const { return context_ != nullptr; }

  // The arena of the inputs' shapes; 0 before there are inputs.
  int64_t arena_bytes() const;

 private:
  void Unload();
  void Forget();                                           // inputs and outputs
  std::string Why(const char* what, Status status) const;  // of the context's last call
  std::string SolveSymbols(const std::vector<Array>& inputs);
  std::string TakeInputs(std::vector<Array> inputs);
  std::string CheckShape(const TensorInfo& tensor, const Array& array) const;

  const Description* d_;
  Model* model_ = nullptr;
  Context* context_ = nullptr;
  Buffer weights_;
  std::vector<Array> inputs_;
  std::vector<Buffer> outputs_;
  std::vector<int64_t> symbols_;  // as many as the model has; empty before there are inputs
  std::vector<const void*> in_;
  std::vector<void*> out_;
  bool ran_ = false;  // with these inputs
};

// "[N, 3, 224]" of a tensor, "[1, 3, 224]" of an array.
std::string ShapeText(const TensorInfo& tensor);
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace rules_dnn::serve

#endif  // RULES_DNN_RUNTIME_SERVE_SESSION_H_
