#include "elf.h"

#include <stddef.h>

#include "stdio.h"
#include "stdlib.h"
#include "string.h"

enum {
  kNoMemory = 2,
  kUnableToLoad = (int)0x80000406,
  kNoSymbol = (int)0x80000442,
  kNoSuchFile = (int)0x80000445,
};

// Linux's numbers.
enum { kOpenAt = 56, kClose = 57, kMap = 222, kHere = -100 };
enum { kReadWriteExecute = 7, kPrivateAnonymous = 0x22 };

static int32_t call(int32_t number, int32_t a, int32_t b, int32_t c, int32_t d, int32_t e,
                    int32_t f) {
  register int32_t r0 __asm__("r0") = a;
  register int32_t r1 __asm__("r1") = b;
  register int32_t r2 __asm__("r2") = c;
  register int32_t r3 __asm__("r3") = d;
  register int32_t r4 __asm__("r4") = e;
  register int32_t r5 __asm__("r5") = f;
  register int32_t r6 __asm__("r6") = number;
  __asm__ volatile("trap0(#1)"
                   : "+r"(r0)
                   : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6)
                   : "memory");
  return r0;
}

// The functions that a library may import: only these of a C library.
static int32_t pieces;

int32_t elf_pieces(void) { return pieces; }

static void* counted_malloc(size_t bytes) {
  void* const memory = malloc(bytes);
  if (memory != NULL) ++pieces;
  return memory;
}

static void counted_free(void* memory) {
  if (memory != NULL) --pieces;
  free(memory);
}

static const struct {
  const char* name;
  void* at;
} kTaken[] = {
    {"memcpy", memcpy}, {"memmove", memmove},   {"memset", memset},         {"memcmp", memcmp},
    {"strcmp", strcmp}, {"free", counted_free}, {"malloc", counted_malloc},
};

// Structs of 32-bit ELF files (the System V ABI).
typedef struct {
  uint8_t identity[16];
  uint16_t type, machine;
  uint32_t version, entry, segments, sections, flags;
  uint16_t size, segment_size, segment_count, section_size, section_count, names;
} header;
typedef struct {
  uint32_t type, offset, address, physical, file_bytes, bytes, flags, align;
} segment;
typedef struct {
  uint32_t name, type, flags, address, offset, bytes, link, info, align, entry_bytes;
} section;
typedef struct {
  uint32_t name, value, bytes;
  uint8_t info, other;
  uint16_t section;
} symbol;
typedef struct {
  uint32_t offset, info;
  int32_t addend;
} relocation;

enum { kHexagon = 164, kShared = 3, kLoaded = 1 };
enum { kRelocations = 4, kDynamicSymbols = 11, kConstructors = 14, kAllocated = 2 };
enum { kWord = 6, kGlobal = 33, kJump = 34, kRelative = 35 };

typedef struct {
  const uint8_t* file;
  uint8_t* base;
  const symbol* symbols;
  uint32_t symbol_count;
  const char* names;
} library;

static const header* head(const library* l) { return (const header*)l->file; }

static const section* section_of(const library* l, uint32_t i) {
  return (const section*)(l->file + head(l)->sections + i * head(l)->section_size);
}

static uint8_t* map(uint32_t bytes) {
  const int32_t at = call(kMap, 0, (int32_t)bytes, kReadWriteExecute, kPrivateAnonymous, -1, 0);
  return at < 0 && at > -4096 ? NULL : (uint8_t*)at;
}

// Reads a whole file; it is never freed.
static const uint8_t* read_file(const char* name, uint32_t* bytes) {
  enum { kMost = 64 << 20 };
  const int32_t file = call(kOpenAt, kHere, (int32_t)name, 0, 0, 0, 0);
  if (file < 0) return NULL;
  uint8_t* const text = map(kMost);
  if (text != NULL) *bytes = (uint32_t)fread(text, 1, kMost, (FILE*)file);
  call(kClose, file, 0, 0, 0, 0, 0);
  return text;
}

static int place(library* l) {
  const header* const h = head(l);
  const segment* const s = (const segment*)(l->file + h->segments);
  uint32_t end = 0;
  for (uint32_t i = 0; i < h->segment_count; ++i) {
    if (s[i].type == kLoaded && s[i].address + s[i].bytes > end) end = s[i].address + s[i].bytes;
  }
  l->base = map(end);
  if (l->base == NULL) return 0;
  for (uint32_t i = 0; i < h->segment_count; ++i) {
    if (s[i].type == kLoaded)
      memcpy(l->base + s[i].address, l->file + s[i].offset, s[i].file_bytes);
  }
  return 1;
}

// Returns the address of a symbol, defined in the library or imported; NULL if it is undefined.
static uint8_t* resolve(const library* l, const symbol* s) {
  if (s->section != 0) return l->base + s->value;
  for (uint32_t i = 0; i < sizeof(kTaken) / sizeof(kTaken[0]); ++i) {
    if (strcmp(kTaken[i].name, l->names + s->name) == 0) return kTaken[i].at;
  }
  fprintf(stderr, "%s\n", l->names + s->name);
  return NULL;
}

static int relocate(const library* l, const relocation* r) {
  uint32_t value = (uint32_t)l->base;
  if ((r->info & 255) != kRelative) {
    if (r->info >> 8 >= l->symbol_count) return 0;
    uint8_t* const at = resolve(l, &l->symbols[r->info >> 8]);
    if (at == NULL) return 0;
    value = (uint32_t)at;
  }
  value += (uint32_t)r->addend;
  switch (r->info & 255) {
    case kWord:
    case kGlobal:
    case kJump:
    case kRelative:
      memcpy(l->base + r->offset, &value, sizeof(value));
      return 1;
    default:
      return 0;
  }
}

// Binds symbols and relocations. It rejects constructors, because the runtime has none.
static int bind(library* l) {
  const header* const h = head(l);
  for (uint32_t i = 0; i < h->section_count; ++i) {
    const section* const s = section_of(l, i);
    if (s->type == kConstructors) return 0;
    if (s->type != kDynamicSymbols) continue;
    l->symbols = (const symbol*)(l->file + s->offset);
    l->symbol_count = s->bytes / sizeof(symbol);
    l->names = (const char*)l->file + section_of(l, s->link)->offset;
  }
  for (uint32_t i = 0; i < h->section_count; ++i) {
    const section* const s = section_of(l, i);
    if (s->type != kRelocations || (s->flags & kAllocated) == 0) continue;
    const relocation* const all = (const relocation*)(l->file + s->offset);
    for (uint32_t k = 0; k < s->bytes / sizeof(relocation); ++k) {
      if (!relocate(l, &all[k])) return 0;
    }
  }
  return 1;
}

uint32_t elf_load(const char* file, const char* name, void** found) {
  uint32_t bytes = 0;
  library l = {read_file(file, &bytes), NULL, NULL, 0, NULL};
  if (l.file == NULL) return (uint32_t)kNoSuchFile;
  if (bytes < sizeof(header) || memcmp(l.file, "\177ELF\1\1", 6) != 0 ||
      head(&l)->machine != kHexagon || head(&l)->type != kShared) {
    return (uint32_t)kUnableToLoad;
  }
  if (!place(&l)) return kNoMemory;
  if (!bind(&l)) return (uint32_t)kUnableToLoad;
  for (uint32_t i = 0; i < l.symbol_count; ++i) {
    const symbol* const s = &l.symbols[i];
    if (s->section != 0 && strcmp(l.names + s->name, name) == 0) {
      *found = l.base + s->value;
      return 0;
    }
  }
  return (uint32_t)kNoSymbol;
}
