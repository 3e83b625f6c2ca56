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
  std::string logits;  // .npy: the logits that another engine gave, float32; empty: none to compare
  std::vector<int> batches = {1};
  Settings settings;
  double tolerance = 1e-4;  // largest allowed difference of two logits
  double accuracy = -1;     // least percent that are right; below 0: what `loss` says
  double loss = -1;         // most points that fewer are right than of the reference; below 0: none
};

// Classifies all images in batches of each size, prints accuracy and, of a reference, the largest
// error. Returns an empty string, or in what the answers differ from the reference.
// *without_device: the backend's device is not there.
std::string CheckSheet(const SheetOptions& options, bool* without_device);

}  // namespace app

#endif  // RULES_DNN_APP_SHEET_H_
