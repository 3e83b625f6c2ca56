#include "runtime/dnn_words.h"

namespace rules_dnn {
inline namespace v1 {

Words::Words(char* text, size_t capacity) : text_(text), capacity_(text == nullptr ? 0 : capacity) {
  Clear();
}

void Words::Clear() {
  length_ = 0;
  if (capacity_ > 0) text_[0] = 0;
}

Words& Words::Add(const char* s) {
  size_t length = 0;
  while (s[length] != 0) ++length;
  return Add(s, length);
}

Words& Words::Add(const char* s, size_t length) {
  if (capacity_ == 0) return *this;
  const size_t room = capacity_ - 1 - length_, n = length < room ? length : room;
  __builtin_memcpy(text_ + length_, s, n);
  length_ += n;
  text_[length_] = 0;
  return *this;
}

Words& Words::Add(int64_t value) {
  char digits[24];
  char* at = digits + sizeof(digits);
  *--at = 0;
  uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  do {
    *--at = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) *--at = '-';
  return Add(at);
}

}  // namespace v1
}  // namespace rules_dnn
