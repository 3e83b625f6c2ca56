// Inputs that a benchmark runs a model with.
#ifndef RULES_DNN_RUNTIME_BENCH_INPUTS_H_
#define RULES_DNN_RUNTIME_BENCH_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/bench/options.h"
#include "runtime/serve/npy.h"

namespace rules_dnn::bench {

// The values of the symbols that the model is given: those of the options, the least allowed
// number from 1 for others.
std::vector<int64_t> SymbolValues(const Description& d, const Options& o);

// Arrays for all inputs: from files, or synthetic, the same in every run. Returns an empty string,
// or what is wrong.
std::string MakeInputs(const Description& d, const Options& o, const std::vector<int64_t>& symbols,
                       std::vector<serve::Array>* inputs);

// Where a path of the command line leads: `bazel run` starts programs elsewhere.
std::string UserPath(const std::string& path);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_INPUTS_H_
