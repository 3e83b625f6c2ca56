// JSON as far as a line protocol needs it: one value a line, read whole.
#ifndef RULES_DNN_RUNTIME_SERVE_JSON_H_
#define RULES_DNN_RUNTIME_SERVE_JSON_H_

#include <string>
#include <utility>
#include <vector>

namespace rules_dnn::serve {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  // The member of an object, or null where there is none. Of equal keys the last counts.
  const Json* Find(const std::string& key) const;
};

// Reads one value that fills the text. Returns an empty string, or what is wrong and where.
std::string ParseJson(const std::string& text, Json* value);

// The text as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
std::string QuoteJson(const std::string& text);

}  // namespace rules_dnn::serve

#endif  // RULES_DNN_RUNTIME_SERVE_JSON_H_
