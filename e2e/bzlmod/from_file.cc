#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "relu_file.h"

// Reads a file into memory with the alignment that the header requires.
static void* Read(const char* path, size_t* bytes) {
  std::FILE* f = std::fopen(path, "rb");
  if (f == nullptr) return nullptr;
  std::fseek(f, 0, SEEK_END);
  *bytes = static_cast<size_t>(std::ftell(f));
  std::rewind(f);
  void* memory = std::aligned_alloc(64, (*bytes + 63) / 64 * 64);
  if (memory != nullptr && std::fread(memory, 1, *bytes, f) != *bytes) memory = nullptr;
  std::fclose(f);
  return memory;
}

// Prints the network's results for one row. The argument is the weights file.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  relu_file::Options options = {};
  options.size = sizeof options;
  options.weights = Read(argv[1], &options.weights_bytes);
  relu_file::Model model;
  relu_file::Context context;
  relu_file::Status status = model.Create(options);
  if (status == 0) status = context.Create(model);
  const float x[4] = {-1, 0, 1, 2};
  float y[4];
  relu_file::Dims dims = {};
  dims.N = 1;
  if (status == 0) status = context.Run(dims, x, y);
  if (status != 0) {
    std::fprintf(stderr, "%s\n", relu_file::Message(status));
    return 1;
  }
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
