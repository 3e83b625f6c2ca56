#include <cstdio>
#include <vector>

#include "net.h"

// Classifies one gray image and prints the logits.
int main() {
  net::Model model;
  net::Context context;
  char why[1000] = "";
  net::Options options = {};
  options.size = sizeof options;
  options.message = why;  // receives the driver's message if there is no device
  options.message_bytes = sizeof why;
  std::vector<float> image(3 * 32 * 32, 0.5f), logits(10);
  net::Status status = model.Create(&options);
  if (status != net_OK) std::puts(why);
  if (status == net_OK) status = context.Create(model);
  if (status == net_OK) status = context.Run({/*N=*/1}, image.data(), logits.data());
  for (float x : logits) std::printf("%.3f ", x);
  return std::puts(net::Message(status)) < 0 || status != net_OK;
}
