#ifndef BIONIC_STDLIB_H_
#define BIONIC_STDLIB_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* malloc(size_t bytes);
void* calloc(size_t count, size_t bytes);
char* getenv(const char* name);
int posix_memalign(void** memory, size_t alignment, size_t bytes);
void free(void* memory);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_STDLIB_H_
