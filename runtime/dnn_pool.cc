#include "runtime/dnn_pool.h"

#ifdef RULES_DNN_BARE

namespace rules_dnn {
inline namespace v1 {

Status PoolStart(Pool* pool, Thread*, int workers) {
  pool->workers = workers;
  return workers == 1 ? Status::kOk : Status::kThreads;
}

void PoolRun(Pool*, Pool::Body body, void* arg, int32_t count) {
  for (int32_t i = 0; i < count; ++i) body(arg, i);
}

void PoolStop(Pool*) {}

}  // namespace v1
}  // namespace rules_dnn

#else

#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace rules_dnn {
inline namespace v1 {
namespace {

constexpr int64_t kSpinNs = 100 * 1000;
constexpr size_t kStackBytes = size_t{1} << 20;

int64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ __volatile__("yield");
#endif
}

// Returns the number of processors that this process may run on.
int Processors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? static_cast<int>(n) : 1;
}

template <typename Ready>
bool SpinUntil(int64_t spin_ns, Ready ready) {
  if (ready()) return true;
  if (spin_ns == 0) return false;
  for (const int64_t end = NowNs() + spin_ns; NowNs() < end;) {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      Pause();
    }
  }
  return false;
}

// The sleeping protocol, for both directions. The sleeper announces itself and then checks the
// state once more. The other side changes the state and then looks for sleepers. With sequentially
// consistent operations, at least one of them sees the other. A sleeper announces itself under the
// mutex, so a signal sent under the mutex cannot get lost.

// Waits for the job after `seen`, and returns its epoch.
uint32_t WaitForWork(Pool* pool, uint32_t seen) {
  const auto ready = [&] { return __atomic_load_n(&pool->epoch, __ATOMIC_ACQUIRE) != seen; };
  if (!SpinUntil(pool->spin_ns, ready)) {
    pthread_mutex_lock(&pool->mutex);
    __atomic_add_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&pool->epoch, __ATOMIC_SEQ_CST) == seen) {
      pthread_cond_wait(&pool->work, &pool->mutex);
    }
    __atomic_sub_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool->mutex);
  }
  return seen + 1;
}

void* ThreadMain(void* p) {
  Thread* const self = static_cast<Thread*>(p);
  Pool* const pool = self->pool;
  for (uint32_t epoch = 0;;) {
    epoch = WaitForWork(pool, epoch);
    if (pool->stop) return nullptr;
    if (self->index < pool->count) pool->body(pool->arg, self->index);
    if (__atomic_sub_fetch(&pool->remaining, 1, __ATOMIC_SEQ_CST) == 0 &&
        __atomic_load_n(&pool->caller_sleeps, __ATOMIC_SEQ_CST)) {
      pthread_mutex_lock(&pool->mutex);
      pthread_cond_signal(&pool->done);
      pthread_mutex_unlock(&pool->mutex);
    }
  }
}

void Publish(Pool* pool) {
  __atomic_add_fetch(&pool->epoch, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST) == 0) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->mutex);
}

void WaitForAll(Pool* pool) {
  const auto ready = [&] { return __atomic_load_n(&pool->remaining, __ATOMIC_ACQUIRE) == 0; };
  if (SpinUntil(pool->spin_ns, ready)) return;
  pthread_mutex_lock(&pool->mutex);
  // A plain store is not enough: emulators of ARM on x86 let a later load pass it.
  __atomic_exchange_n(&pool->caller_sleeps, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&pool->remaining, __ATOMIC_SEQ_CST) != 0) {
    pthread_cond_wait(&pool->done, &pool->mutex);
  }
  __atomic_store_n(&pool->caller_sleeps, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&pool->mutex);
}

// The thread blocks all signals: they are for the application's own threads.
bool StartThread(Thread* thread) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return false;
  pthread_attr_setstacksize(&attr, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool ok = pthread_create(&thread->id, &attr, ThreadMain, thread) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attr);
  return ok;
}

}  // namespace

Status PoolStart(Pool* pool, Thread* threads, int workers) {
  pool->workers = workers;
  if (workers == 1) return Status::kOk;
  if (pthread_mutex_init(&pool->mutex, nullptr) != 0) return Status::kThreads;
  pthread_cond_init(&pool->work, nullptr);
  pthread_cond_init(&pool->done, nullptr);
  pool->threads = threads;
  pool->spin_ns = workers <= Processors() ? kSpinNs : 0;
  for (int i = 1; i < workers; ++i) {
    threads[i - 1] = {pool, {}, i};
    if (!StartThread(&threads[i - 1])) {
      PoolStop(pool);
      return Status::kThreads;
    }
    ++pool->started;
  }
  return Status::kOk;
}

void PoolRun(Pool* pool, Pool::Body body, void* arg, int32_t count) {
  if (count > 1) {
    pool->body = body;
    pool->arg = arg;
    pool->count = count;
    __atomic_store_n(&pool->remaining, pool->started, __ATOMIC_RELAXED);
    Publish(pool);
  }
  if (count > 0) body(arg, 0);
  if (count > 1) WaitForAll(pool);
}

void PoolStop(Pool* pool) {
  if (pool->threads == nullptr) return;
  pool->stop = true;
  Publish(pool);
  for (int i = 0; i < pool->started; ++i) pthread_join(pool->threads[i].id, nullptr);
  pthread_cond_destroy(&pool->done);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->mutex);
  pool->threads = nullptr;
  pool->started = 0;
}

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_BARE
