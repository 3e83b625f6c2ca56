#include "runtime/bench/options.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "runtime/serve/session.h"

namespace rules_dnn::bench {
namespace {

// A flag with a value, its parser, and a line for --help.
struct Flag {
  const char* name;
  const char* value;
  const char* help;
  std::string (*read)(const std::string& text, Options* o);
};

std::string Real(const std::string& text, double least, double most, double* out) {
  char* end = nullptr;
  errno = 0;
  const double x = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || errno != 0 || !(x >= least) || !(x <= most)) {
    const int64_t top = static_cast<int64_t>(most);
    return "want a number from " + std::to_string(static_cast<int64_t>(least)) + " to " +
           std::to_string(top);
  }
  *out = x;
  return "";
}

template <typename T>
std::string Whole(const std::string& text, double least, double most, T* out) {
  double x = 0;
  const std::string error = Real(text, least, most, &x);
  if (!error.empty()) return error;
  if (x != std::floor(x)) return "want a whole number";
  *out = static_cast<T>(x);
  return "";
}

// Parses "N=1,H=32", several dims separated by commas.
std::string ReadDims(const std::string& text, Options* o) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const size_t equals = one.rfind('=');
    int64_t n = 0;
    if (equals == std::string::npos || !Whole(one.substr(equals + 1), 0, 1e15, &n).empty()) {
      return "want SYMBOL=NUMBER, or several separated by commas";
    }
    o->dims.emplace_back(one.substr(0, equals), n);
    at = end + 1;
  }
  return "";
}

std::string ReadInput(const std::string& text, Options* o) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals + 1 == text.size()) return "want NAME=FILE.npy";
  o->inputs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return "";
}

std::string ReadSort(const std::string& text, Options* o) {
  if (text != "program" && text != "time") return "want program or time";
  o->sort = text;
  return "";
}

std::string ReadCores(const std::string& text, Options* o) {
  if (ParseCores(text.c_str(), kCoresFolder, &o->cores)) return "";
  return "want all, big, a mask such as 0xf0 or a list such as 4-7,2, of cores that this machine "
         "has, on Linux or Android";
}

std::string ReadVariant(const std::string& text, Options* o) {
  if (text.empty()) return "want the name of a chip";
  o->variant = text;
  return "";
}

std::string ReadRecords(const std::string& text, std::string* choice) {
  if (text != "auto" && text != "always" && text != "never") return "want auto, always or never";
  *choice = text;
  return "";
}

std::string ReadName(const std::string& text, std::string* name) {
  if (text.empty()) return "want a name or a number";
  *name = text;
  return "";
}

std::string ReadPath(const std::string& text, std::string* path) {
  if (text.empty()) return "want a file, or - for standard output";
  *path = text;
  return "";
}

constexpr Flag kFlags[] = {
    {"threads", "N", "number of threads, including the program's own (1)",
     [](const std::string& t, Options* o) { return Whole(t, 1, 1024, &o->threads); }},
    {"cores", "CORES",
     "cores that the program runs on: all, big, a mask such as 0xf0 or a list such as 4-7,2 (the "
     "system decides)",
     ReadCores},
    {"dims", "SYMBOL=N,...",
     "sizes of the model's symbols (the smallest allowed size that is at least 1)", ReadDims},
    {"input", "NAME=FILE.npy", "an input's values; other inputs are synthetic", ReadInput},
    {"integers", "N", "value of all elements of synthetic integer inputs (1)",
     [](const std::string& t, Options* o) { return Real(t, -1e9, 1e9, &o->integers); }},
    {"weights", "FILE", "weights of a model without embedded weights (the build's file)",
     [](const std::string& t, Options* o) { return ReadPath(t, &o->weights); }},
    {"variant", "CHIP",
     "chip whose kernels run, one of the model's ($DNN_VARIANT, or the last that this processor "
     "supports)",
     ReadVariant},
    {"platform", "OPENCL-PLATFORM", "OpenCL models only: a number, or a part of the name (any)",
     [](const std::string& t, Options* o) { return ReadName(t, &o->device.platform); }},
    {"device", "OPENCL-DEVICE",
     "OpenCL models only: a number, or a part of the name (the first GPU, or else the first "
     "device)",
     [](const std::string& t, Options* o) { return ReadName(t, &o->device.device); }},
    {"cache", "FOLDER", "OpenCL models only: folder that stores compiled kernels (none)",
     [](const std::string& t, Options* o) { return ReadName(t, &o->device.cache); }},
    {"command-buffers", "auto|always|never",
     "OpenCL models only: whether the driver records launches and replays them (auto: if runs then "
     "start sooner)",
     [](const std::string& t, Options* o) { return ReadRecords(t, &o->device.command_buffers); }},
    {"warmup", "N", "number of runs before the measured ones (3)",
     [](const std::string& t, Options* o) { return Whole(t, 0, 1e6, &o->warmup); }},
    {"runs", "N", "minimum number of measured runs (10)",
     [](const std::string& t, Options* o) { return Whole(t, 1, 1e6, &o->runs); }},
    {"seconds", "S", "minimum time of all measured runs (2)",
     [](const std::string& t, Options* o) { return Real(t, 0, 1e5, &o->seconds); }},
    {"probe-seconds", "S",
     "time of measuring the machine's memory, before and after the runs; the peak is measured "
     "between runs, or only once with 0 (1)",
     [](const std::string& t, Options* o) { return Real(t, 0, 1e5, &o->probe_seconds); }},
    {"probe-bytes", "N",
     "buffer size of the memory tests (256 MB, or twice the largest cache if that is more, "
     "but at most an eighth of all memory)",
     [](const std::string& t, Options* o) { return Whole(t, 0, 1e13, &o->probe_bytes); }},
    {"sort", "program|time", "order of the printed table (program)", ReadSort},
    {"top", "N", "print at most N blocks; 0 for all (0)",
     [](const std::string& t, Options* o) { return Whole(t, 0, 1e6, &o->top); }},
    {"min-mflop", "N", "print only blocks of at least N million operations (0)",
     [](const std::string& t, Options* o) { return Real(t, 0, 1e12, &o->least_mflop); }},
    {"json", "FILE", "write all figures as JSON; - for standard output, which replaces the table",
     [](const std::string& t, Options* o) { return ReadPath(t, &o->json); }},
    {"html", "FILE", "write a self-contained page with roofline, shares, bars and a table",
     [](const std::string& t, Options* o) { return ReadPath(t, &o->html); }},
};

