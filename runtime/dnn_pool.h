// A fixed set of threads that compute parts of a block in parallel.
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

// Maximum number of workers of a context.
constexpr int kMaxWorkers = 1024;

// Worker 0 is the caller of PoolRun; workers 1..workers-1 are threads. A thread that waits for work
// spins briefly, since the next block usually follows at once, and then sleeps. If there are more
// workers than processors, it sleeps at once.
struct Pool {
  using Body = void (*)(void* arg, int32_t index);

  int workers;  // 1: no thread exists
  int started;  // threads that exist
  int64_t spin_ns;
  struct Thread* threads;  // workers-1 of them, in the owner's memory

  // The job. The caller writes it before it changes epoch; workers read it afterwards.
  Body body;
  void* arg;
  int32_t count;

  // Each has its own cache line: workers poll the first, the caller polls the second.
  alignas(kAlignment) uint32_t epoch;     // increases by one for each job
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

// Starts a pool in zeroed memory; threads has room for workers-1. If an error occurs, the pool is
// stopped again. On systems without threads the pool consists of the caller only.
Status PoolStart(Pool* pool, Thread* threads, int workers);

// Calls body(arg, i) once for each i in [0, count), each on a different worker, and returns when
// all have returned. count is at most the number of workers.
void PoolRun(Pool* pool, Pool::Body body, void* arg, int32_t count);

// Stops and joins the threads. Does nothing if the pool never started.
void PoolStop(Pool* pool);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_POOL_H_
