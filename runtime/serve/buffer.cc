#include "runtime/serve/buffer.h"

#include <cstdio>
#include <cstring>
#include <vector>

namespace rules_dnn::serve {

bool ReadFile(const char* path, Buffer* buffer) {
  std::FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  // In pieces: a pipe has no size to ask for.
  std::vector<unsigned char> bytes;
  for (size_t got = 1; got > 0;) {
    const size_t at = bytes.size();
    bytes.resize(at + (size_t{1} << 20));
    got = std::fread(bytes.data() + at, 1, bytes.size() - at, file);
    bytes.resize(at + got);
  }
  const bool ok = std::ferror(file) == 0;
  std::fclose(file);
  if (!ok || !buffer->Resize(bytes.size())) return false;
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return true;
}

}  // namespace rules_dnn::serve
