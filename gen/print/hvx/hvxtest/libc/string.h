// The little of string.h that the driver of tests and compilers need.
#ifndef HVXTEST_STRING_H_
#define HVXTEST_STRING_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* memcpy(void* to, const void* from, size_t n);
void* memmove(void* to, const void* from, size_t n);
void* memset(void* to, int c, size_t n);
size_t strlen(const char* s);

#ifdef __cplusplus
}
#endif

#endif  // HVXTEST_STRING_H_
