#include "runtime/bench/page.h"
#include "runtime/bench/report.h"

namespace rules_dnn::bench {
namespace {

// Escapes text of any bytes for HTML.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

// The page's script parses the figures as JSON and shows names only as text. In JSON, < occurs only
// in strings; as \u003c no name can end the script element.
std::string HtmlReport(const Report& report) {
  std::string json;
  for (const char c : JsonReport(report))
    json += c == '<' ? std::string("\\u003c") : std::string(1, c);
  const std::string title = "Benchmark of " + Escaped(report.model);
  return kPageBeforeTitle + title + kPageBeforeHeading + title + kPageBefore + json + kPageAfter;
}

}  // namespace rules_dnn::bench
