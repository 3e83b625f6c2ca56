#ifndef BIONIC_PTHREAD_H_
#define BIONIC_PTHREAD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef long pthread_t;

typedef struct {
  uint32_t flags;
  void* stack_base;
  size_t stack_size;
  size_t guard_size;
  int32_t sched_policy;
  int32_t sched_priority;
  char __reserved[16];
} pthread_attr_t;

typedef long pthread_mutexattr_t;
typedef long pthread_condattr_t;

typedef struct {
  int32_t __private[10];
} pthread_mutex_t;

#define PTHREAD_MUTEX_INITIALIZER {{0}}

typedef struct {
  int32_t __private[12];
} pthread_cond_t;

int pthread_attr_init(pthread_attr_t* attr);
int pthread_attr_setstacksize(pthread_attr_t* attr, size_t bytes);
int pthread_attr_destroy(pthread_attr_t* attr);

int pthread_create(pthread_t* thread, const pthread_attr_t* attr, void* (*start)(void*), void* arg);
int pthread_join(pthread_t thread, void** result);

int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attr);
int pthread_mutex_lock(pthread_mutex_t* mutex);
int pthread_mutex_unlock(pthread_mutex_t* mutex);
int pthread_mutex_destroy(pthread_mutex_t* mutex);

int pthread_cond_init(pthread_cond_t* cond, const pthread_condattr_t* attr);
int pthread_cond_wait(pthread_cond_t* cond, pthread_mutex_t* mutex);
int pthread_cond_signal(pthread_cond_t* cond);
int pthread_cond_broadcast(pthread_cond_t* cond);
int pthread_cond_destroy(pthread_cond_t* cond);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_PTHREAD_H_
