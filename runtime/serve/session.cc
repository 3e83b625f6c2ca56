#include "runtime/serve/session.h"

#include <utility>

namespace rules_dnn::serve {
namespace {

std::string Error(const char* what, Status status) {
  return status == Status::kOk ? "" : std::string(what) + ": " + StatusMessage(status);
}

// Explains why the dimensions of the inputs are rejected; otherwise returns the status's sentence.
std::string DimsError(const Description* d, const int64_t* sym, Status status) {
  std::string text(ExplainDims(d, sym, nullptr, 0), ' ');
  if (text.empty()) return StatusMessage(status);
  ExplainDims(d, sym, &text[0], text.size() + 1);
  return text;
}

std::string Join(const std::vector<std::string>& parts) {
  std::string out = "[";
  for (size_t i = 0; i < parts.size(); ++i) out += (i > 0 ? ", " : "") + parts[i];
  return out + "]";
}

}  // namespace

std::string ShapeText(const TensorInfo& tensor) {
  std::vector<std::string> parts;
  for (int32_t i = 0; i < tensor.rank; ++i) parts.push_back(tensor.dims[i].text);
  return Join(parts);
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::vector<std::string> parts;
  for (const int64_t dim : shape) parts.push_back(std::to_string(dim));
  return Join(parts);
}

void Session::Unload() {
  ContextDestroy(context_);
  ModelDestroy(model_);
  context_ = nullptr;
  model_ = nullptr;
  ran_ = false;
}

std::string Session::Load(int workers, const std::string& weights, const std::string& variant,
                          const DeviceChoice& choice) {
  Unload();
  const auto given = [](const std::string& s) { return s.empty() ? nullptr : s.c_str(); };
  const std::string& records = choice.command_buffers;
  if (records != "auto" && records != "always" && records != "never") {
    return "command_buffers: want auto, always or never, not " + records;
  }
  if (records != "auto" && d_->device == nullptr) {
    return "command_buffers is for models on OpenCL: this one runs on the processor";
  }
  char message[4096] = "";  // the driver's words
  DeviceOptions all = {};
  Options& options = all.host;
  options.size = d_->device == nullptr ? sizeof(options) : sizeof(all);
  options.variant = given(variant);
  options.workers = workers;
  all.platform = given(choice.platform);
  all.device = given(choice.device);
  all.cache = given(choice.cache);
  all.command_buffers = records == "auto" ? 0 : records == "always" ? 1 : -1;
  all.message = message;
  all.message_bytes = sizeof(message);
  if (!weights.empty()) {
    if (!ReadFile(weights.c_str(), &weights_)) return weights + ": the file cannot be read";
    options.weights = weights_.data();
    options.weights_bytes = weights_.size();
    options.verify_weights = 1;
  }
  Status status = ModelCreate(d_, &options, &model_);
  if (status == Status::kOk) status = ContextCreate(model_, &context_);
  if (status != Status::kOk) Unload();
  const std::string error =
      Error(weights.empty() ? "loading" : ("loading " + weights).c_str(), status);
  return error.empty() || message[0] == 0 ? error : error + ": " + message;
}

std::string Session::Why(const char* what, Status status) const {
  if (status == Status::kOk) return "";
  std::string text(ExplainRun(context_, nullptr, 0), ' ');
  if (text.empty()) return Error(what, status);
  ExplainRun(context_, &text[0], text.size() + 1);
  return std::string(what) + ": " + text;
}

std::string Session::ObserveLaunches(const LaunchObserver* observer) {
  const Status status = rules_dnn::ObserveLaunches(context_, observer);
  return Error("observing the device", status);
}

std::string Session::ObserveValues(const ValueObserver& observer) {
  return Error("observing values", rules_dnn::ObserveValues(context_, observer));
}

// A dimension of the form scale * symbol + offset determines the symbol; others are checked
// afterwards.
std::string Session::SolveSymbols(const std::vector<Array>& inputs) {
  std::vector<bool> known(static_cast<size_t>(d_->symbol_count));
  for (int32_t i = 0; i < d_->input_count; ++i) {
    const TensorInfo& tensor = d_->inputs[i];
    const std::vector<int64_t>& shape = inputs[static_cast<size_t>(i)].shape;
    for (int32_t k = 0; k < tensor.rank && shape.size() == static_cast<size_t>(tensor.rank); ++k) {
      const Size& size = tensor.dims[k].size;
      if (size.expr >= 0 || size.symbol < 0 || size.scale == 0) continue;
      const size_t symbol = static_cast<size_t>(size.symbol);
      if (known[symbol]) continue;
      symbols_[symbol] = (shape[static_cast<size_t>(k)] - size.offset) / size.scale;
      known[symbol] = true;
    }
  }
  for (int32_t i = 0; i < d_->given_count; ++i) {
    if (!known[static_cast<size_t>(i)]) {
      return std::string("no input's shape determines the symbol ") + d_->symbols[i].name;
    }
  }
  return "";
}

std::string Session::CheckShape(const TensorInfo& tensor, const Array& array) const {
  const std::string name = std::string("input ") + tensor.name;
  if (array.type != tensor.type) {
    return name + ": the array is " + array.type + ", the model wants " + tensor.type;
  }
  std::vector<int64_t> want(static_cast<size_t>(tensor.rank));
  const Status status = TensorShape(d_, &tensor, symbols_.data(), want.data());
  if (status != Status::kOk) {
    return name + " of shape " + ShapeText(array.shape) + ": " +
           DimsError(d_, symbols_.data(), status);
  }
  if (array.shape != want) {
    return name + ": the array is " + ShapeText(array.shape) + ", the model wants " +
           ShapeText(tensor) + ", here " + ShapeText(want);
  }
  return "";
}

std::string Session::SetInputs(std::vector<Array> inputs) {
  symbols_.assign(static_cast<size_t>(d_->symbol_count), 0);
  const std::string error = loaded() ? SolveSymbols(inputs) : "";
  if (!error.empty()) {
    Forget();
    return error;
  }
  return TakeInputs(std::move(inputs));
}

std::string Session::SetInputs(std::vector<Array> inputs, const std::vector<int64_t>& symbols) {
  symbols_ = symbols;
  symbols_.resize(static_cast<size_t>(d_->symbol_count));
  return TakeInputs(std::move(inputs));
}

void Session::Forget() {
  ran_ = false;
  in_.clear();
  out_.clear();
  outputs_.clear();
  symbols_.clear();
}

std::string Session::TakeInputs(std::vector<Array> inputs) {
  const std::vector<int64_t> symbols = symbols_;
  Forget();
  if (!loaded()) return "no model is loaded";
  symbols_ = symbols;
  std::string error;
  for (int32_t i = 0; i < d_->input_count && error.empty(); ++i) {
    error = CheckShape(d_->inputs[i], inputs[static_cast<size_t>(i)]);
  }
  if (error.empty()) {
    const Status status = Reserve(context_, symbols_.data());
    if (status >= Status::kNoOpenCl) error = Why("preparing", status);
    if (status != Status::kOk && error.empty()) {
      error = "preparing: " + DimsError(d_, symbols_.data(), status);
    }
  }
  if (!error.empty()) {
    symbols_.clear();
    return error;
  }
  inputs_ = std::move(inputs);
  for (Array& array : inputs_) in_.push_back(array.data.data());
  for (int32_t i = 0; i < d_->output_count; ++i) {
    const int64_t bytes = TensorBytes(d_, &d_->outputs[i], symbols_.data());
    outputs_.emplace_back();
    if (bytes < 0 || !outputs_.back().Resize(static_cast<size_t>(bytes))) {
      symbols_.clear();
      return std::string("out of memory for output ") + d_->outputs[i].name;
    }
    out_.push_back(outputs_.back().data());
  }
  return "";
}

std::string Session::Run() {
  if (!loaded()) return "no model is loaded";
  if (out_.size() != static_cast<size_t>(d_->output_count)) return "there are no inputs";
  const Status status = rules_dnn::Run(context_, symbols_.data(), in_.data(), out_.data());
  ran_ = status == Status::kOk;
  return Why("running", status);
}

std::string Session::GetOutput(int32_t output, std::vector<int64_t>* shape,
                               const void** data) const {
  const TensorInfo& tensor = d_->outputs[output];
  shape->assign(static_cast<size_t>(tensor.rank), 0);
  if (!ran_) return "no run with these inputs has succeeded";
  const Status status = ResultShape(context_, &tensor, shape->data());
  if (status != Status::kOk) return Error("reading a result's shape", status);
  *data = outputs_[static_cast<size_t>(output)].data();
  return "";
}

int64_t Session::arena_bytes() const {
  if (symbols_.empty() && d_->given_count > 0) return 0;
  return dnn_max(0, ArenaBytes(d_, symbols_.data()));
}

}  // namespace rules_dnn::serve
