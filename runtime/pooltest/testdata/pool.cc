// Tests of cores, queues and pools. Arguments: a folder for files, and the number of random jobs.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/dnn_context.h"
#include "runtime/dnn_cores.h"
#include "runtime/dnn_model.h"
#include "runtime/dnn_pool.h"
#include "runtime/dnn_share.h"

#define CHECK(x)                                         \
  do {                                                   \
    if (!(x)) {                                          \
      printf("line %d: %s is not true\n", __LINE__, #x); \
      exit(1);                                           \
    }                                                    \
  } while (0)

namespace {

using namespace rules_dnn;

uint64_t seed = 1;
uint32_t Random(uint32_t below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(seed >> 33) % below;
}

// A copy of /sys/devices/system/cpu.
struct Folder {
  std::string path;

  Folder(const std::string& root, const char* name) : path(root + "/" + name) {
    mkdir(path.c_str(), 0777);
  }
  void Write(const std::string& name, const std::string& text) const {
    for (size_t i = 0; (i = name.find('/', i)) != std::string::npos; ++i) {
      mkdir((path + "/" + name.substr(0, i)).c_str(), 0777);
    }
    FILE* const f = fopen((path + "/" + name).c_str(), "w");
    CHECK(f != nullptr && fputs(text.c_str(), f) >= 0 && fclose(f) == 0);
  }
  // Writes a file for each core; a core whose number is 0 gets none.
  void Cores(const char* file, const std::vector<int>& numbers) const {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] == 0) continue;
      Write("cpu" + std::to_string(i) + "/" + file, std::to_string(numbers[i]) + "\n");
    }
  }
  // Returns the selected cores as a list, or "no".
  std::string Parse(const char* text) const {
    CoreSet set;
    if (!ParseCores(text, path.c_str(), &set)) return "no";
    std::string out;
    for (int i = 0; i < kMaxCores; ++i) {
      if (set.Has(i)) out += (out.empty() ? "" : ",") + std::to_string(i);
    }
    return out;
  }
};

void CheckCores(const std::string& root) {
  const Folder phone(root, "phone");
  phone.Write("present", "0-7\n");
  for (const auto& c :
       std::vector<std::pair<const char*, const char*>>{{"all", "0,1,2,3,4,5,6,7"},
                                                        {"4-7,2", "2,4,5,6,7"},
                                                        {"0", "0"},
                                                        {"7,0,0-1", "0,1,7"},
                                                        {"0xf0", "4,5,6,7"},
                                                        {"0xA5", "0,2,5,7"},
                                                        {"0x0000000000000000000081", "0,7"},
                                                        {"8", "no"},
                                                        {"0-8", "no"},
                                                        {"0x100", "no"},
                                                        {"0x0", "no"},
                                                        {"0x", "no"},
                                                        {"0x1g", "no"},
                                                        {"f0", "no"},
                                                        {"0XF0", "no"},
                                                        {"", "no"},
                                                        {",", "no"},
                                                        {"1,", "no"},
                                                        {"1-", "no"},
                                                        {"-1", "no"},
                                                        {"3-2", "no"},
                                                        {"1 ", "no"},
                                                        {" 1", "no"},
                                                        {"1-2-3", "no"},
                                                        {"+1", "no"},
                                                        {"Big", "no"},
                                                        {"little", "no"},
                                                        {"1024", "no"},
                                                        {"99999999999999999999", "no"}}) {
    const std::string found = phone.Parse(c.first);
    if (found != c.second) printf("\"%s\" selects %s, want %s\n", c.first, found.c_str(), c.second);
    CHECK(found == c.second);
  }
  CHECK(phone.Parse("big") == "0,1,2,3,4,5,6,7");  // nothing is known of the cores
  phone.Cores("cpufreq/cpuinfo_max_freq", {180, 180, 180, 180, 240, 240, 240, 280});
  CHECK(phone.Parse("big") == "4,5,6,7");
  phone.Cores("cpu_capacity", {250, 250, 250, 250, 270, 800, 800, 1024});  // has precedence
  CHECK(phone.Parse("big") == "5,6,7");  // 270 is within a tenth of 250
  const Folder offline(root, "offline");
  offline.Write("present", "0-2,5\n");
  offline.Cores("cpu_capacity", {1024, 0, 400, 0, 0, 1024});
  CHECK(offline.Parse("big") == "0,5");
  CHECK(offline.Parse("all") == "0,1,2,5" && offline.Parse("1") == "1" &&
        offline.Parse("3") == "no");
  const Folder equal(root, "equal");
  equal.Write("present", "0-3");
  equal.Cores("cpu_capacity", {1000, 1024, 1024, 0});
  CHECK(equal.Parse("big") == "0,1,2");
  const Folder nothing(root, "nothing");
  CHECK(nothing.Parse("all") == "no" && nothing.Parse("0") == "no");
  nothing.Write("present", "what\n");
  CHECK(nothing.Parse("all") == "no");
  nothing.Write("present", "");
  CHECK(nothing.Parse("all") == "no");
}

