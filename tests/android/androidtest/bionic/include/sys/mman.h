#ifndef BIONIC_SYS_MMAN_H_
#define BIONIC_SYS_MMAN_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MADV_HUGEPAGE 14

int madvise(void* address, size_t bytes, int advice);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_SYS_MMAN_H_
