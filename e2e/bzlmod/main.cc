#include <cstdio>

#include "answer.h"

// Prints the network's results for two rows.
int main() {
  const float x[8] = {-1, 0, 1, 2, 10, 20, -30, -40};
  float y[8];
  if (const char* error = Answer(x, 2, y)) {
    std::fprintf(stderr, "%s\n", error);
    return 1;
  }
  for (int i = 0; i < 8; ++i) std::printf("%.9g%c", y[i], i == 7 ? '\n' : ' ');
  return 0;
}
