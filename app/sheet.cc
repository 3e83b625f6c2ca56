#include "app/sheet.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/image.h"
#include "runtime/serve/json.h"
#include "runtime/serve/npy.h"

namespace app {
namespace {

using rules_dnn::serve::Array;
using rules_dnn::serve::Json;

struct Sheet {
  size_t count = 0;
  std::vector<float> input;
  std::vector<size_t> labels;
  Array reference;

  const float* logits() const { return reinterpret_cast<const float*>(reference.data.data()); }
};

std::string ReadImages(const std::string& path, Sheet* sheet) {
  Image image;
  const std::string error = ReadPng(path, &image);
  if (!error.empty()) return error;
  if (image.width != static_cast<int>(kPixels)) {
    return path + ": it is " + std::to_string(image.width) + " pixels wide; want " +
           std::to_string(kPixels) + ", one image a row";
  }
  sheet->count = static_cast<size_t>(image.height);
  const std::vector<float> rgb(image.rgb.begin(), image.rgb.end());
  for (size_t i = 0; i < sheet->count; ++i) {
    Classifier::AppendInput(&rgb[i * kPixels * 3], &sheet->input);
  }
  return "";
}

std::string ReadLabels(const std::string& path, Sheet* sheet) {
  rules_dnn::serve::Buffer file;
  if (!rules_dnn::serve::ReadFile(path.c_str(), &file)) return path + ": the file cannot be read";
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  Json json;
  const std::string error = rules_dnn::serve::ParseJson(text, &json);
  if (!error.empty()) return path + ": " + error;
  for (const Json& item : json.items) {
    const bool number = item.kind == Json::Kind::kNumber;
    if (!number || !(item.number >= 0 && item.number < static_cast<double>(kClasses))) {
      return path + ": a label is not a class number from 0 to " + std::to_string(kClasses - 1);
    }
    sheet->labels.push_back(static_cast<size_t>(item.number));
  }
  if (sheet->labels.size() == sheet->count) return "";
  return path + ": " + std::to_string(sheet->labels.size()) + " labels for " +
         std::to_string(sheet->count) + " images";
}

std::string ReadReference(const std::string& path, Sheet* sheet) {
  const std::string error = rules_dnn::serve::ReadNpy(path, &sheet->reference);
  if (!error.empty()) return error;
  const std::vector<int64_t> want = {static_cast<int64_t>(sheet->count), kClasses};
  if (sheet->reference.type == "f32" && sheet->reference.shape == want) return "";
  return path + ": want float32 of shape [" + std::to_string(sheet->count) + ", " +
         std::to_string(kClasses) + "]";
}

size_t Right(const Sheet& sheet, const float* logits) {
  size_t right = 0;
  for (size_t i = 0; i < sheet.count; ++i) {
    const float* const row = logits + i * kClasses;
    const auto best = static_cast<size_t>(std::max_element(row, row + kClasses) - row);
    right += best == sheet.labels[i];
  }
  return right;
}

// Returns the largest error; infinity if a logit is NaN.
double LargestError(const Sheet& sheet, const std::vector<float>& logits) {
  double error = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double e = std::fabs(static_cast<double>(logits[i]) - sheet.logits()[i]);
    error = e <= error ? error : std::isnan(e) ? HUGE_VAL : e;
  }
  return error;
}

double Percent(size_t right, const Sheet& sheet) {
  return 100.0 * static_cast<double>(right) / static_cast<double>(sheet.count);
}

// Checks that the number of right answers satisfies the options; expected is the reference's
// number.
std::string CheckAccuracy(const Sheet& sheet, size_t right, size_t expected,
                          const SheetOptions& options) {
  const double accuracy = Percent(right, sheet);
  if (options.accuracy >= 0 && accuracy < options.accuracy) {
    return "the accuracy is below " + std::to_string(options.accuracy) + " %";
  }
  if (options.logits.empty()) return "";
  if (options.loss >= 0) {
    const bool enough = accuracy >= Percent(expected, sheet) - options.loss;
    return enough ? ""
                  : "the accuracy is more than " + std::to_string(options.loss) +
                        " points below the reference's";
  }
  const bool same = options.accuracy >= 0 || right == expected;
  return same ? "" : "the accuracy differs from the reference's";
}

// Compares the logits with the reference's.
std::string CheckLogits(const Sheet& sheet, const std::vector<float>& logits, size_t expected,
                        double tolerance) {
  const double error = LargestError(sheet, logits);
  std::printf(", reference %.2f %%; largest error %.3g", Percent(expected, sheet), error);
  return error > tolerance ? "logits differ by more than " + std::to_string(tolerance) : "";
}

std::string CheckBatch(const Sheet& sheet, size_t batch, const SheetOptions& options,
                       Classifier* classifier) {
  std::vector<float> logits(sheet.count * kClasses, NAN);
  for (size_t i = 0; i < sheet.count; i += batch) {
    const std::string error = classifier->Run(std::min(batch, sheet.count - i),
                                              &sheet.input[i * kPixels * 3], &logits[i * kClasses]);
    if (!error.empty()) return error;
  }
  const size_t right = Right(sheet, logits.data());
  std::printf("batch %zu: accuracy %.2f %% (%zu of %zu)", batch, Percent(right, sheet), right,
              sheet.count);
  size_t expected = right;
  std::string error;
  if (!options.logits.empty()) {
    expected = Right(sheet, sheet.logits());
    error = CheckLogits(sheet, logits, expected, options.tolerance);
  }
  std::printf("\n");
  return error.empty() ? CheckAccuracy(sheet, right, expected, options) : error;
}

}  // namespace

std::string CheckSheet(const SheetOptions& options, bool* without_device) {
  if (options.loss >= 0 && options.logits.empty()) return "--loss requires --logits";
  Sheet sheet;
  std::string error = ReadImages(options.sheet, &sheet);
  if (error.empty()) error = ReadLabels(options.labels, &sheet);
  if (error.empty() && !options.logits.empty()) error = ReadReference(options.logits, &sheet);
  Classifier classifier;
  if (error.empty()) error = classifier.Create(options.settings);
  *without_device = classifier.without_device();
  for (const int batch : options.batches) {
    if (!error.empty()) break;
    error = CheckBatch(sheet, static_cast<size_t>(batch), options, &classifier);
  }
  return error;
}

}  // namespace app
