// A program around one model that answers the benchmark's requests. The model is linked with a
// file that defines dnn_served_model, which the rule dnn_benchmark writes.
#include <cstdio>
#include <string>

#include "runtime/serve/server.h"

// What PREFIX_describe() of the served model returns.
extern "C" const void* dnn_served_model(void);

namespace {

using rules_dnn::Description;
using rules_dnn::TensorInfo;

void PrintTensors(const char* title, const TensorInfo* tensors, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    std::fprintf(stderr, "  %s %s: %s %s\n", title, tensors[i].name, tensors[i].type,
                 rules_dnn::serve::ShapeText(tensors[i]).c_str());
  }
}

int Usage(const char* program, const Description& d) {
  std::fprintf(stderr,
               "usage: %s --serve%s\n"
               "Answers one JSON line for each request on standard input:\n"
               "  {\"cmd\":\"load\",\"threads\":1}\n"
               "  {\"cmd\":\"inputs\",\"files\":{\"NAME\":\"x.npy\"}}\n"
               "  {\"cmd\":\"run\",\"seconds\":1.0,\"min_runs\":3}\n"
               "  {\"cmd\":\"outputs\",\"dir\":\"D\"}\n"
               "  {\"cmd\":\"info\"}\n"
               "The model %s, made by %s:\n",
               program, d.weights == nullptr && d.weights_bytes > 0 ? " --weights=FILE" : "",
               d.name, d.generator);
  PrintTensors("input", d.inputs, d.input_count);
  PrintTensors("output", d.outputs, d.output_count);
  return 2;
}

// The next line of standard input without its end; false where there is none.
bool ReadLine(std::string* line) {
  line->clear();
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return true;
    line->push_back(static_cast<char>(c));
  }
  return !line->empty();
}

}  // namespace

int main(int argc, char** argv) {
  const Description* const d = static_cast<const Description*>(dnn_served_model());
  const std::string option = "--weights=";
  std::string weights;
  bool serve = false, wrong = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--serve") {
      serve = true;
    } else if (arg.compare(0, option.size(), option) == 0) {
      weights = arg.substr(option.size());
    } else {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      wrong = true;
    }
  }
  if (!serve || wrong) return Usage(argv[0], *d);
  rules_dnn::serve::Server server(d, weights);
  for (std::string line; ReadLine(&line);) {
    const std::string answer = server.Answer(line) + "\n";
    if (std::fwrite(answer.data(), 1, answer.size(), stdout) != answer.size()) return 1;
    if (std::fflush(stdout) != 0) return 1;
  }
  return 0;
}
