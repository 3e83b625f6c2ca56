// One model in memory with named inputs for its next run.
#ifndef RULES_DNN_RUNTIME_SERVE_SESSION_H_
#define RULES_DNN_RUNTIME_SERVE_SESSION_H_

#include <string>
#include <vector>

#include "runtime/dnn_model.h"
#include "runtime/dnn_observe.h"
#include "runtime/serve/npy.h"

namespace rules_dnn::serve {

// The device options of a model; empty strings select the defaults.
struct DeviceChoice {
  std::string platform, device, cache;
  std::string command_buffers = "auto";  // auto, always or never
};

// Functions return an error, or an empty string.
class Session {
 public:
  explicit Session(const Description* description) : d_(description) {}
  ~Session() { Unload(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Creates the model and a context, and replaces earlier ones. weights is the path of the weights
  // file; it is empty for a model with embedded weights. variant is the name of the chip whose
  // kernels run; if it is empty, the processor determines it.
  std::string Load(int workers, const std::string& weights, const std::string& variant = "",
                   const DeviceChoice& choice = {});

  // Returns the index of the chip whose kernels run; 0 if there is only one.
  int32_t variant() const { return ModelVariant(model_); }

  // Sets an array for each input, in the model's order. Finds the symbols' values in their shapes
  // and allocates the outputs.
  std::string SetInputs(std::vector<Array> inputs);

  // The same with known values of the symbols, one for each that the caller sets.
  std::string SetInputs(std::vector<Array> inputs, const std::vector<int64_t>& symbols);

  std::string Run();

  // Sets the observer of the loaded model's runs; see rules_dnn::Observe.
  void Observe(Observer observer, void* user) { rules_dnn::Observe(context_, observer, user); }

  // The same for kernels that runs launch on a device.
  std::string ObserveLaunches(const LaunchObserver* observer);

  // The same for values that blocks compute, if the model is compiled with --observe.
  std::string ObserveValues(const ValueObserver& observer);

  // Null if the model has no device.
  DeviceModel* device() const { return DeviceOf(model_); }

  // Returns an output of the last run; outputs are in the model's order.
  std::string GetOutput(int32_t output, std::vector<int64_t>* shape, const void** data) const;

  const Description& description() const { return *d_; }
  bool loaded() const { return context_ != nullptr; }

  // Returns the arena's size for the inputs' shapes; 0 if there are no inputs.
  int64_t arena_bytes() const;

 private:
  void Unload();
  void Forget();  // inputs and outputs
  std::string Why(const char* what,
                  Status status) const;  // the reason of the last failure of the context
  std::string SolveSymbols(const std::vector<Array>& inputs);
  std::string TakeInputs(std::vector<Array> inputs);
  std::string CheckShape(const TensorInfo& tensor, const Array& array) const;

  const Description* d_;
  Model* model_ = nullptr;
  Context* context_ = nullptr;
  Buffer weights_;
  std::vector<Array> inputs_;
  std::vector<Buffer> outputs_;
  std::vector<int64_t> symbols_;  // one for each symbol of the model; empty if there are no inputs
  std::vector<const void*> in_;
  std::vector<void*> out_;
  bool ran_ = false;  // with the current inputs
};

// Return "[N, 3, 224]" for a tensor, "[1, 3, 224]" for an array.
std::string ShapeText(const TensorInfo& tensor);
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace rules_dnn::serve

#endif  // RULES_DNN_RUNTIME_SERVE_SESSION_H_
