#ifndef BIONIC_STRING_H_
#define BIONIC_STRING_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* memcpy(void* to, const void* from, size_t n);
void* memmove(void* to, const void* from, size_t n);
void* memset(void* to, int c, size_t n);
int memcmp(const void* a, const void* b, size_t n);
int strcmp(const char* a, const char* b);
size_t strlen(const char* s);
size_t strcspn(const char* s, const char* end);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_STRING_H_
