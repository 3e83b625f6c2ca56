// The part of stdlib.h that programs under the emulator need.
#ifndef RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STDLIB_H_
#define RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STDLIB_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* aligned_alloc(size_t alignment, size_t size);
void* malloc(size_t size);
void free(void* p);
_Noreturn void exit(int status);

#ifdef __cplusplus
}
#endif

#endif  // RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STDLIB_H_