// Each task runs once, whatever the queues' speeds are and whoever takes part.
void CheckQueues(int jobs) {
  constexpr int kQueues = 4;
  TaskQueue queues[kQueues] = {};
  std::vector<uint8_t> ran;
  for (int job = 0; job < jobs / 10 + 1; ++job) {
    const uint32_t tasks = 1 + Random(job % 2 == 0 ? 9 : 3000);
    const int count = 1 + static_cast<int>(Random(kQueues));
    for (int i = 0; i < count; ++i)
      queues[i].speed = job % 3 == 0 ? kMeanSpeed : 1 + Random(4 * kMeanSpeed);
    Deal(queues, count, tasks);
    uint32_t end = 0;
    for (int i = 0; i < count; ++i) {
      CHECK(static_cast<uint32_t>(queues[i].range) == end);
      end = static_cast<uint32_t>(queues[i].range >> 32);
    }
    CHECK(end == tasks);
    ran.assign(tasks, 0);
    const auto work = [&](int i) {
      uint32_t first = 0, last = 0;
      do {
        while (Take(&queues[i], &first, &last)) {
          for (uint32_t k = first; k < last; ++k) __atomic_add_fetch(&ran[k], 1, __ATOMIC_RELAXED);
        }
      } while (Steal(queues, count, &queues[i]));
    };
    const int workers = 1 + static_cast<int>(Random(static_cast<uint32_t>(count)));
    std::vector<std::thread> threads;
    for (int i = 1; i < workers; ++i) threads.emplace_back(work, i);
    work(0);
    for (std::thread& t : threads) t.join();
    for (uint32_t k = 0; k < tasks; ++k) CHECK(ran[k] == 1);
  }
  for (TaskQueue& queue : queues) queue.speed = kMeanSpeed;  // the most tasks that queues can have
  Deal(queues, 3, UINT32_MAX);
  uint64_t sum = 0;
  for (uint32_t first = 0, last = 0; Take(&queues[2], &first, &last);) sum += last - first;
  CHECK(sum >= UINT32_MAX / 3);
}

void CheckSpeeds() {
  TaskQueue queues[3] = {};
  for (TaskQueue& queue : queues) queue.speed = kMeanSpeed;
  const auto job = [&](int64_t a, int64_t b, int64_t ns) {
    queues[0].tasks = a, queues[1].tasks = b, queues[2].tasks = 1;
    queues[0].ns = queues[1].ns = ns, queues[2].ns = 1000;
    Learn(queues, 3);
  };
  const auto near = [](int64_t speed, double want) {
    return static_cast<double>(speed) > 0.99 * want * kMeanSpeed &&
           static_cast<double>(speed) < 1.01 * want * kMeanSpeed;
  };
  job(300, 100, 1000);  // too short
  CHECK(queues[0].speed == kMeanSpeed && queues[1].speed == kMeanSpeed);
  job(300, 0, 1000000);  // nothing to compare with
  CHECK(queues[0].speed == kMeanSpeed && queues[1].speed == kMeanSpeed);
  for (int i = 0; i < 30; ++i) job(300, 100, 1000000);
  CHECK(near(queues[0].speed, 1.5) && near(queues[1].speed, 0.5));
  CHECK(queues[2].speed == kMeanSpeed);
  Deal(queues, 2, 100);
  CHECK(queues[0].range >> 32 == 75);
  for (int i = 0; i < 30; ++i) job(100, 100, 1000000);  // the speeds of now
  CHECK(near(queues[0].speed, 1));
  for (int i = 0; i < 100; ++i) job(1000000000, 1, 1000000);  // never 0: it could not recover
  CHECK(queues[1].speed >= 1);
  for (int i = 0; i < 100; ++i) job(100, 100, 1000000);
  CHECK(near(queues[0].speed, 1) && near(queues[1].speed, 1));
}

