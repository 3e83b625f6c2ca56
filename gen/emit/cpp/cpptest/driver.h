// Runs printed programs for tests: requests on standard input, results on standard output
// (cpptest.go says how they are written). Memory around buffers is filled with a pattern that
// must survive.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dnn_cpu.h"
#include "runtime/dnn_device.h"
#include "runtime/dnn_kernel.h"
#include "runtime/dnn_opaque.h"
#include "runtime/dnn_runtime.h"

typedef rules_dnn::Status Program(const rules_dnn::Ctx* c);

#ifdef DRIVER_MAIN

Program* Find(int64_t i);

namespace rules_dnn {
inline namespace v1 {
// Every task by itself: none may rely on another one of its block.
void Parallel(const Ctx* c, int32_t, TaskFn fn, int64_t tasks) {
  for (int64_t i = tasks; i-- > 0;) fn(c, i, i + 1, 0);
}
}  // namespace v1
}  // namespace rules_dnn

static const size_t kGuard = 128;  // the widest vector of any machine
static const int kMaxBuffers = 64;

#ifdef DRIVER_COUNTERS
extern "C" void driver_counters(uint32_t* counts);
#else
#define DRIVER_COUNTERS 0
static void driver_counters(uint32_t*) {}
#endif

static void Fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static bool Read(void* to, size_t bytes) { return bytes == 0 || fread(to, bytes, 1, stdin) == 1; }

static int64_t Number() {
  int64_t x = 0;
  if (!Read(&x, sizeof(x))) Fail("the request is too short");
  return x;
}

static uint8_t* Allocate(int64_t bytes) {
  const size_t size = (static_cast<size_t>(bytes) + 3 * kGuard - 1) / kGuard * kGuard;
  uint8_t* const p = static_cast<uint8_t*>(aligned_alloc(kGuard, size));
  if (p == nullptr) Fail("no memory");
  memset(p, 0xa5, size);
  return p + kGuard;
}

// Gives memory back; its surroundings must be as they were.
static void Release(uint8_t* p, int64_t bytes) {
  for (size_t i = 0; i < kGuard; ++i) {
    if (p[-1 - static_cast<ptrdiff_t>(i)] != 0xa5) Fail("something wrote before a buffer");
  }
  const size_t size = (static_cast<size_t>(bytes) + 3 * kGuard - 1) / kGuard * kGuard;
  for (size_t i = static_cast<size_t>(bytes); i < size - kGuard; ++i) {
    if (p[i] != 0xa5) Fail("something wrote behind a buffer");
  }
  free(p - kGuard);
}

struct Buffer {
  uint8_t* data;
  int64_t bytes;
};

static Buffer Fetch(bool fill) {
  Buffer b = {nullptr, Number()};
  b.data = Allocate(b.bytes);
  if (fill && !Read(b.data, static_cast<size_t>(b.bytes))) Fail("the request is too short");
  return b;
}

static Buffer Reserve() {
  Buffer b = {nullptr, Number()};
  b.data = Allocate(b.bytes);
  return b;
}

static int Count() {
  const int64_t n = Number();
  if (n > kMaxBuffers) Fail("too many inputs, outputs or symbols");
  return static_cast<int>(n);
}

#ifdef DRIVER_DEVICE
#include "device.h"
#else
static rules_dnn::Status RunOnDevice(Program* run, rules_dnn::Ctx* c, const char**) {
  return run(c);
}
#endif

static void RunOne(int64_t program) {
  const Buffer arena = Reserve(), scratch = Reserve();
  int64_t sym[kMaxBuffers];
  const int symbols = Count();
  for (int i = 0; i < symbols; ++i) sym[i] = Number();
  const size_t reported = static_cast<size_t>(Number());
  const Buffer weights = Fetch(true);
  Buffer in[kMaxBuffers], out[kMaxBuffers];
  const void* in_data[kMaxBuffers];
  void* out_data[kMaxBuffers];
  const int inputs = Count();
  for (int i = 0; i < inputs; ++i) in_data[i] = (in[i] = Fetch(true)).data;
  const int outputs = Count();
  for (int i = 0; i < outputs; ++i) out_data[i] = (out[i] = Fetch(false)).data;
  rules_dnn::Ctx c = {};
  c.weights = weights.data;
  c.arena = arena.data;
  c.scratch_base = scratch.data;
  c.scratch_stride = static_cast<size_t>(scratch.bytes);
  c.sym = sym;
  c.in = in_data;
  c.out = out_data;
  int32_t bad_index = 0;
  c.bad_index = &bad_index;
  const char* refused = nullptr;
  c.refused = &refused;
  Program* const run = Find(program);
  uint32_t before[DRIVER_COUNTERS + 1], after[DRIVER_COUNTERS + 1];
  driver_counters(before);
  const int32_t status = static_cast<int32_t>(RunOnDevice(run, &c, &refused));
  driver_counters(after);
  fwrite(&status, sizeof(status), 1, stdout);
  for (int i = 0; i < DRIVER_COUNTERS; ++i) {
    const uint32_t count = after[i] - before[i];
    fwrite(&count, sizeof(count), 1, stdout);
  }
  fwrite(sym, sizeof(sym[0]), reported, stdout);
  for (int i = 0; i < outputs; ++i) {
    fwrite(out[i].data, 1, static_cast<size_t>(out[i].bytes), stdout);
    Release(out[i].data, out[i].bytes);
  }
  for (int i = 0; i < inputs; ++i) Release(in[i].data, in[i].bytes);
  Release(weights.data, weights.bytes);
  Release(arena.data, arena.bytes);
  Release(scratch.data, scratch.bytes);
}

// The first number reports whether denormal numbers are kept; otherwise they are zeros, as in runs
// of users.
int main() {
  const rules_dnn::DenormalsAsZero mode(Number() == 0);
  int64_t program = 0;
  while (Read(&program, sizeof(program))) RunOne(program);
  return 0;
}

#endif
