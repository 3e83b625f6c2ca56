// UTF-8, one code point at a time.
#ifndef RULES_DNN_RUNTIME_SERVE_UTF8_H_
#define RULES_DNN_RUNTIME_SERVE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace rules_dnn::serve {

constexpr uint32_t kReplacement = 0xfffd;

inline void AppendUtf8(uint32_t code, std::string* out) {
  const auto tail = [&](int shift) {
    out->push_back(static_cast<char>(0x80 | ((code >> shift) & 0x3f)));
  };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Returns the code point at *at and advances *at. If the bytes are not UTF-8 (which includes
// overlong forms and surrogates), returns kReplacement and skips one byte.
inline uint32_t NextUtf8(const std::string& text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte((*at)++);
  if (first < 0x80) return first;
  const int more = first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc0 || first >= 0xf8) return kReplacement;
  constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  uint32_t code = first & (0x3fu >> more);
  size_t i = *at;
  for (int k = 0; k < more; ++k, ++i) {
    if (i >= text.size() || (byte(i) & 0xc0) != 0x80) return kReplacement;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[more] || code > 0x10ffff || surrogate) return kReplacement;
  *at = i;
  return code;
}

}  // namespace rules_dnn::serve

#endif  // RULES_DNN_RUNTIME_SERVE_UTF8_H_
