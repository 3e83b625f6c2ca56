#include "runtime/serve/json.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/serve/utf8.h"

namespace rules_dnn::serve {
namespace {

constexpr int kMaxDepth = 64;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  std::string Parse(Json* value) {
    if (Value(value, 0)) {
      Space();
      if (at_ != text_.size()) Fail("nothing may follow the value");
    }
    return error_;
  }

 private:
  bool Fail(const char* what) {
    if (error_.empty()) error_ = "JSON, byte " + std::to_string(at_) + ": " + what;
    return false;
  }

  void Space() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) && text_[at_] != 0) ++at_;
  }

  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool TakeWord(const char* word) {
    const size_t n = std::strlen(word);
    if (text_.compare(at_, n, word) != 0) return false;
    at_ += n;
    return true;
  }

  bool Value(Json* v, int depth) {
    if (depth > kMaxDepth) return Fail("nested too deeply");
    Space();
    if (at_ >= text_.size()) return Fail("a value is missing");
    switch (text_[at_]) {
      case '{':
        return Object(v, depth);
      case '[':
        return Array(v, depth);
      case '"':
        v->kind = Json::Kind::kString;
        return String(&v->text);
      default:
        return Word(v) || Number(v);
    }
  }

  bool Word(Json* v) {
    if (TakeWord("null")) return v->kind = Json::Kind::kNull, true;
    v->boolean = TakeWord("true");
    if (!v->boolean && !TakeWord("false")) return false;
    v->kind = Json::Kind::kBool;
    return true;
  }

  size_t Digits() {
    const size_t first = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - first;
  }

  bool Number(Json* v) {
    const size_t first = at_;
    Take('-');
    const bool zero = at_ < text_.size() && text_[at_] == '0';
    const size_t whole = Digits();
    if (whole == 0) return Fail("no value begins so");
    if (zero && whole > 1) return Fail("a number does not begin with 0");
    if (Take('.') && Digits() == 0) return Fail("digits are missing");
    if (Take('e') || Take('E')) {
      if (!Take('-')) Take('+');
      if (Digits() == 0) return Fail("digits are missing");
    }
    v->kind = Json::Kind::kNumber;
    v->number = std::strtod(text_.substr(first, at_ - first).c_str(), nullptr);
    return std::isfinite(v->number) || Fail("the number is too large");
  }

  bool Array(Json* v, int depth) {
    v->kind = Json::Kind::kArray;
    ++at_;
    Space();
    if (Take(']')) return true;
    for (;;) {
      v->items.emplace_back();
      if (!Value(&v->items.back(), depth + 1)) return false;
      Space();
      if (Take(']')) return true;
      if (!Take(',')) return Fail("want , or ]");
    }
  }

  bool Object(Json* v, int depth) {
    v->kind = Json::Kind::kObject;
    ++at_;
    Space();
    if (Take('}')) return true;
    for (;;) {
      v->members.emplace_back();
      Space();
      if (at_ >= text_.size() || text_[at_] != '"') return Fail("want a key in quotes");
      if (!String(&v->members.back().first)) return false;
      Space();
      if (!Take(':')) return Fail("want :");
      if (!Value(&v->members.back().second, depth + 1)) return false;
      Space();
      if (Take('}')) return true;
      if (!Take(',')) return Fail("want , or }");
    }
  }

  bool String(std::string* out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (static_cast<unsigned char>(c) < 0x20) return Fail("a control character in a string");
      ++at_;
      if (c != '\\') {
        out->push_back(c);
      } else if (!Escape(out)) {
        return false;
      }
    }
    return Fail("the string does not end");
  }

  bool Escape(std::string* out) {
    if (at_ >= text_.size()) return Fail("the string does not end");
    const char c = text_[at_++];
    if (c == 'u') return Unicode(out);
    const char* const from = "\"\\/bfnrt";
    const char* const found = c == 0 ? nullptr : std::strchr(from, c);
    if (found == nullptr) return Fail("no such escape");
    out->push_back("\"\\/\b\f\n\r\t"[found - from]);
    return true;
  }

  bool Hex4(uint32_t* code) {
    *code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const char lower = static_cast<char>(c | 0x20);
      const bool digit = c >= '0' && c <= '9', letter = lower >= 'a' && lower <= 'f';
      if (!digit && !letter) return Fail("want four hexadecimal digits");
      *code = *code << 4 | static_cast<uint32_t>(digit ? c - '0' : lower - 'a' + 10);
      ++at_;
    }
    return true;
  }

  bool Unicode(std::string* out) {
    uint32_t code = 0, low = 0;
    if (!Hex4(&code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
      if (!Take('\\') || !Take('u') || !Hex4(&low)) return Fail("half a surrogate pair");
      if (low < 0xdc00 || low > 0xdfff) return Fail("half a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      return Fail("half a surrogate pair");
    }
    AppendUtf8(code, out);
    return true;
  }

  const std::string& text_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace

const Json* Json::Find(const std::string& key) const {
  for (size_t i = members.size(); i-- > 0;) {
    if (members[i].first == key) return &members[i].second;
  }
  return nullptr;
}

std::string ParseJson(const std::string& text, Json* value) {
  *value = Json();
  return Parser(text).Parse(value);
}

std::string QuoteJson(const std::string& text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const uint32_t code = NextUtf8(text, &at);
    if (code == '"' || code == '\\') {
      out += {'\\', static_cast<char>(code)};
    } else if (code < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(code));
      out += escape;
    } else {
      AppendUtf8(code, &out);
    }
  }
  return out + "\"";
}

}  // namespace rules_dnn::serve
