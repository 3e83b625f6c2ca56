#include "runtime/bench/page.h"
#include "runtime/bench/report.h"

namespace rules_dnn::bench {
namespace {

// Text of any bytes, as HTML has it between tags.
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

// The page's script reads the figures as JSON and shows names as text only. In JSON < is in strings
// alone; as \u003c no name ends the script element that holds it.
std::string HtmlReport(const Report& report) {
  std::string json;
  for (const char c : JsonReport(report))
    json += c == '<' ? std::string("\\u003c") : std::string(1, c);
  const std::string title = "Benchmark of " + Escaped(report.model);
  return kPageBeforeTitle + title + kPageBeforeHeading + title + kPageBefore + json + kPageAfter;
}

}  // namespace rules_dnn::bench
