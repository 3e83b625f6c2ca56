#include "runtime/serve/buffer.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace rules_dnn::serve {

namespace {

// Reads a file of known size directly to its final place, since it may exceed half of the memory.
bool ReadSized(std::FILE* file, size_t size, Buffer* buffer) {
  return buffer->Resize(size) && std::fread(buffer->data(), 1, size, file) == size &&
         std::fgetc(file) == EOF;
}

// Reads in pieces, because a pipe has no size.
bool ReadPieces(std::FILE* file, Buffer* buffer) {
  std::vector<unsigned char> bytes;
  for (size_t got = 1; got > 0;) {
    const size_t at = bytes.size();
    bytes.resize(at + (size_t{1} << 20));
    got = std::fread(bytes.data() + at, 1, bytes.size() - at, file);
    bytes.resize(at + got);
  }
  if (!buffer->Resize(bytes.size())) return false;
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return true;
}

}  // namespace

bool ReadFile(const char* path, Buffer* buffer) {
  std::FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  struct stat st;
  const bool sized = fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
                     static_cast<uintmax_t>(st.st_size) <= SIZE_MAX / 2;
  const bool read =
      sized ? ReadSized(file, static_cast<size_t>(st.st_size), buffer) : ReadPieces(file, buffer);
  const bool ok = read && std::ferror(file) == 0;
  std::fclose(file);
  return ok;
}

}  // namespace rules_dnn::serve
