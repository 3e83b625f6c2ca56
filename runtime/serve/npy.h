// NumPy's .npy files: dense arrays of numbers with their type and shape.
#ifndef RULES_DNN_RUNTIME_SERVE_NPY_H_
#define RULES_DNN_RUNTIME_SERVE_NPY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/serve/buffer.h"

namespace rules_dnn::serve {

// An array in memory, row-major.
struct Array {
  std::string type;  // as rules_dnn::TensorInfo names it: f32, i64, bool ...
  std::vector<int64_t> shape;
  Buffer data;
};

// Returns the bytes of an element; 0 for a type that .npy files do not support.
size_t ElementBytes(const std::string& type);

// Reads a little-endian file of version 1 to 3 in C order. Returns an error, or an empty string.
std::string ReadNpy(const std::string& path, Array* array);

// Writes data of the type and shape; bf16, which NumPy lacks, as uint16.
std::string WriteNpy(const std::string& path, const std::string& type,
                     const std::vector<int64_t>& shape, const void* data);

}  // namespace rules_dnn::serve

#endif  // RULES_DNN_RUNTIME_SERVE_NPY_H_
