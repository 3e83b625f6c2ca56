// Memory that is aligned for weights files and vectors.
#ifndef RULES_DNN_RUNTIME_SERVE_BUFFER_H_
#define RULES_DNN_RUNTIME_SERVE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "runtime/dnn_memory.h"

namespace rules_dnn::serve {

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { FreeMemory(data_); }

  // Discards the content; returns false if memory is exhausted. data() is not null afterwards.
  bool Resize(size_t bytes) {
    constexpr size_t kAlign = 64;
    FreeMemory(data_);
    data_ = nullptr;
    size_ = 0;
    if (bytes > SIZE_MAX / 2) return false;
    void* const memory = AllocateMemory(bytes == 0 ? 1 : bytes, kAlign);
    if (memory == nullptr) return false;
    data_ = static_cast<unsigned char*>(memory);
    size_ = bytes;
    return true;
  }

  unsigned char* data() { return data_; }
  const unsigned char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  unsigned char* data_ = nullptr;
  size_t size_ = 0;
};

// Reads a whole file; returns false if that fails.
bool ReadFile(const char* path, Buffer* buffer);

}  // namespace rules_dnn::serve

#endif  // RULES_DNN_RUNTIME_SERVE_BUFFER_H_
