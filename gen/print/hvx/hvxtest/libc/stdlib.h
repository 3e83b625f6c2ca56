// The little of stdlib.h that the driver of tests needs.
#ifndef HVXTEST_STDLIB_H_
#define HVXTEST_STDLIB_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* aligned_alloc(size_t alignment, size_t size);
void free(void* p);
_Noreturn void exit(int status);

#ifdef __cplusplus
}
#endif

#endif  // HVXTEST_STDLIB_H_
