#include "runtime/bench/page.h"
#include "runtime/bench/report.h"

namespace rules_dnn::bench {

// The page's script reads the figures as JSON and shows names as text only. In JSON < is in strings
// alone; as \u003c no name ends the script element that holds it.
std::string HtmlReport(const Report& report) {
  std::string json;
  for (const char c : JsonReport(report))
    json += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return kPageBefore + json + kPageAfter;
}

}  // namespace rules_dnn::bench
