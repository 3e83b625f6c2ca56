// A benchmark's figures for people and for programs.
#ifndef RULES_DNN_RUNTIME_BENCH_REPORT_H_
#define RULES_DNN_RUNTIME_BENCH_REPORT_H_

#include <string>

#include "runtime/bench/figures.h"

namespace rules_dnn::bench {

// A summary and a table of the blocks: in the program's order, or the longest first; so many at
// most, all where `top` is 0.
std::string TextReport(const Report& report, bool longest_first, int top);

// All figures, and what follows from them; null where not known.
std::string JsonReport(const Report& report);

// A page that needs no other file and no network, around the JSON.
std::string HtmlReport(const Report& report);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_REPORT_H_
