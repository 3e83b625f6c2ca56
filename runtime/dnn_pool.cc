#include "runtime/dnn_pool.h"

#ifdef RULES_DNN_BARE

namespace rules_dnn {
inline namespace v1 {

Status PoolStart(Pool* pool, Thread*, int workers, const CoreSet*) {
  pool->workers = workers;
  return workers == 1 ? Status::kOk : Status::kThreads;
}

void PoolRun(Pool*, Pool::Body body, void* arg, int32_t count) {
  if (count > 0) body(arg, 0);
}

int64_t NowNs() { return 0; }

void PoolStop(Pool*) {}

}  // namespace v1
}  // namespace rules_dnn

#else

#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace rules_dnn {
inline namespace v1 {
namespace {

constexpr int64_t kSpinNs = 100 * 1000;
constexpr size_t kStackBytes = size_t{1} << 20;

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ __volatile__("yield");
#endif
}

// Returns the number of processors that the caller and threads on the cores may run on.
int Processors(const CoreSet* cores) {
  CoreSet all = cores == nullptr ? CoreSet{} : *cores;
  if (AddThreadCores(&all)) return all.Count();
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

// The parts of Pool::state. A job begins when the caller stores a new epoch with kOpen and no
// threads inside. From then until the caller has removed kOpen and sees no thread inside, body and
// arg do not change. Threads change the state only in two ways:
//
// - A thread joins: it adds 1 by a compare-and-swap that expects kOpen. So it can only join a job
//   that has not ended, whatever job it saw before. If the state is by chance the same as that of
//   an earlier job, then it joins the current job, which is right, too.
// - A thread that has joined leaves: it subtracts 1.
//
// Between the opening and the end, every change is a read-modify-write. So all changes belong to
// the release sequence of the opening, and a thread that joins (acquire) sees body and arg, even if
// another thread changed the state before it. In the same way, all leavings (release) happen before
// the caller reads (acquire) a state with no thread inside. The caller then sees the results, and
// may write the next job's body and arg.
constexpr uint64_t kInside = (1 << 14) - 1;  // threads that have joined and not left
constexpr uint64_t kOpen = 1 << 14;          // threads may join
constexpr uint64_t kStop = 1 << 15;          // threads end
constexpr int kCountShift = 16;              // number of workers of the job
constexpr uint64_t kCountMask = 0xffff;
constexpr int kEpochShift = 32;  // increases by one for each job, and wraps around
static_assert(kMaxWorkers <= static_cast<int>(kInside), "all threads fit");

uint32_t Epoch(uint64_t state) { return static_cast<uint32_t>(state >> kEpochShift); }

int32_t Count(uint64_t state) { return static_cast<int32_t>(state >> kCountShift & kCountMask); }

// The sleeping protocol, for both directions. The sleeper announces itself and then checks the
// state once more. The other side changes the state and then looks for sleepers. With sequentially
// consistent operations, at least one of them sees the other. A sleeper announces itself under the
// mutex, so a signal sent under the mutex cannot get lost.

// Waits until the epoch is not `seen`.
void WaitForWork(Pool* pool, uint32_t seen) {
  const auto ready = [&] { return Epoch(__atomic_load_n(&pool->state, __ATOMIC_ACQUIRE)) != seen; };
  if (SpinUntil(pool->spin_ns, ready)) return;
  pthread_mutex_lock(&pool->mutex);
  __atomic_add_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
  while (Epoch(__atomic_load_n(&pool->state, __ATOMIC_SEQ_CST)) == seen) {
    pthread_cond_wait(&pool->work, &pool->mutex);
  }
  __atomic_sub_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&pool->mutex);
}

// Joins the current job if it is open and has work for worker `index`. Returns the state that
// decided.
uint64_t Join(Pool* pool, int32_t index, bool* joined) {
  uint64_t state = __atomic_load_n(&pool->state, __ATOMIC_ACQUIRE);
  *joined = false;
  while ((state & kOpen) != 0 && index < Count(state) && !*joined) {
    *joined = __atomic_compare_exchange_n(&pool->state, &state, state + 1, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE);
  }
  return state;
}

void Leave(Pool* pool) {
  const uint64_t state = __atomic_sub_fetch(&pool->state, 1, __ATOMIC_SEQ_CST);
  if ((state & (kInside | kOpen)) != 0) return;
  // The caller may have returned by now; the pool exists until PoolStop has joined this thread.
  if (__atomic_load_n(&pool->caller_sleeps, __ATOMIC_SEQ_CST) == 0) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_signal(&pool->done);
  pthread_mutex_unlock(&pool->mutex);
}

// Restricts the thread to the pool's cores, and reports the result to PoolStart.
void Bind(Pool* pool) {
  if (pool->cores == nullptr) return;
  const bool ok = BindThread(*pool->cores);
  pthread_mutex_lock(&pool->mutex);
  ++pool->bound;
  pool->refused += !ok;
  pthread_cond_signal(&pool->done);
  pthread_mutex_unlock(&pool->mutex);
}

void* ThreadMain(void* p) {
  Thread* const self = static_cast<Thread*>(p);
  Pool* const pool = self->pool;
  Bind(pool);
  for (uint32_t epoch = 0;;) {
    WaitForWork(pool, epoch);
    bool joined = false;
    const uint64_t state = Join(pool, self->index, &joined);
    if ((state & kStop) != 0) return nullptr;
    epoch = Epoch(state);
    if (!joined) continue;
    pool->body(pool->arg, self->index);
    Leave(pool);
  }
}

// Begins the next epoch. Only the caller changes a state that is not open and has no threads
// inside. The exchange is a sequentially consistent store: emulators of ARM on x86 let a later load
// pass a plain one.
void Publish(Pool* pool, uint64_t bits) {
  const uint64_t epoch = Epoch(__atomic_load_n(&pool->state, __ATOMIC_RELAXED)) + 1;
  __atomic_exchange_n(&pool->state, epoch << kEpochShift | bits, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST) == 0) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->mutex);
}

