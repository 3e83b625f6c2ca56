// Inputs of a benchmarked model.
#ifndef RULES_DNN_RUNTIME_BENCH_INPUTS_H_
#define RULES_DNN_RUNTIME_BENCH_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/bench/options.h"
#include "runtime/serve/npy.h"

namespace rules_dnn::bench {

// Returns the values of the symbols that the caller sets: from the options, or the smallest allowed
// value that is at least 1.
std::vector<int64_t> SymbolValues(const Description& d, const Options& o);

// Makes arrays for all inputs, from files or synthetic; the same in every run. Returns an error, or
// an empty string.
std::string MakeInputs(const Description& d, const Options& o, const std::vector<int64_t>& symbols,
                       std::vector<serve::Array>* inputs);

// Resolves a path of the command line against the user's folder: `bazel run` starts programs in
// another one.
std::string UserPath(const std::string& path);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_INPUTS_H_
