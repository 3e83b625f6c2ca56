// The part of string.h that compilers and programs under the emulator need.
#ifndef RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STRING_H_
#define RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STRING_H_

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

#ifdef __cplusplus
}
#endif

#endif  // RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STRING_H_
