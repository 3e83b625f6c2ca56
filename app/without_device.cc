// Checks a program's message on a machine without OpenCL, and that its network runs on the
// processor there.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "app/classifier.h"

namespace {

int Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return 1;
}

}  // namespace

int main() {
  app::Settings settings;
  settings.backend = app::Backend::kOpenCl;
  app::Classifier on_device, on_cpu;
  const std::string refused = on_device.Create(settings);
  if (!on_device.without_device()) return Fail("want no OpenCL device, found one: " + refused);
  if (refused.find("OpenCL") == std::string::npos) return Fail("no cause: " + refused);
  std::printf("%s\n", refused.c_str());

  settings.backend = app::Backend::kCpu;
  std::string error = on_cpu.Create(settings);
  std::vector<float> input(3 * app::kPixels, 0.5f), logits(app::kClasses, NAN);
  if (error.empty()) error = on_cpu.Run(1, input.data(), logits.data());
  if (!error.empty()) return Fail(error);
  for (const float x : logits) {
    if (!std::isfinite(x)) return Fail("a logit is not a number");
  }
  return 0;
}
