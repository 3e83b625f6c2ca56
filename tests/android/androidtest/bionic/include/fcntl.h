#ifndef BIONIC_FCNTL_H_
#define BIONIC_FCNTL_H_

#ifdef __cplusplus
extern "C" {
#endif

#define O_RDONLY 0
#define O_CLOEXEC 02000000

int open(const char* path, int flags, ...);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_FCNTL_H_
