#include "runtime/dnn_share.h"

#include "runtime/dnn_system.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

// Part of its range that a worker takes at once.
constexpr uint32_t kChunkDivisor = 2;

uint64_t Range(uint32_t first, uint32_t end) { return uint64_t{end} << 32 | first; }
uint32_t First(uint64_t range) { return static_cast<uint32_t>(range); }
uint32_t End(uint64_t range) { return static_cast<uint32_t>(range >> 32); }
uint32_t Left(uint64_t range) { return End(range) - First(range); }

uint64_t Load(const TaskQueue* queue) { return __atomic_load_n(&queue->range, __ATOMIC_RELAXED); }

void Store(TaskQueue* queue, uint64_t range) {
  __atomic_store_n(&queue->range, range, __ATOMIC_RELAXED);
}

// Replaces *seen by next; otherwise returns false and sets *seen to the current range.
bool Replace(TaskQueue* queue, uint64_t* seen, uint64_t next) {
  return __atomic_compare_exchange_n(&queue->range, seen, next, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

}  // namespace

void Deal(TaskQueue* queues, int32_t count, uint32_t tasks) {
  int64_t sum = 0, before = 0;
  for (int32_t i = 0; i < count; ++i) sum += queues[i].speed;
  uint32_t first = 0;
  for (int32_t i = 0; i < count; ++i) {
    before += queues[i].speed;
    // Rounded to the nearest. It cannot overflow: the sum is about count * kMeanSpeed.
    const uint32_t end = static_cast<uint32_t>((tasks * before + sum / 2) / sum);
    Store(&queues[i], Range(first, end));
    queues[i].tasks = 0;
    queues[i].ns = 0;
    first = end;
  }
}

bool Take(TaskQueue* own, uint32_t* first, uint32_t* last) {
  for (uint64_t seen = Load(own); Left(seen) > 0;) {
    // Rounded up without an overflow.
    const uint32_t chunk = Left(seen) / kChunkDivisor + (Left(seen) % kChunkDivisor != 0);
    *first = First(seen);
    *last = First(seen) + chunk;
    if (Replace(own, &seen, Range(*last, End(seen)))) return true;
  }
  return false;
}

bool Steal(TaskQueue* queues, int32_t count, TaskQueue* own) {
  for (;;) {
    TaskQueue* longest = nullptr;
    uint64_t seen = 0;
    for (int32_t i = 0; i < count; ++i) {
      const uint64_t range = Load(&queues[i]);
      if (Left(range) > Left(seen)) {
        longest = &queues[i];
        seen = range;
      }
    }
    if (longest == nullptr) return false;
    // Rounded up: the only task of a worker that has not begun can be moved, too.
    const uint32_t kept = First(seen) + Left(seen) / 2, end = End(seen);
    if (Replace(longest, &seen, Range(First(seen), kept))) {
      // Nobody else changes an empty range.
      Store(own, Range(kept, end));
      return true;
    }
  }
}

#ifdef RULES_DNN_BARE

void Learn(TaskQueue*, int32_t) {}

#else

namespace {

// Shorter times depend more on caches and interrupts than on the core.
constexpr int64_t kMeasuredNs = 50 * 1000;

// Weight of a new measurement. Clock frequencies change within a few blocks, and single
// measurements are noisy.
constexpr double kSmoothing = 0.25;

bool Measured(const TaskQueue& queue) { return queue.tasks > 0 && queue.ns >= kMeasuredNs; }

double Rate(const TaskQueue& queue) {
  return static_cast<double>(queue.tasks) / static_cast<double>(queue.ns);
}

}  // namespace

void Learn(TaskQueue* queues, int32_t count) {
  double rates = 0, speeds = 0;
  int32_t measured = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (!Measured(queues[i])) continue;
    rates += Rate(queues[i]);
    speeds += static_cast<double>(queues[i].speed);
    ++measured;
  }
  if (measured < 2) return;
  // The sum of the speeds stays the same, so that the queues left out keep their meaning.
  for (int32_t i = 0; i < count; ++i) {
    if (!Measured(queues[i])) continue;
    const double speed = Rate(queues[i]) * speeds / rates,
                 now = static_cast<double>(queues[i].speed);
    queues[i].speed = dnn_max(1, static_cast<int64_t>(now + (speed - now) * kSmoothing + 0.5));
  }
}

#endif  // RULES_DNN_BARE

}  // namespace v1
}  // namespace rules_dnn
