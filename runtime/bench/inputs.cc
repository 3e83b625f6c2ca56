#include "runtime/bench/inputs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/serve/session.h"

namespace rules_dnn::bench {
namespace {

// Pseudo-random numbers, the same on every machine.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  uint32_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>(state_ >> 32);
  }

  // Returns a number in [-1, 1).
  double Real() { return static_cast<double>(Next()) / 2147483648.0 - 1; }

 private:
  uint64_t state_;
};

template <typename T>
void Put(unsigned char** to, T value) {
  std::memcpy(*to, &value, sizeof(value));
  *to += sizeof(value);
}

// Writes one element. Numbers of 16 bits are composed of a sign, an exponent for values from 0.5 to
// 1, and random other bits.
void PutElement(const std::string& type, double integer, Numbers* numbers, unsigned char** to) {
  const int64_t whole = static_cast<int64_t>(integer);
  const auto half = [&](uint32_t exponent, uint32_t mask) {
    const uint32_t bits = numbers->Next();
    return static_cast<uint16_t>((bits & 0x8000) | exponent | (bits & mask));
  };
  if (type == "f32") {
    Put(to, static_cast<float>(numbers->Real()));
  } else if (type == "f64") {
    Put(to, numbers->Real());
  } else if (type == "f16") {
    Put(to, half(0x3800, 0x3ff));
  } else if (type == "bf16") {
    Put(to, half(0x3f00, 0x7f));
  } else if (type == "bool") {
    Put(to, static_cast<uint8_t>(whole != 0));
  } else {
    const size_t bytes = serve::ElementBytes(type);
    std::memcpy(*to, &whole, bytes);  // little-endian
    *to += bytes;
  }
}

std::string MakeUp(const Description& d, int32_t i, const Options& o,
                   const std::vector<int64_t>& symbols, serve::Array* array) {
  const TensorInfo& t = d.inputs[i];
  array->type = t.type;
  array->shape.assign(static_cast<size_t>(t.rank), 0);
  const int64_t bytes = TensorBytes(&d, &t, symbols.data());
  const Status status = TensorShape(&d, &t, symbols.data(), array->shape.data());
  if (bytes < 0 || status != Status::kOk) {
    std::string text(ExplainDims(&d, symbols.data(), nullptr, 0), ' ');
    ExplainDims(&d, symbols.data(), &text[0], text.size() + 1);
    return "--dims: " + (text.empty() ? std::string(StatusMessage(status)) : text);
  }
  if (!array->data.Resize(static_cast<size_t>(bytes))) {
    return std::string("out of memory for input ") + t.name;
  }
  Numbers numbers(static_cast<uint64_t>(i) + 1);
  unsigned char* to = array->data.data();
  for (const unsigned char* const end = to + bytes; to < end;) {
    PutElement(t.type, o.integers, &numbers, &to);
  }
  return "";
}

}  // namespace

std::vector<int64_t> SymbolValues(const Description& d, const Options& o) {
  std::vector<int64_t> out(static_cast<size_t>(std::max(d.symbol_count, 1)));
  for (int32_t i = 0; i < d.given_count; ++i) {
    int64_t value = std::min(std::max(d.symbols[i].lo, int64_t{1}), d.symbols[i].hi);
    for (const auto& dim : o.dims) {
      if (dim.first == d.symbols[i].name) value = dim.second;
    }
    out[static_cast<size_t>(i)] = value;
  }
  return out;
}

std::string MakeInputs(const Description& d, const Options& o, const std::vector<int64_t>& symbols,
                       std::vector<serve::Array>* inputs) {
  inputs->resize(static_cast<size_t>(d.input_count));
  for (int32_t i = 0; i < d.input_count; ++i) {
    serve::Array* const array = &(*inputs)[static_cast<size_t>(i)];
    std::string error, file;
    for (const auto& input : o.inputs) {
      if (input.first == d.inputs[i].name) file = UserPath(input.second);
    }
    if (file.empty()) {
      error = MakeUp(d, i, o, symbols, array);
    } else {
      error = serve::ReadNpy(file, array);
      // .npy files hold the bits of bf16 as uint16.
      if (std::string(d.inputs[i].type) == "bf16" && array->type == "u16") array->type = "bf16";
    }
    if (!error.empty()) return error;
  }
  return "";
}

std::string UserPath(const std::string& path) {
  const char* const folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (path.empty() || path[0] == '/' || path == "-" || folder == nullptr) return path;
  return std::string(folder) + "/" + path;
}

}  // namespace rules_dnn::bench
