// Memory of the host by the allocator of the options.
#ifndef RULES_DNN_RUNTIME_OPENCL_MEMORY_H_
#define RULES_DNN_RUNTIME_OPENCL_MEMORY_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// Some bytes, which go with the object.
class Bytes {
 public:
  explicit Bytes(const Options& options) : options_(options) {}
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { Resize(0); }

  // False where there is no memory. What was there before is lost.
  bool Resize(size_t size) {
    if (data_ != nullptr) options_.release(options_.allocator_user, data_, size_);
    data_ = nullptr;
    size_ = size;
    if (size == 0) return true;
    data_ = static_cast<uint8_t*>(options_.allocate(options_.allocator_user, size, kAlignment));
    return data_ != nullptr;
  }

  uint8_t* data() const { return data_; }
  const char* text() const { return reinterpret_cast<const char*>(data_); }
  size_t size() const { return data_ == nullptr ? 0 : size_; }

 private:
  const Options& options_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_MEMORY_H_
