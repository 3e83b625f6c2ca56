// Three models in one program.
#include <cstdio>

#include "a/model.h"
#include "b/model.h"
#include "choice/net.h"

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
  const bool good = Print<a_model::Model, a_model::Context, a_model::Dims>("a") &&
                    Print<b_model::Model, b_model::Context, b_model::Dims>("b") &&
                    Print<choice_net::Model, choice_net::Context, choice_net::Dims>("choice");
  return good ? 0 : 1;
}