// A job ends although no thread has begun: here, none ever does.
void CheckLate() {
  Pool pool = {};
  pool.workers = 2;
  pthread_mutex_init(&pool.mutex, nullptr);
  int calls = 0;
  const auto body = [](void* arg, int32_t i) {
    CHECK(i == 0);
    ++*static_cast<int*>(arg);
  };
  for (int i = 0; i < 3; ++i) PoolRun(&pool, body, &calls, 2);
  CHECK(calls == 3);
}

// A job that its threads check: they see its own data, and each worker computes once at a time.
struct Job {
  uint64_t number;  // 0: the job has ended
  int32_t count;
  int32_t inside[8];
  int32_t calls[8];
  bool busy;
};

void Visit(void* arg, int32_t i) {
  Job* const job = static_cast<Job*>(arg);
  CHECK(job->number != 0 && i < job->count);
  CHECK(__atomic_add_fetch(&job->inside[i], 1, __ATOMIC_RELAXED) == 1);
  ++job->calls[i];
  if (job->busy) sched_yield();
  __atomic_sub_fetch(&job->inside[i], 1, __ATOMIC_RELAXED);
}

void CheckPool(int workers, int jobs, const CoreSet* cores) {
  Pool pool = {};
  std::vector<Thread> threads(static_cast<size_t>(workers));
  CHECK(PoolStart(&pool, threads.data(), workers, cores) == Status::kOk);
  int64_t calls = 0;
  for (int k = 1; k <= jobs; ++k) {
    // Memory of its own, whose content is not valid before and after the job.
    Job* const job = new Job();
    job->number = static_cast<uint64_t>(k);
    job->count = 1 + static_cast<int32_t>(Random(static_cast<uint32_t>(workers)));
    job->busy = Random(4) == 0;
    PoolRun(&pool, Visit, job, job->count);
    job->number = 0;
    CHECK(job->calls[0] == 1);
    for (int i = 0; i < 8; ++i) {
      CHECK(job->inside[i] == 0 && job->calls[i] <= (i < job->count ? 1 : 0));
      calls += job->calls[i];
    }
    delete job;
    if (Random(500) == 0) {  // threads fall asleep
      const timespec pause = {0, 300000};
      nanosleep(&pause, nullptr);
    }
  }
  CHECK(calls >= jobs);
  PoolStop(&pool);
  PoolStop(&pool);
}

// Blocks of a model, whose tasks count their executions in the output.
int64_t block_tasks;

void Count(const Ctx* c, int64_t first, int64_t last, int worker) {
  uint8_t* const used = c->scratch(worker);
  CHECK(__atomic_add_fetch(used, 1, __ATOMIC_RELAXED) == 1);
  CHECK(first < last && first >= 0 && last <= block_tasks);
  for (int64_t i = first; i < last; ++i) {
    for (volatile int k = 0; k < i % 64; k = k + 1) {
    }
    __atomic_add_fetch(&static_cast<int32_t*>(c->out[0])[i % 4096], 1, __ATOMIC_RELAXED);
  }
  __atomic_sub_fetch(used, 1, __ATOMIC_RELAXED);
}

// A block of more tasks than 32 bits can count.
void CountMany(const Ctx* c, int64_t first, int64_t last, int) {
  __atomic_add_fetch(static_cast<int64_t*>(c->out[0]), last - first, __ATOMIC_RELAXED);
}

