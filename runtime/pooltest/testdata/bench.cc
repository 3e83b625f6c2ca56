// Measures blocks that workers share:
//
//   bench empty [WORKERS] [RUNS]          nanoseconds of a block whose tasks do nothing
//   bench busy [LOOPS] [WORKERS] [RUNS]   milliseconds of a block of 200 tasks of 50 us, while busy
//                                         loops occupy the last core that it may use
//   bench slow [FACTOR] [WORKERS] [RUNS]  milliseconds of a block of 200 tasks that sleep 500 us,
//                                         or FACTOR times as long on the last worker
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/dnn_model.h"

namespace {

using rules_dnn::Ctx;

int64_t Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

int64_t tasks, blocks, rounds, sleep_ns;
int workers, factor;

void Task(const Ctx*, int64_t first, int64_t last, int worker) {
  volatile int64_t sink = 0;
  for (int64_t i = first; i < last; ++i) {
    const timespec pause = {0, worker + 1 == workers ? sleep_ns * factor : sleep_ns};
    if (sleep_ns > 0) nanosleep(&pause, nullptr);
    for (int64_t k = 0; k < rounds; ++k) sink = sink + 1;
  }
}

rules_dnn::Status Program(const Ctx* c) {
  for (int64_t i = 0; i < blocks; ++i) dnn_parallel(c, 0, Task, tasks);
  return rules_dnn::Status::kOk;
}

const uint8_t kNothing[64] = {};
const rules_dnn::VariantInfo kVariant = {"any", nullptr, 0};

rules_dnn::Description Describe() {
  rules_dnn::Description d = {};
  d.name = d.generator = "bench";
  d.weights = d.weights_hash = kNothing;
  d.program = Program;
  d.variants = &kVariant;
  d.variant_count = 1;
  d.scratch = {0, 0, -1, -1};
  return d;
}

// Computes forever on the last core that the program may use.
void* Loop(void*) {
  cpu_set_t all, last;
  sched_getaffinity(0, sizeof(all), &all);
  for (size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &all)) continue;
    CPU_ZERO(&last);
    CPU_SET(i, &last);
  }
  sched_setaffinity(0, sizeof(last), &last);
  for (volatile int64_t n = 0;;) n = n + 1;
}

// Prints quantiles of the duration of a run's blocks.
void Measure(rules_dnn::Context* c, int runs, double unit, const char* name) {
  std::vector<double> all;
  for (int i = 0; i < runs; ++i) {
    const int64_t start = Now();
    if (rules_dnn::Run(c, nullptr, nullptr, nullptr) != rules_dnn::Status::kOk) abort();
    all.push_back(static_cast<double>(Now() - start) / static_cast<double>(blocks) / unit);
  }
  std::sort(all.begin(), all.end());
  const auto at = [&](double q) { return all[static_cast<size_t>(q * (runs - 1))]; };
  printf("%s: fastest %.3g, quartiles %.3g %.3g %.3g, 95%% %.3g, longest %.3g\n", name, all[0],
         at(0.25), at(0.5), at(0.75), at(0.95), all.back());
}

void MeasureEmpty(rules_dnn::Context* c, int runs) {
  for (const int64_t n : {2, 8, 64, 1000}) {
    tasks = n, blocks = 100;
    char name[64];
    snprintf(name, sizeof(name), "%d workers, %d empty tasks, ns", workers, static_cast<int>(n));
    Measure(c, runs, 1, name);
  }
}

void MeasureBusy(rules_dnn::Context* c, int loops, int runs) {
  // The fastest of many tests: other programs can only slow them down.
  tasks = 1, rounds = 100000;
  int64_t fastest = INT64_MAX;
  for (int i = 0; i < 500; ++i) {
    const int64_t start = Now();
    rules_dnn::Run(c, nullptr, nullptr, nullptr);
    fastest = std::min(fastest, Now() - start);
  }
  rounds = rounds * 50000 / fastest;
  for (int i = 0; i < loops; ++i) {
    pthread_t id;
    pthread_create(&id, nullptr, Loop, nullptr);
  }
  tasks = 200;
  char name[64];
  snprintf(name, sizeof(name), "%d workers, %d busy loops, ms", workers, loops);
  Measure(c, runs, 1e6, name);
}

void MeasureSlow(rules_dnn::Context* c, int runs) {
  tasks = 200, sleep_ns = 500000;
  char name[64];
  snprintf(name, sizeof(name), "%d workers, the last %d times slower, ms", workers, factor);
  Measure(c, runs, 1e6, name);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool empty = mode == "empty";
  if (!empty && mode != "busy" && mode != "slow") return 2;
  std::vector<int> numbers;
  for (int i = 2; i < argc; ++i) numbers.push_back(atoi(argv[i]));
  const auto number = [&](size_t i, int otherwise) {
    return i < numbers.size() ? numbers[i] : otherwise;
  };
  const int first = number(0, 1);
  workers = empty ? number(0, 2) : number(1, 2);
  factor = first, blocks = 1;
  rules_dnn::Options o = {};
  o.size = sizeof(o);
  o.workers = workers;
  const rules_dnn::Description d = Describe();
  rules_dnn::Model* m = nullptr;
  rules_dnn::Context* c = nullptr;
  if (rules_dnn::ModelCreate(&d, &o, &m) != rules_dnn::Status::kOk ||
      rules_dnn::ContextCreate(m, &c) != rules_dnn::Status::kOk) {
    return 1;
  }
  if (empty) MeasureEmpty(c, number(1, 2000));
  if (mode == "busy") MeasureBusy(c, first, number(2, 300));
  if (mode == "slow") MeasureSlow(c, number(2, 30));
  rules_dnn::ContextDestroy(c);
  rules_dnn::ModelDestroy(m);
  return 0;
}
