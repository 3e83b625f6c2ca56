// Two models in one program that is built without Bazel.
#include <cstdio>

#include "other_here.h"
#include "relu_here.h"

template <typename Model, typename Context, typename Dims>
static bool Print(const char* name) {
  const float x[4] = {-1, 0, 1, 2};
  float y[4];
  Model model;
  Context context;
  Dims dims = {};
  dims.N = 1;
  if (model.Create() != 0 || context.Create(model) != 0 || context.Run(dims, x, y) != 0) {
    return false;
  }
  std::printf("%s %g %g %g %g\n", name, y[0], y[1], y[2], y[3]);
  return true;
}

int main() {
  const bool good = Print<relu_here::Model, relu_here::Context, relu_here::Dims>("relu") &&
                    Print<other_here::Model, other_here::Context, other_here::Dims>("other");
  return good ? 0 : 1;
}
