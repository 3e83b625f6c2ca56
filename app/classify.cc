// Classifies pictures: prints the five likeliest classes of CIFAR-10 for each PNG file.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "app/classifier.h"
#include "app/image.h"
#include "app/sheet.h"

namespace {

constexpr int kShown = 5;

int Usage(const char* program) {
  std::fprintf(
      stderr,
      "usage: %s [OPTIONS] PICTURE.png...\n"
      "       %s [OPTIONS] --sheet PICTURES.png --labels LABELS.json [--logits LOGITS.npy]\n"
      "          [--batch 1,7,50] [--tolerance 1e-4] [--accuracy PERCENT] [--loss POINTS]\n"
      "          [--without-device fail|pass]\n"
      "The first form prints the five likeliest classes of each picture, with their\n"
      "probabilities. The second form reads many pictures, one a row of 32 * 32 pixels, and\n"
      "prints the percentage of right answers. With --logits it also compares the answers with\n"
      "another engine's: the accuracy must be equal, or at least PERCENT with --accuracy, or at\n"
      "most POINTS percentage points lower with --loss. With --without-device=pass it succeeds\n"
      "without a comparison on a machine without OpenCL.\n"
      "options:\n"
      "  --backend cpu|opencl  run on the processor, or on an OpenCL device\n"
      "  --device DEVICE       the OpenCL device: its number, or a part of its name\n"
      "  --cache FOLDER        folder that stores kernels that the OpenCL driver compiled\n"
      "  --workers N           number of threads on the processor\n"
      "  --cores CORES         cores of these threads: all, big, 0xf0 or 4-7,2\n",
      program, program);
  return 2;
}

int Fail(const std::string& error) {
  std::fprintf(stderr, "classify: %s\n", error.c_str());
  return 1;
}

// Parses integers from 1, separated by commas; returns an empty list if the text is not such a
// list.
std::vector<int> Numbers(const char* text) {
  std::vector<int> list;
  for (const char* p = text;; ++p) {
    char* end = nullptr;
    errno = 0;
    const long n = std::strtol(p, &end, 10);
    if (end == p || errno != 0 || n < 1 || n > 1000000) return {};
    list.push_back(static_cast<int>(n));
    if (*end == '\0') return list;
    if (*end != ',') return {};
    p = end;
  }
}

struct Arguments {
  app::SheetOptions sheet;
  bool pass_without_device = false;
  std::vector<std::string> pictures;
};

// Sets one of two values.
template <class T>
std::string Either(const std::string& option, const std::string& value, const char* first,
                   const char* second, T if_first, T if_second, T* out) {
  *out = value == first ? if_first : if_second;
  return value == first || value == second ? "" : option + " wants " + first + " or " + second;
}

// Sets an option. Returns an error, or an empty string.
std::string SetOption(const std::string& name, const char* value, Arguments* out) {
  app::SheetOptions& o = out->sheet;
  const std::vector<int> numbers = Numbers(value);
  char* end = nullptr;
  if (name == "--sheet") {
    o.sheet = value;
  } else if (name == "--labels") {
    o.labels = value;
  } else if (name == "--logits") {
    o.logits = value;
  } else if (name == "--batch") {
    o.batches = numbers;
    if (numbers.empty()) return "--batch wants numbers from 1, separated by commas";
  } else if (name == "--workers") {
    if (numbers.size() != 1) return "--workers wants a number from 1";
    o.settings.workers = numbers[0];
  } else if (name == "--cores") {
    o.settings.cores = value;
  } else if (name == "--backend") {
    return Either(name, value, "cpu", "opencl", app::Backend::kCpu, app::Backend::kOpenCl,
                  &o.settings.backend);
  } else if (name == "--without-device") {
    return Either(name, value, "fail", "pass", false, true, &out->pass_without_device);
  } else if (name == "--device") {
    o.settings.device = value;
  } else if (name == "--cache") {
    o.settings.cache = value;
  } else if (name == "--tolerance") {
    o.tolerance = std::strtod(value, &end);
    if (end == value || *end != '\0' || !(o.tolerance >= 0)) return "--tolerance wants a number";
  } else if (name == "--accuracy") {
    o.accuracy = std::strtod(value, &end);
    if (end == value || *end != '\0' || !(o.accuracy >= 0 && o.accuracy <= 100)) {
      return "--accuracy wants a number from 0 to 100";
    }
  } else if (name == "--loss") {
    o.loss = std::strtod(value, &end);
    if (end == value || *end != '\0' || !(o.loss >= 0 && o.loss <= 100)) {
      return "--loss wants a number from 0 to 100";
    }
  } else {
    return "unknown option " + name;
  }
  return "";
}

std::string ParseArguments(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.compare(0, 2, "--") != 0) {
      out->pictures.push_back(arg);
      continue;
    }
    const size_t equals = arg.find('=');
    const bool joined = equals != std::string::npos;
    if (!joined && i + 1 == argc) return arg + " wants a value";
    const char* const value = joined ? argv[i] + equals + 1 : argv[++i];
    const std::string error = SetOption(arg.substr(0, equals), value, out);
    if (!error.empty()) return error;
  }
  return "";
}

std::string Classify(const std::string& path, app::Classifier* classifier) {
  app::Image image;
  std::string error = app::ReadPng(path, &image);
  if (!error.empty()) return error;
  std::vector<float> input;
  app::Classifier::AppendInput(app::Resize(image, app::kSide).data(), &input);
  float logits[app::kClasses];
  error = classifier->Run(1, input.data(), logits);
  if (!error.empty()) return error;
  const std::vector<float> p = app::Softmax(logits);
  std::vector<size_t> order(app::kClasses);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
  std::printf("%s\n", path.c_str());
  for (int i = 0; i < kShown; ++i) {
    const size_t k = order[static_cast<size_t>(i)];
    std::printf("  %6.2f %%  %s\n", 100.0 * static_cast<double>(p[k]), app::kClassNames[k]);
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  std::string error = ParseArguments(argc, argv, &arguments);
  const bool sheet = !arguments.sheet.sheet.empty();
  if (error.empty() && sheet != arguments.pictures.empty()) return Usage(argv[0]);
  if (!error.empty()) {
    Fail(error);
    return Usage(argv[0]);
  }
  if (sheet) {
    bool without_device = false;
    error = app::CheckSheet(arguments.sheet, &without_device);
    const int failed = error.empty() ? 0 : Fail(error);
    return without_device && arguments.pass_without_device ? 0 : failed;
  }
  app::Classifier classifier;
  error = classifier.Create(arguments.sheet.settings);
  if (!error.empty()) return Fail(error);
  int status = 0;
  for (const std::string& picture : arguments.pictures) {
    error = Classify(picture, &classifier);
    if (!error.empty()) status = Fail(error);
  }
  return status;
}
