// Divides the tasks of a block among workers while they compute. A slow or descheduled worker
// delays the block by at most the tasks that it has already taken.
//
// Each worker begins with a range of tasks in proportion to its measured speed. It takes chunks
// from the front of its range. When the range is empty, it moves the back half of the longest
// remaining range into its own.
#ifndef RULES_DNN_RUNTIME_DNN_SHARE_H_
#define RULES_DNN_RUNTIME_DNN_SHARE_H_

#include <stdint.h>

#include "runtime/dnn_runtime.h"

namespace rules_dnn {
inline namespace v1 {

// Maximum number of tasks that queues divide.
constexpr int64_t kMaxShared = UINT32_MAX;

// Mean of all workers' speeds.
constexpr int64_t kMeanSpeed = 1 << 16;

// One worker's part of a job, in its own cache line.
struct alignas(kAlignment) TaskQueue {
  // Tasks that nobody has taken: the first in the low half, the end in the high half. Atomic. Its
  // value describes the range completely, so a compare-and-swap that finds an equal later value is
  // right, too. Relaxed ordering is enough, because the range protects no other memory: the start
  // and the end of the job order the tasks' own memory.
  uint64_t range;
  int64_t tasks;  // that the worker computed in the job
  int64_t ns;     // time that it took; 0: not measured
  int64_t speed;  // tasks per time relative to the other workers, smoothed; begins at kMeanSpeed
};

// Divides tasks [0, tasks) in proportion to the speeds of the first `count` queues. No worker may
// use the queues at the same time.
void Deal(TaskQueue* queues, int32_t count, uint32_t tasks);

// Takes the next tasks [*first, *last) of the worker's own range: half of the range, so that
// chunks shrink towards its end. Returns false if the range is empty.
bool Take(TaskQueue* own, uint32_t* first, uint32_t* last);

// Moves the back half of the longest range into the worker's own range, which must be empty.
// Returns false if all ranges are empty.
bool Steal(TaskQueue* queues, int32_t count, TaskQueue* own);

// Updates the speeds from the job that has ended. It leaves out workers that computed too briefly
// to be measured, and does nothing if it has fewer than two to compare, or on systems without
// threads.
void Learn(TaskQueue* queues, int32_t count);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_SHARE_H_
