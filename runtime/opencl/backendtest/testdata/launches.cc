// Many small launches on the machine's OpenCL device, separately and replayed: results are equal,
// memory does not grow, and the time of a launch is printed. Without a device it does nothing.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "chain.h"
#include "runtime/dnn_context.h"
#include "runtime/opencl/state.h"

namespace {

constexpr char kAdd[] =
    "__kernel void add(__global float* y, long y0, __global const float* x, long x0,\n"
    "                  __global const float* w, long w0, int n, __global int* flag, long f0) {\n"
    "  const int i = get_global_id(0);\n"
    "  if (i >= n) return;\n"
    "  const float v = x[x0 + i];\n"
    "  if (v < 0) flag[f0] = 1;\n"
    "  y[y0 + i] = v + (w[w0] + n);\n"
    "}\n";

rules_dnn::DeviceInfo Info() {
  rules_dnn::DeviceInfo info = kDevice;
  info.source = kAdd;
  info.source_bytes = sizeof(kAdd) - 1;
  info.need_count = info.image_count = 0;
  return info;
}
const rules_dnn::DeviceInfo kInfo = Info();

struct Runs {
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* context = nullptr;
  const char* name;
  double least_ms = 1e9;

  Runs(int64_t command_buffers, const char* called, const rules_dnn::Description& d)
      : name(called) {
    rules_dnn::DeviceOptions o = Options();
    o.command_buffers = command_buffers;
    const Status s = CreateModel(&d, o, &model);
    if (s == Status::kNoOpenCl || s == Status::kNoDevice) {
      printf("nothing to run: %s\n", message);
      exit(0);
    }
    CHECK(s == Status::kOk && rules_dnn::ContextCreate(model, &context) == Status::kOk);
  }
  ~Runs() {
    rules_dnn::ContextDestroy(context);
    rules_dnn::ModelDestroy(model);
  }

  const cl::ContextState* state() const { return cl::State(context->ctx.device); }

  void Run(int64_t n) {
    std::vector<float> x(static_cast<size_t>(n)), y(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 3;
    const void* in[] = {x.data()};
    void* out[] = {y.data()};
    timespec begin = {}, end = {};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const Status s = rules_dnn::Run(context, &n, in, out);
    clock_gettime(CLOCK_MONOTONIC, &end);
    rules_dnn::ExplainRun(context, words, sizeof(words));
    CHECK(s == Status::kOk);
    for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == Want(x[i], n));
    const double ms = static_cast<double>(end.tv_sec - begin.tv_sec) * 1e3 +
                      static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e6;
    if (ms < least_ms) least_ms = ms;
  }
};

// Returns the resident kilobytes of the process.
long Resident() {
  FILE* const f = fopen("/proc/self/statm", "r");
  long size = 0, pages = 0;
  CHECK(f != nullptr && fscanf(f, "%ld %ld", &size, &pages) == 2);
  fclose(f);
  return pages * 4;
}

// Dimensions that change sometimes, and in each run; with as many segments as a loop has.
void Check(Runs* const (&all)[3]) {
  const cl::ContextState* const state = all[1]->state();
  for (const int parts : {1, 3}) {
    segments = parts;
    launches = 12;
    for (int i = 0; i < 400; ++i) {
      for (Runs* r : all) r->Run(i < 200 ? 1 + i / 50 * 60 : i < 300 ? 50 + i % 3 : 50);
    }
  }
  int recorded = 0;
  for (const cl::Segment* s = state->replay.segments; s != nullptr; s = s->next) {
    recorded += s->record != nullptr;
  }
  printf("command buffers: %s\n", state->shared->records ? "the driver has them" : "none");
  CHECK(recorded == (state->shared->records ? 3 : 0));
}

}  // namespace

int main() {
  rules_dnn::Description d = kDescription;
  d.program = Chain;
  d.device = &kInfo;
  {
    Runs plain(-1, "one by one", d), always(1, "replayed", d), chosen(0, "as chosen", d);
    Runs* const all[] = {&plain, &always, &chosen};
    Check(all);
    segments = 1;
    launches = 100;
    for (int i = 0; i < 50; ++i) {
      for (Runs* r : all) r->Run(16);
    }
    const long begin = Resident();
    for (Runs* r : all) r->least_ms = 1e9;
    for (int i = 0; i < 1000; ++i) {
      for (Runs* r : all) r->Run(16);
    }
    for (const Runs* r : all) {
      printf("%s: %.2f us for each of %d launches, the least of 1000 runs\n", r->name,
             r->least_ms * 1e3 / launches, launches);
    }
    const long end = Resident();
    printf("memory: %ld KB, %ld KB after 1000 runs of each\n", begin, end);
    CHECK(end - begin < 4 * 1024);
  }
  CHECK(taken == 0);
  puts("all checks passed");
  return 0;
}
