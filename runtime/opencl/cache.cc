#include "runtime/opencl/cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/dnn_weights.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

// The header of an entry; the binary follows. Entries are read on the machine that wrote them, so
// that numbers have its byte order.
struct Header {
  char magic[8];
  uint8_t key[32];
  uint8_t hash[32];  // of the binary
  uint64_t bytes;
};

constexpr char kMagic[] = "DNNCLB01";
constexpr uint64_t kMostBytes = uint64_t{1} << 31;

void AddHex(char** at, uint64_t value, int digits) {
  while (digits-- > 0) *(*at)++ = "0123456789abcdef"[value >> (4 * digits) & 15];
}

// Writes the path of an entry, folder/KEY.clbin, or of a temporary file that becomes one,
// folder/KEY.PROCESS-NUMBER.tmp.
bool Path(const char* folder, const Key& key, bool temporary, Bytes* path) {
  static uint32_t number = 0;
  const size_t n = strlen(folder);
  if (!path->Resize(n + 128)) return false;
  char* at = reinterpret_cast<char*>(path->data());
  memcpy(at, folder, n);
  at += n;
  *at++ = '/';
  for (const uint8_t b : key.hash) AddHex(&at, b, 2);
  if (!temporary) {
    memcpy(at, ".clbin", sizeof(".clbin"));
    return true;
  }
  *at++ = '.';
  AddHex(&at, static_cast<uint64_t>(getpid()), 8);
  *at++ = '-';
  AddHex(&at, __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED), 8);
  memcpy(at, ".tmp", sizeof(".tmp"));
  return true;
}

bool ReadAll(int file, void* to, size_t bytes) {
  uint8_t* at = static_cast<uint8_t*>(to);
  while (bytes > 0) {
    const ssize_t n = read(file, at, bytes);
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool WriteAll(int file, const void* from, size_t bytes) {
  const uint8_t* at = static_cast<const uint8_t*>(from);
  while (bytes > 0) {
    const ssize_t n = write(file, at, bytes);
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool ReadEntry(int file, const Key& key, Bytes* binary) {
  Header h;
  struct stat info;
  if (fstat(file, &info) != 0 || !ReadAll(file, &h, sizeof(h))) return false;
  if (memcmp(h.magic, kMagic, sizeof(h.magic)) != 0) return false;
  if (memcmp(h.key, key.hash, sizeof(h.key)) != 0) return false;
  if (h.bytes == 0 || h.bytes > kMostBytes) return false;
  if (static_cast<uint64_t>(info.st_size) != sizeof(h) + h.bytes) return false;
  const size_t bytes = static_cast<size_t>(h.bytes);
  if (!binary->Resize(bytes) || !ReadAll(file, binary->data(), bytes)) return false;
  uint8_t hash[32];
  Sha256(binary->data(), bytes, hash);
  return memcmp(hash, h.hash, sizeof(hash)) == 0;
}

}  // namespace

bool ReadCache(const char* folder, const Key& key, const Options& options, Bytes* binary) {
  Bytes path(options);
  if (!Path(folder, key, false, &path)) return false;
  const int file = open(path.text(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool ok = ReadEntry(file, key, binary);
  close(file);
  return ok;
}

void WriteCache(const char* folder, const Key& key, const Options& options, const uint8_t* binary,
                size_t bytes) {
  Bytes path(options), temporary(options);
  if (!Path(folder, key, false, &path) || !Path(folder, key, true, &temporary)) return;
  mkdir(folder, 0777);
  const int file = open(temporary.text(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return;
  Header h = {};
  memcpy(h.magic, kMagic, sizeof(h.magic));
  memcpy(h.key, key.hash, sizeof(h.key));
  Sha256(binary, bytes, h.hash);
  h.bytes = bytes;
  bool ok = WriteAll(file, &h, sizeof(h)) && WriteAll(file, binary, bytes);
  ok = close(file) == 0 && ok;
  if (ok) ok = rename(temporary.text(), path.text()) == 0;
  if (!ok) unlink(temporary.text());
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
