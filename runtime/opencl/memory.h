// Host memory from the allocator of the options.
#ifndef RULES_DNN_RUNTIME_OPENCL_MEMORY_H_
#define RULES_DNN_RUNTIME_OPENCL_MEMORY_H_

#include <string.h>

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

// A buffer that the destructor releases.
class Bytes {
 public:
  explicit Bytes(const Options& options) : options_(options) {}
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { Resize(0); }

  // Returns false if memory is exhausted. The previous content is lost.
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

// A growing list of trivially copyable elements; all zero is an empty list.
template <class T>
struct List {
  T* data;
  int32_t count, room;
};

// Returns false if memory is exhausted; the list is then unchanged.
template <class T>
bool Append(List<T>* list, const T* from, int32_t count, const Options& o) {
  const int32_t want = list->count + count;
  if (want > list->room) {
    const int32_t room = want < 16 ? 16 : 2 * want;
    const size_t bytes = static_cast<size_t>(room) * sizeof(T);
    void* const memory = o.allocate(o.allocator_user, bytes, kAlignment);
    if (memory == nullptr) return false;
    if (list->count > 0) {
      memcpy(memory, list->data, static_cast<size_t>(list->count) * sizeof(T));
    }
    if (list->data != nullptr) {
      o.release(o.allocator_user, list->data, static_cast<size_t>(list->room) * sizeof(T));
    }
    list->data = static_cast<T*>(memory);
    list->room = room;
  }
  if (count > 0) memcpy(list->data + list->count, from, static_cast<size_t>(count) * sizeof(T));
  list->count = want;
  return true;
}

template <class T>
void Free(List<T>* list, const Options& o) {
  if (list->data != nullptr) {
    o.release(o.allocator_user, list->data, static_cast<size_t>(list->room) * sizeof(T));
  }
  *list = {};
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_MEMORY_H_
