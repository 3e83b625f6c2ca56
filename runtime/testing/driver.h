// Shared parts of the drivers of backend tests: programs that run a model with a fake library
// instead of the machine's. Each driver is one source file.
#ifndef RULES_DNN_RUNTIME_TESTING_DRIVER_H_
#define RULES_DNN_RUNTIME_TESTING_DRIVER_H_

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/dnn_model.h"

#define CHECK(x)                                                 \
  do {                                                           \
    if (!(x)) {                                                  \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);    \
      fprintf(stderr, "message: %s; run: %s\n", message, words); \
      exit(1);                                                   \
    }                                                            \
  } while (0)

// The last messages of create() and of the last run.
inline char message[4096], words[4096];

// The number of allocations that a model holds.
inline int64_t taken = 0;
inline void* Allocate(void*, size_t bytes, size_t alignment) {
  void* p = nullptr;
  if (posix_memalign(&p, alignment, bytes) == 0) __atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
  return p;
}
inline void Release(void*, void* p, size_t) {
  __atomic_sub_fetch(&taken, 1, __ATOMIC_RELAXED);
  free(p);
}

// Returns options of a backend that count allocations and receive messages.
template <class T>
T CountedOptions() {
  T o = {};
  o.host.size = sizeof(o);
  o.host.allocate = Allocate;
  o.host.release = Release;
  o.message = message;
  o.message_bytes = sizeof(message);
  return o;
}

template <class Options>
rules_dnn::Status CreateModel(const rules_dnn::Description* d, const Options& o,
                              rules_dnn::Model** model) {
  message[0] = words[0] = 0;
  return rules_dnn::ModelCreate(d, &o.host, model);
}

// Looks up a fake library's own function.
template <class Function>
void Look(void* library, const char* name, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(library, name));
  CHECK(*out != nullptr);
}

#endif  // RULES_DNN_RUNTIME_TESTING_DRIVER_H_
