#ifndef BIONIC_UNISTD_H_
#define BIONIC_UNISTD_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef long ssize_t;

#define _SC_NPROCESSORS_ONLN 0x61

long sysconf(int name);
ssize_t read(int file, void* to, size_t n);
int close(int file);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_UNISTD_H_