constexpr int64_t kMany = (int64_t{7} << 32) + 5;

Status Program(const Ctx* c) {
  if (block_tasks == kMany) {
    dnn_parallel(c, 0, CountMany, kMany);
    return Status::kOk;
  }
  for (int i = 0; i < 5; ++i) dnn_parallel(c, 0, Count, block_tasks);
  return Status::kOk;
}

void Backwards(void*, int32_t count, void (*body)(void*, int32_t), void* arg) {
  while (count-- > 0) body(arg, count);
}

void CheckBlocks(int32_t workers, const char* cores, bool own_loop, int runs) {
  static const uint8_t nothing[64] = {};
  static const VariantInfo variant = {"any", nullptr, 0};
  static const Dim dims[] = {{{0, 4096, -1, -1}, "4096"}};
  static const TensorInfo output = {"y", "i32", 4, 1, dims};
  Description d = {};
  d.name = d.generator = "test";
  d.outputs = &output;
  d.output_count = 1;
  d.weights = d.weights_hash = nothing;
  d.program = Program;
  d.variants = &variant;
  d.variant_count = 1;
  d.scratch = {0, 64, -1, -1};
  Options o = {};
  o.size = sizeof(o);
  o.workers = workers;
  o.cores = cores;
  if (own_loop) o.parallel_for = Backwards;
  Model* m = nullptr;
  Context* c = nullptr;
  CHECK(ModelCreate(&d, &o, &m) == Status::kOk && ContextCreate(m, &c) == Status::kOk);
  CHECK(Reserve(c, nullptr) == Status::kOk);
  memset(c->ctx.scratch_base, 0, 64 * static_cast<size_t>(workers));
  std::vector<int32_t> y(4096);
  void* const out[] = {y.data()};
  for (int k = 0; k < runs; ++k) {
    std::fill(y.begin(), y.end(), 0);
    block_tasks = Random(k % 2 == 0 ? 10 : 4096);
    CHECK(Run(c, nullptr, nullptr, out) == Status::kOk);
    for (int64_t i = 0; i < 4096; ++i)
      CHECK(y[static_cast<size_t>(i)] == (i < block_tasks ? 5 : 0));
  }
  block_tasks = kMany;
  std::fill(y.begin(), y.end(), 0);
  CHECK(Run(c, nullptr, nullptr, out) == Status::kOk);
  int64_t sum = 0;
  memcpy(&sum, y.data(), sizeof(sum));
  CHECK(sum == kMany);
  ContextDestroy(c);
  ModelDestroy(m);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int jobs = atoi(argv[2]);
  CheckCores(argv[1]);
  CheckQueues(jobs);
  CheckSpeeds();
  CheckLate();
  CoreSet here = {};
  CHECK(AddThreadCores(&here) && here.Count() > 0);
  CoreSet one = {};
  for (int i = 0; i < kMaxCores && one.Count() == 0; ++i) {
    if (here.Has(i)) one.Add(i);
  }
  for (int workers = 1; workers <= 5; ++workers) {
    CheckPool(workers, jobs, nullptr);
    CheckPool(workers, jobs / 10, &here);
    CheckPool(workers, jobs / 10, &one);
    CheckBlocks(workers, nullptr, false, jobs / 10);
    CheckBlocks(workers, nullptr, true, jobs / 100);
    CheckBlocks(workers, "", false, jobs / 100);
    CheckBlocks(workers, "all", false, jobs / 100);
    CheckBlocks(workers, "big", false, jobs / 100);
  }
  CoreSet after = {};
  CHECK(AddThreadCores(&after) && memcmp(&after, &here, sizeof(here)) == 0);  // the caller's own
  CoreSet missing = {};
  missing.Add(kMaxCores - 1);
  Pool pool = {};
  Thread thread[2];
  CHECK(here.Has(kMaxCores - 1) || PoolStart(&pool, thread, 3, &missing) == Status::kThreads);
  printf("all checks passed\n");
  return 0;
}
