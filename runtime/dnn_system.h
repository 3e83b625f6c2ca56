// The layer below the runtime: an operating system, or a minimal C library on a DSP. On a DSP the
// runtime starts no threads and reads neither files nor the environment. From the C library it uses
// only memcpy, memmove, memset, memcmp, strcmp, malloc and free; a program without a C library
// defines these itself.
#ifndef RULES_DNN_RUNTIME_DNN_SYSTEM_H_
#define RULES_DNN_RUNTIME_DNN_SYSTEM_H_

#include <stddef.h>

#if defined(__hexagon__)
#define RULES_DNN_BARE 1
#endif

#ifdef RULES_DNN_BARE
// A DSP's compiler may come without headers of a C library.
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

// Returns an environment variable; null if it is not set.
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
