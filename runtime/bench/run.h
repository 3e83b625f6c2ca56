// Runs a model and measures it.
#ifndef RULES_DNN_RUNTIME_BENCH_RUN_H_
#define RULES_DNN_RUNTIME_BENCH_RUN_H_

#include <string>

#include "runtime/bench/figures.h"
#include "runtime/bench/options.h"
#include "runtime/dnn_profile.h"

namespace rules_dnn::bench {

// Measures the model with the options and the profile of the variant that runs. weights is a
// weights file or empty. Returns an error, or an empty string.
std::string RunBenchmark(const Description& d, const Profile& profiles, const Options& o,
                         const std::string& weights, Report* report);

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_RUN_H_
