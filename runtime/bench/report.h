// A benchmark's report for people and for programs.
#ifndef RULES_DNN_RUNTIME_BENCH_REPORT_H_
#define RULES_DNN_RUNTIME_BENCH_REPORT_H_

#include <string>

#include "runtime/bench/figures.h"

namespace rules_dnn::bench {

// Returns a summary and a table of at most `top` blocks (0: all), in the program's order or longest
// first.
std::string TextReport(const Report& report, bool longest_first, int top);

// Returns all measurements and derived rates as JSON; null if not known.
std::string JsonReport(const Report& report);

// Returns a self-contained page around the JSON, which needs no network.
std::string HtmlReport(const Report& report);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_REPORT_H_