// Closes the job, and waits for the threads that have joined it.
void Close(Pool* pool) {
  if ((__atomic_and_fetch(&pool->state, ~kOpen, __ATOMIC_SEQ_CST) & kInside) == 0) return;
  const auto inside = [&](int order) { return (__atomic_load_n(&pool->state, order) & kInside); };
  if (SpinUntil(pool->spin_ns, [&] { return inside(__ATOMIC_ACQUIRE) == 0; })) return;
  pthread_mutex_lock(&pool->mutex);
  // A plain store is not enough: see Publish.
  __atomic_exchange_n(&pool->caller_sleeps, 1, __ATOMIC_SEQ_CST);
  while (inside(__ATOMIC_SEQ_CST) != 0) pthread_cond_wait(&pool->done, &pool->mutex);
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

// Waits until all threads have tried to run on the cores; reports whether the system allowed it.
bool AllBound(Pool* pool) {
  if (pool->cores == nullptr) return true;
  pthread_mutex_lock(&pool->mutex);
  while (pool->bound < pool->started) pthread_cond_wait(&pool->done, &pool->mutex);
  const bool ok = pool->refused == 0;
  pthread_mutex_unlock(&pool->mutex);
  return ok;
}

}  // namespace

int64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

Status PoolStart(Pool* pool, Thread* threads, int workers, const CoreSet* cores) {
  pool->workers = workers;
  if (workers == 1) return Status::kOk;
  if (pthread_mutex_init(&pool->mutex, nullptr) != 0) return Status::kThreads;
  pthread_cond_init(&pool->work, nullptr);
  pthread_cond_init(&pool->done, nullptr);
  pool->threads = threads;
  pool->cores = cores;
  const bool fits = cores == nullptr || workers - 1 <= cores->Count();
  pool->spin_ns = fits && workers <= Processors(cores) ? kSpinNs : 0;
  for (int i = 1; i < workers; ++i) {
    threads[i - 1] = {pool, {}, i};
    if (!StartThread(&threads[i - 1])) {
      PoolStop(pool);
      return Status::kThreads;
    }
    ++pool->started;
  }
  if (AllBound(pool)) return Status::kOk;
  PoolStop(pool);
  return Status::kThreads;
}

void PoolRun(Pool* pool, Pool::Body body, void* arg, int32_t count) {
  if (count > 1) {
    pool->body = body;
    pool->arg = arg;
    Publish(pool, kOpen | static_cast<uint64_t>(count) << kCountShift);
  }
  if (count > 0) body(arg, 0);
  if (count > 1) Close(pool);
}

void PoolStop(Pool* pool) {
  if (pool->threads == nullptr) return;
  Publish(pool, kStop);
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
