// JSON for a line protocol: a complete value per line.
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

  // Returns an object's member, or null if it has none of this name. If keys repeat, the last one
  // counts.
  const Json* Find(const std::string& key) const;
};

// Parses one value that fills the text. Returns an empty string, or an error and its position.
std::string ParseJson(const std::string& text, Json* value);

// Returns the text as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
std::string QuoteJson(const std::string& text);

}  // namespace rules_dnn::serve

#endif  // RULES_DNN_RUNTIME_SERVE_JSON_H_
