#ifndef PRINT_ROW_H_
#define PRINT_ROW_H_

#include <cstdio>

// Prints a network's name and its results for one row. The template arguments are types of the
// network's namespace.
template <typename Model, typename Context, typename Dims>
bool PrintRow(const char* name) {
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

#endif  // PRINT_ROW_H_
