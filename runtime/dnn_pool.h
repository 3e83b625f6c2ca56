// A fixed set of threads that compute parts of a block in parallel.
#ifndef RULES_DNN_RUNTIME_DNN_POOL_H_
#define RULES_DNN_RUNTIME_DNN_POOL_H_

#include <stdint.h>

#include "runtime/dnn_cores.h"
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
//
// A thread joins a job when it wakes up, unless the job is closed by then. The caller closes the
// job when it has no work left, and waits only for the threads that have joined.
struct Pool {
  using Body = void (*)(void* arg, int32_t index);

  int workers;  // 1: no thread exists
  int started;  // threads that exist
  int64_t spin_ns;
  struct Thread* threads;  // workers-1 of them, in the owner's memory
  const CoreSet* cores;    // where the threads run; null: where their creator does

  // The job. The caller writes it while no thread has joined; threads read it after they joined.
  Body body;
  void* arg;

  // The job's epoch, number of workers, state, and threads inside: see dnn_pool.cc. Workers and the
  // caller poll it.
  alignas(kAlignment) uint64_t state;
  alignas(kAlignment) int32_t sleepers;  // workers that sleep or are about to
  int32_t caller_sleeps;
  int32_t bound;    // threads that have tried to run on the cores; guarded by the mutex
  int32_t refused;  // of them, those that the system refused
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

// Starts a pool in zeroed memory; threads has room for workers-1. The threads run on the cores, or,
// if cores is null, where the caller may. If an error occurs, the pool is stopped again. On systems
// without threads the pool consists of the caller only.
Status PoolStart(Pool* pool, Thread* threads, int workers, const CoreSet* cores);

// Calls body(arg, 0) on the caller, and body(arg, i) at most once for each i in [1, count), each on
// a different thread, and returns when all calls have returned. It does not call body for threads
// that have not begun when body(arg, 0) returns: body must leave them nothing to do. count is at
// most the number of workers.
void PoolRun(Pool* pool, Pool::Body body, void* arg, int32_t count);

// Returns the time of a steady clock; 0 on systems without threads.
int64_t NowNs();

// Stops and joins the threads. Does nothing if the pool never started.
void PoolStop(Pool* pool);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_POOL_H_