std::string SymbolNames(const Description& d) {
  std::string out;
  for (int32_t i = 0; i < d.given_count; ++i) {
    out += (i > 0 ? ", " : "") + std::string(d.symbols[i].name);
  }
  return out.empty() ? "none" : out;
}

std::string CheckVariant(const std::string& name, const Description& d) {
  std::string names;
  for (int32_t i = 0; i < d.variant_count; ++i) {
    if (name == d.variants[i].name) return "";
    names += (i > 0 ? ", " : "") + std::string(d.variants[i].name);
  }
  if (name.empty()) return "";
  return "--variant: the model has no kernels for " + name + "; it has kernels for: " + names;
}

// Checks that dims, inputs and the variant are names of this model.
std::string CheckNames(const Options& o, const Description& d) {
  const std::string wrong = CheckVariant(o.variant, d);
  if (!wrong.empty()) return wrong;
  const bool asks = !o.device.platform.empty() || !o.device.device.empty() ||
                    !o.device.cache.empty() || o.device.command_buffers != "auto";
  if (asks && d.device == nullptr) {
    return "--platform, --device, --cache and --command-buffers are for models on OpenCL: this one "
           "runs on the processor";
  }
  for (const auto& dim : o.dims) {
    bool known = false;
    for (int32_t i = 0; i < d.given_count; ++i) known = known || dim.first == d.symbols[i].name;
    if (!known) {
      return "--dims: the model has no symbol " + dim.first + "; it has: " + SymbolNames(d);
    }
  }
  for (const auto& input : o.inputs) {
    bool known = false;
    for (int32_t i = 0; i < d.input_count; ++i) known = known || input.first == d.inputs[i].name;
    if (!known) return "--input: the model has no input " + input.first;
  }
  return "";
}

std::string TensorLines(const char* title, const TensorInfo* tensors, int32_t count) {
  std::string out;
  for (int32_t i = 0; i < count; ++i) {
    out += std::string("  ") + title + " " + tensors[i].name + ": " + tensors[i].type + " " +
           serve::ShapeText(tensors[i]) + "\n";
  }
  return out;
}

}  // namespace

std::string ParseOptions(const std::vector<std::string>& args, const Description& d, Options* o) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--serve") {
      o->serve = true;
      continue;
    }
    if (arg == "--help" || arg == "-h") {
      o->help = true;
      continue;
    }
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const Flag* found = nullptr;
    for (const Flag& f : kFlags) {
      if (name == std::string("--") + f.name) found = &f;
    }
    if (found == nullptr) return "unknown argument " + arg + "; --help lists all arguments";
    if (equals == std::string::npos && i + 1 == args.size()) {
      return name + " wants a value: " + name + "=" + found->value;
    }
    const std::string value = equals == std::string::npos ? args[++i] : arg.substr(equals + 1);
    const std::string error = found->read(value, o);
    if (!error.empty()) return name + "=" + value + ": " + error;
  }
  return CheckNames(*o, d);
}

std::string HelpText(const std::string& program, const Description& d) {
  std::string out = "Measures the model " + std::string(d.name) + ", made by " + d.generator +
                    ": the time of runs, and of each block\n"
                    "and the machine's peaks, measured in the same run.\n\n" +
                    TensorLines("input", d.inputs, d.input_count) +
                    TensorLines("output", d.outputs, d.output_count) + "\nusage: " + program +
                    " [flags]\n\n";
  for (const Flag& f : kFlags) {
    const std::string head = std::string("  --") + f.name + "=" + f.value;
    out += head + std::string(head.size() < 26 ? 26 - head.size() : 1, ' ') + f.help + "\n";
  }
  const std::string symbol = d.given_count > 0 ? d.symbols[0].name : "N";
  return out +
         "  --serve                 answer requests on standard input, one JSON object a line:\n"
         "      {\"cmd\":\"load\",\"threads\":1}\n"
         "      {\"cmd\":\"inputs\",\"files\":{\"NAME\":\"x.npy\"}}\n"
         "      {\"cmd\":\"run\",\"seconds\":1.0,\"min_runs\":3}\n"
         "      {\"cmd\":\"outputs\",\"dir\":\"D\"}\n"
         "      {\"cmd\":\"info\"}\n"
         "\nexamples:\n"
         "  " +
         program +
         " --threads=2 --html=report.html\n"
         "  " +
         program + " --dims=" + symbol +
         "=8 --seconds=10 --sort=time --top=20\n"
         "  " +
         program + " --json=- > report.json\n";
}

}  // namespace rules_dnn::bench
