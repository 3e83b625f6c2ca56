// Text about a failure; internal to the runtime.
#ifndef RULES_DNN_RUNTIME_DNN_WORDS_H_
#define RULES_DNN_RUNTIME_DNN_WORDS_H_

#include <stddef.h>
#include <stdint.h>

namespace rules_dnn {
inline namespace v1 {

// Collects text in the caller's memory; drops what exceeds the capacity.
class Words {
 public:
  Words(char* text, size_t capacity);

  Words& Add(const char* s);
  Words& Add(const char* s, size_t length);
  Words& Add(int64_t value);
  void Clear();

 private:
  char* text_;
  size_t capacity_;
  size_t length_ = 0;
};

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_WORDS_H_
