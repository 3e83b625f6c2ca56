#include <cstdio>

#include "relu.h"

// Prints the network's results for one row.
int main() {
  relu::Model model;
  relu::Context context;
  relu::Dims dims = {};
  dims.N = 1;
  const float x[4] = {-1, 0, 1, 2};
  float y[4];
  relu::Status status = model.Create();
  if (status == 0) status = context.Create(model);
  if (status == 0) status = context.Run(dims, x, y);
  if (status != 0) {
    std::fprintf(stderr, "%s\n", relu::Message(status));
    return 1;
  }
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
