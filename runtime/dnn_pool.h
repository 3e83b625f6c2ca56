// A fixed set of threads that compute parts of a block together.
#ifndef RULES_DNN_RUNTIME_DNN_POOL_H_
#define RULES_DNN_RUNTIME_DNN_POOL_H_

#include <stdint.h>

#include "runtime/dnn_runtime.h"
#include "runtime/dnn_system.h"
#ifndef RULES_DNN_BARE
#include <pthread.h>
#endif

namespace rules_dnn {
inline namespace v1 {

// The most workers that a context may have.
constexpr int kMaxWorkers = 1024;

// Workers 1..workers-1 are threads, worker 0 is the caller of PoolRun. A thread that
// waits for work spins for a short while, since the next block usually follows at once, and
// then sleeps. Where there are more workers than processors it sleeps at once.
struct Pool {
  using Body = void (*)(void* arg, int32_t index);

  int workers;  // 1: no thread exists
  int started;  // threads that exist
  int64_t spin_ns;
  struct Thread* threads;  // workers-1 of them, in memory of the pool's owner

  // The job. Written by the caller before epoch changes, read by workers after.
  Body body;
  void* arg;
  int32_t count;

  // Each in a cache line of its own: workers poll the first, the caller the second.
  alignas(kAlignment) uint32_t epoch;     // grows by one a job
  alignas(kAlignment) int32_t remaining;  // workers that have not finished the job
  alignas(kAlignment) int32_t sleepers;   // workers that sleep or are about to
  int32_t caller_sleeps;
  bool stop;
#ifndef RULES_DNN_BARE
  pthread_mutex_t mutex;
  pthread_cond_t work;
  pthread_cond_t done;
#endif
};

struct Thread {
  Pool* pool;
#ifndef RULES_DNN_BARE
  pthread_t id;
#endif
  int32_t index;
};

// Starts a pool in zeroed memory; threads has room for workers-1. On an error the
// pool is stopped again. Where there are no threads it has the caller alone.
Status PoolStart(Pool* pool, Thread* threads, int workers);

// Calls body(arg, i) once for each i in [0, count), count at most the number of workers,
// each on another worker, and returns when all have returned.
void PoolRun(Pool* pool, Pool::Body body, void* arg, int32_t count);

// Ends the threads. Does nothing to a pool that never started.
void PoolStop(Pool* pool);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_POOL_H_
