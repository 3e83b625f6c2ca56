// A program that measures one model, or answers requests for it (--serve). It is linked with a file
// that names the model; the rule dnn_benchmark writes that file.
#include <cstdio>
#include <string>

#include "runtime/bench/inputs.h"
#include "runtime/bench/options.h"
#include "runtime/bench/report.h"
#include "runtime/bench/run.h"
#include "runtime/serve/server.h"

// These return the results of the model's PREFIX_describe() and PREFIX_profile(), and the path of
// its weights in the runfiles, or null.
extern "C" const void* dnn_served_model(void);
extern "C" const void* dnn_served_profile(void);
extern "C" const char* dnn_served_weights(void);

namespace {

using rules_dnn::Description;

// Reads the next line of standard input without its end; returns false at the end of input.
bool ReadLine(std::string* line) {
  line->clear();
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return true;
    line->push_back(static_cast<char>(c));
  }
  return !line->empty();
}

int Serve(const Description& d, const std::string& weights, const rules_dnn::bench::Options& o) {
  rules_dnn::serve::Server server(&d, weights, o.variant, o.device);
  for (std::string line; ReadLine(&line);) {
    const std::string answer = server.Answer(line) + "\n";
    if (std::fwrite(answer.data(), 1, answer.size(), stdout) != answer.size()) return 1;
    if (std::fflush(stdout) != 0) return 1;
  }
  return 0;
}

// Returns the weights file of a model without embedded weights: the user's file, or the one beside
// the program.
std::string FindWeights(const Description& d, const char* program, const std::string& given) {
  if (!given.empty()) return rules_dnn::bench::UserPath(given);
  if (d.weights != nullptr || d.weights_bytes == 0 || dnn_served_weights() == nullptr) return "";
  return std::string(program) + ".runfiles/" + dnn_served_weights();
}

bool Write(const std::string& path, const std::string& text) {
  const std::string to = rules_dnn::bench::UserPath(path);
  std::FILE* const file = to == "-" ? stdout : std::fopen(to.c_str(), "wb");
  bool ok = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) ok = (to == "-" ? std::fflush(file) : std::fclose(file)) == 0 && ok;
  if (!ok) std::fprintf(stderr, "%s: the file cannot be written\n", to.c_str());
  return ok;
}

int Report(const rules_dnn::bench::Options& o, const rules_dnn::bench::Report& r) {
  using namespace rules_dnn::bench;
  bool ok = o.json.empty() || Write(o.json, JsonReport(r));
  ok = (o.html.empty() || Write(o.html, HtmlReport(r))) && ok;
  if (o.json != "-" && o.html != "-") {
    ok = Write("-", TextReport(r, o.sort == "time", o.top)) && ok;
  }
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Description& d = *static_cast<const Description*>(dnn_served_model());
  rules_dnn::bench::Options o;
  std::string error = rules_dnn::bench::ParseOptions({argv + 1, argv + argc}, d, &o);
  if (o.help) {
    std::printf("%s", rules_dnn::bench::HelpText(argv[0], d).c_str());
    return 0;
  }
  // Threads that start later inherit the cores.
  if (error.empty() && o.cores.Count() > 0 && !rules_dnn::BindThread(o.cores)) {
    error = "--cores: the system does not let this program run on these cores";
  }
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  const std::string weights = FindWeights(d, argv[0], o.weights);
  if (o.serve) return Serve(d, weights, o);
  rules_dnn::bench::Report report;
  error = rules_dnn::bench::RunBenchmark(
      d, *static_cast<const rules_dnn::Profile*>(dnn_served_profile()), o, weights, &report);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  return Report(o, report);
}
