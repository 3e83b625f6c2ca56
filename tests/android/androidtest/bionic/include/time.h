#ifndef BIONIC_TIME_H_
#define BIONIC_TIME_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef long time_t;
typedef int clockid_t;

struct timespec {
  time_t tv_sec;
  long tv_nsec;
};

#define CLOCK_MONOTONIC 1

int clock_gettime(clockid_t clock, struct timespec* t);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_TIME_H_
