// The process on the DSP, as a program for qemu-hexagon. It loads skeleton libraries like the DSP's
// loader, and answers requests of emulated.cc through its standard input and output.
#include <stdint.h>

#include "elf.h"
#include "stdio.h"
#include "stdlib.h"
#include "string.h"

enum { kLoad, kInvoke, kAlive };  // requests
enum { kMostLibraries = 64, kMostArgs = 255 + 255 + 15 + 15, kLine = 128 };

typedef union {
  struct {
    void* at;
    uint32_t bytes;
  } buffer;
  uint64_t handle;
} arg;

typedef int32_t entry(uint64_t handle, uint32_t scalars, arg* args);

// Loaded functions by library and name; a repeated request finds the first one.
static struct {
  char names[1024];
  entry* at;
} entries[kMostLibraries];
static uint32_t loaded;

// Memory of the buffers of one call.
static uint8_t arena[64 << 20] __attribute__((aligned(4096)));
static uint32_t used;

static void read_all(void* to, uint32_t bytes) {
  if (bytes > 0 && fread(to, 1, bytes, stdin) != bytes) exit(0);  // the other side has ended
}

static uint32_t read_word(void) {
  uint32_t word;
  read_all(&word, sizeof(word));
  return word;
}

static void* take(uint32_t bytes) {
  void* const at = arena + used;
  if (bytes > sizeof(arena) - used) exit(1);
  used += (bytes + kLine - 1) / kLine * kLine;
  return at;
}

static void load(void) {
  const uint32_t bytes = read_word();
  char* const names = entries[loaded].names;
  if (bytes > sizeof(entries[loaded].names)) exit(1);
  read_all(names, bytes);
  uint32_t code = 0, library = 0;
  while (library < loaded && memcmp(entries[library].names, names, bytes) != 0) ++library;
  if (library == loaded) {
    void* found = NULL;
    code = elf_load(names, names + strlen(names) + 1, &found);
    entries[library].at = (entry*)found;
  }
  fwrite(&code, sizeof(code), 1, stdout);
  fwrite(&library, sizeof(library), 1, stdout);
  if (code == 0 && library == loaded && ++loaded == kMostLibraries) exit(1);
}

static void invoke(void) {
  used = 0;
  const uint32_t library = read_word(), scalars = read_word();
  uint64_t handle;
  read_all(&handle, sizeof(handle));
  const uint32_t in = scalars >> 16 & 255, all = in + (scalars >> 8 & 255);
  const uint32_t out_handles = all + (scalars >> 4 & 15), end = out_handles + (scalars & 15);
  static arg args[kMostArgs];
  memset(args, 0, sizeof(args));
  for (uint32_t i = 0; i < all; ++i) {
    args[i].buffer.bytes = read_word();
    if (read_word() == 0) continue;
    args[i].buffer.at = take(args[i].buffer.bytes);
    if (i < in) {
      read_all(args[i].buffer.at, args[i].buffer.bytes);
    } else {
      memset(args[i].buffer.at, 0xa5, args[i].buffer.bytes);
    }
  }
  for (uint32_t i = all; i < out_handles; ++i) read_all(&args[i].handle, sizeof(uint64_t));
  if (library >= loaded) exit(1);
  const int32_t code = entries[library].at(handle, scalars, args);
  fwrite(&code, sizeof(code), 1, stdout);
  if (code != 0) return;
  for (uint32_t i = in; i < all; ++i) {
    if (args[i].buffer.at != NULL) fwrite(args[i].buffer.at, 1, args[i].buffer.bytes, stdout);
  }
  for (uint32_t i = out_handles; i < end; ++i) fwrite(&args[i].handle, sizeof(uint64_t), 1, stdout);
}

int main(void) {
  for (;;) {
    switch (read_word()) {
      case kLoad:
        load();
        break;
      case kInvoke:
        invoke();
        break;
      case kAlive: {
        const int32_t pieces = elf_pieces();
        fwrite(&pieces, sizeof(pieces), 1, stdout);
        break;
      }
      default:
        return 1;
    }
  }
}
