// The benchmark's command line.
#ifndef RULES_DNN_RUNTIME_BENCH_OPTIONS_H_
#define RULES_DNN_RUNTIME_BENCH_OPTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/dnn_cores.h"
#include "runtime/dnn_model.h"
#include "runtime/serve/session.h"

namespace rules_dnn::bench {

struct Options {
  bool serve = false, help = false;
  std::string weights;
  std::string variant;
  serve::DeviceChoice device;
  int threads = 1;
  CoreSet cores = {};  // empty: the system decides
  int warmup = 3;
  int runs = 10;
  double seconds = 2;
  double probe_seconds = 1;
  int64_t probe_bytes = 0;
  double integers = 1;
  int top = 0;
  double least_mflop = 0;
  std::string sort = "program";
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<std::pair<std::string, std::string>> inputs;
  std::string json, html;
};

// Parses arguments. Returns an empty string, or an error that lists what is allowed.
std::string ParseOptions(const std::vector<std::string>& args, const Description& d,
                         Options* options);

// Returns the text of --help.
std::string HelpText(const std::string& program, const Description& d);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_OPTIONS_H_
