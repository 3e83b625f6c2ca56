// A program for a device's shell. Its exit status is 0 if the network's results are correct.
int app_answer(const float* x, int rows, float* y);

int main(void) {
  const float x[4] = {-1, 0, 1, 2}, want[4] = {0.5, 0, 1.5, 5};
  float y[4];
  if (app_answer(x, 1, y) != 0) return 1;
  for (int i = 0; i < 4; ++i) {
    if (y[i] != want[i]) return 2;
  }
  return 0;
}
