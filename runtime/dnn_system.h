// What lies under the runtime: an operating system, or on a DSP a C library's little. There it
// starts no threads and sees no files and no environment, and takes from the C library
// memcpy, memmove, memset, memcmp, strcmp, malloc and free alone: a program that has none defines
// these.
#ifndef RULES_DNN_RUNTIME_DNN_SYSTEM_H_
#define RULES_DNN_RUNTIME_DNN_SYSTEM_H_

#include <stddef.h>

#if defined(__hexagon__)
#define RULES_DNN_BARE 1
#endif

#ifdef RULES_DNN_BARE
// Compilers for a DSP need have no headers of a C library.
extern "C" {
void* memcpy(void* to, const void* from, size_t bytes);
void* memset(void* to, int byte, size_t bytes);
int memcmp(const void* a, const void* b, size_t bytes);
int strcmp(const char* a, const char* b);
void* malloc(size_t bytes);
void free(void* memory);
}
#else
#include <stdlib.h>
#include <string.h>
#endif

namespace rules_dnn {
inline namespace v1 {

// A variable of the environment; null where there is none.
inline const char* Environment(const char* name) {
#ifdef RULES_DNN_BARE
  (void)name;
  return nullptr;
#else
  return getenv(name);
#endif
}

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_SYSTEM_H_
