// A small C library for Hexagon under qemu's Linux: system calls, memory, and qemu's counters. It
// is compiled with -fno-builtin, because clang would replace the loop in memset by a call to
// memset.
#include <stdint.h>

#include "counters.h"
#include "stdio.h"
#include "stdlib.h"
#include "string.h"

// Numbers of Linux system calls.
enum { kRead = 63, kWrite = 64, kExit = 93 };

static int32_t System(int32_t number, int32_t a, int32_t b, int32_t c) {
  register int32_t r0 __asm__("r0") = a;
  register int32_t r1 __asm__("r1") = b;
  register int32_t r2 __asm__("r2") = c;
  register int32_t r6 __asm__("r6") = number;
  __asm__ volatile("trap0(#1)" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r6) : "memory");
  return r0;
}

// In freestanding code, C++ mangles the name of main. So one of the two weak functions is at
// address 0. Their addresses are data, because a call may not reach address 0.
int cxx_main(void) __asm__("_Z4mainv") __attribute__((weak));
int main(void) __attribute__((weak));
static int (*const volatile kMains[])(void) = {cxx_main, main};

_Noreturn void exit(int status) {
  System(kExit, status, 0, 0);
  for (;;) {
  }
}

void _start(void);
void _start(void) { exit(kMains[kMains[0] == NULL]()); }

// Move reads or writes bytes until all are done or the system call fails; it returns the number
// done.
static size_t Move(int32_t call, FILE* f, const void* p, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const int32_t n = System(call, (int32_t)f, (int32_t)p + (int32_t)done, (int32_t)(bytes - done));
    if (n <= 0) break;
    done += (size_t)n;
  }
  return done;
}

size_t fread(void* to, size_t size, size_t n, FILE* f) {
  return Move(kRead, f, to, size * n) / size;
}

size_t fwrite(const void* from, size_t size, size_t n, FILE* f) {
  return size * n == 0 ? 0 : Move(kWrite, f, from, size * n) / size;
}

int fprintf(FILE* f, const char* format, const char* text) {
  (void)format;
  fwrite(text, 1, strlen(text), f);
  return (int)fwrite("\n", 1, 1, f);
}

// The heap is a stack of pieces. Freeing the top piece pops it. If all pieces are freed, the heap
// is empty again. The previous state of the stack is stored before each piece.
struct stack {
  size_t used;
  void* top;  // the newest piece
};

static uint8_t heap[512 << 20] __attribute__((aligned(4096)));
static struct stack stack;
static int pieces;

void* aligned_alloc(size_t alignment, size_t size) {
  const size_t head = alignment < sizeof(struct stack) ? sizeof(struct stack) : alignment;
  const size_t at = (stack.used + head - 1) / head * head + head;
  if (size > sizeof(heap) || at > sizeof(heap) - size) return NULL;
  void* const piece = heap + at;
  ((struct stack*)piece)[-1] = stack;
  stack = (struct stack){at + size, piece};
  ++pieces;
  return piece;
}

void* malloc(size_t size) { return aligned_alloc(16, size); }

void free(void* p) {
  if (p == NULL) return;
  if (p == stack.top) stack = ((struct stack*)p)[-1];
  if (--pieces == 0) stack = (struct stack){0, NULL};
}

void* memcpy(void* to, const void* from, size_t n) { return memmove(to, from, n); }

typedef uint64_t words __attribute__((may_alias));

// Words returns the number of whole words in n bytes if both addresses are aligned, otherwise 0.
static size_t Words(const void* a, const void* b, size_t n) {
  return (((uintptr_t)a | (uintptr_t)b) & 7) == 0 ? n / 8 : 0;
}

void* memmove(void* to, const void* from, size_t n) {
  uint8_t* a = (uint8_t*)to;
  const uint8_t* b = (const uint8_t*)from;
  const size_t whole = Words(a, b, n);
  if (a < b) {
    for (size_t i = 0; i < whole; ++i) ((words*)to)[i] = ((const words*)from)[i];
    for (size_t i = 8 * whole; i < n; ++i) a[i] = b[i];
  } else {
    for (size_t i = n; i-- > 8 * whole;) a[i] = b[i];
    for (size_t i = whole; i-- > 0;) ((words*)to)[i] = ((const words*)from)[i];
  }
  return to;
}

void* memset(void* to, int c, size_t n) {
  uint8_t* a = (uint8_t*)to;
  const size_t whole = Words(a, a, n);
  const uint64_t word = UINT64_C(0x0101010101010101) * (uint8_t)c;
  for (size_t i = 0; i < whole; ++i) ((words*)to)[i] = word;
  for (size_t i = 8 * whole; i < n; ++i) a[i] = (uint8_t)c;
  return to;
}

int memcmp(const void* a, const void* b, size_t n) {
  const uint8_t *x = (const uint8_t*)a, *y = (const uint8_t*)b;
  for (size_t i = 0; i < n; ++i) {
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  }
  return 0;
}

int strcmp(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return (uint8_t)*a - (uint8_t)*b;
}

size_t strlen(const char* s) {
  size_t n = 0;
  while (s[n] != 0) ++n;
  return n;
}

// Reads the executed packets, instructions and HVX instructions from the control registers c20,
// c21 and c22, which only qemu has. Assemblers reject them, so the code has the instructions'
// machine words: r0 = c20, r0 = c21, r0 = c22.
void driver_counters(uint32_t* counts) {
  register uint32_t r0 __asm__("r0");
  __asm__ volatile(".word 0x6a14c000" : "=r"(r0));
  counts[0] = r0;
  __asm__ volatile(".word 0x6a15c000" : "=r"(r0));
  counts[1] = r0;
  __asm__ volatile(".word 0x6a16c000" : "=r"(r0));
  counts[2] = r0;
}
