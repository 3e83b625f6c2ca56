// A check of the classifier on many labelled images in one PNG.
#ifndef RULES_DNN_APP_SHEET_H_
#define RULES_DNN_APP_SHEET_H_

#include <string>
#include <vector>

#include "app/classifier.h"

namespace app {

struct SheetOptions {
  std::string sheet;   // PNG with one image a row: 32 * 32 RGB pixels in raster order
  std::string labels;  // JSON: a list of class numbers
  std::string logits;  // .npy: another engine's logits, float32; empty: no comparison
  std::vector<int> batches = {1};
  Settings settings;
  double tolerance = 1e-4;  // largest allowed difference of two logits
  double accuracy = -1;     // minimum percentage of right answers; negative: see loss
  double loss = -1;         // maximum loss of accuracy against the reference, in percentage points;
                            // negative: no limit
};

// Classifies all images in batches of each size. Prints the accuracy and, with a reference, the
// largest error. Returns an error, or an empty string. *without_device becomes true if the
// backend's device is missing.
std::string CheckSheet(const SheetOptions& options, bool* without_device);

}  // namespace app

#endif  // RULES_DNN_APP_SHEET_H_
