#ifndef BIONIC_SCHED_H_
#define BIONIC_SCHED_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int pid_t;

typedef struct {
  unsigned long __bits[1024 / (8 * sizeof(unsigned long))];
} cpu_set_t;

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* set);
int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t* set);
int __sched_cpucount(size_t bytes, const cpu_set_t* set);

#define CPU_ZERO(set) __builtin_memset((set), 0, sizeof(cpu_set_t))
#define CPU_SET(cpu, set) ((set)->__bits[(cpu) / 64] |= 1UL << ((cpu) % 64))
#define CPU_ISSET(cpu, set) (((set)->__bits[(cpu) / 64] & 1UL << ((cpu) % 64)) != 0)
#define CPU_COUNT(set) __sched_cpucount(sizeof(cpu_set_t), (set))

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_SCHED_H_
