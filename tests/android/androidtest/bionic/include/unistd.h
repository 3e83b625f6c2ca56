#ifndef BIONIC_UNISTD_H_
#define BIONIC_UNISTD_H_

#ifdef __cplusplus
extern "C" {
#endif

#define _SC_NPROCESSORS_ONLN 0x61

long sysconf(int name);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_UNISTD_H_
