#include "runtime/dnn_context.h"

#include "runtime/dnn_cpu.h"
#include "runtime/dnn_sizes.h"
#include "runtime/dnn_system.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

size_t RoundUp(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

void* Take(const Options* o, size_t bytes) {
  return o->allocate(o->allocator_user, bytes, kAlignment);
}

void Release(const Options* o, void* memory, size_t bytes) {
  if (memory != nullptr) o->release(o->allocator_user, memory, bytes);
}

void ReleaseMemory(Context* c) {
  Release(c->runtime.options, c->ctx.arena, c->memory_bytes);
  c->ctx.arena = nullptr;
  c->ctx.scratch_base = nullptr;
  c->memory_bytes = 0;
}

// Allocates arena and scratch for the symbols in one allocation, which only grows.
Status TakeMemory(Context* c, const Description* d, const int64_t* sym) {
  int64_t arena = 0, scratch = 0, total = 0;
  Status status = EvalArena(d, sym, &arena);
  if (status == Status::kOk) status = EvalSize(d, d->scratch, sym, &scratch);
  if (status != Status::kOk) return status;
  int bad = 0;
  const int64_t align = kAlignment;
  arena = dnn_mul_checked(dnn_add_checked(arena, align - 1, &bad) / align, align, &bad);
  scratch = dnn_mul_checked(dnn_add_checked(scratch, align - 1, &bad) / align, align, &bad);
  total = dnn_mul_checked(scratch, c->model->options.workers, &bad);
  total = dnn_add_checked(total, arena, &bad);
  if (bad || static_cast<uint64_t>(total) > SIZE_MAX / 2) return Status::kTooLarge;
  if (static_cast<size_t>(total) > c->memory_bytes) {
    ReleaseMemory(c);
    c->ctx.arena = static_cast<uint8_t*>(Take(c->runtime.options, static_cast<size_t>(total)));
    if (c->ctx.arena == nullptr) return Status::kOutOfMemory;
    c->memory_bytes = static_cast<size_t>(total);
  }
  c->ctx.scratch_base = c->ctx.arena == nullptr ? nullptr : c->ctx.arena + arena;
  c->ctx.scratch_stride = static_cast<size_t>(scratch);
  return Status::kOk;
}

// Stores the caller's buffers and checks them.
Status TakePointers(Context* c, const void* const* in, void* const* out) {
  const Description* const d = c->model->description;
  if (in == nullptr && d->input_count > 0) return Status::kNullArgument;
  if (out == nullptr && d->output_count > 0) return Status::kNullArgument;
  for (int32_t i = 0; i < d->input_count; ++i) {
    c->buffers[i] = {nullptr, 0, const_cast<void*>(in[i])};
  }
  for (int32_t i = 0; i < d->output_count; ++i) {
    c->buffers[d->input_count + i] = {nullptr, 0, out[i]};
  }
  return CheckBuffers(c);
}

}  // namespace

void ReleasePieces(Runtime* rt) {
  while (rt->pieces != nullptr) {
    Piece* const piece = rt->pieces;
    rt->pieces = piece->next;
    Release(rt->options, piece, piece->bytes);
  }
}

Status Prepare(Context* c, const int64_t* sym) {
  const Description* const d = c->model->description;
  c->role = "";
  c->refused = nullptr;
  if (c->remote != nullptr) {
    c->remote->words = "";
    c->remote->whole = false;
  }
  if (sym == nullptr && d->given_count > 0) return Status::kNullArgument;
  const size_t given = static_cast<size_t>(d->given_count) * sizeof(int64_t);
  if (c->ready && (given == 0 || memcmp(c->sym, sym, given) == 0)) return Status::kOk;
  c->ready = c->ran = false;
  if (given > 0) memcpy(c->sym, sym, given);
  Symbols all;
  Status status = BindSymbols(d, sym, &all);
  for (int32_t i = 0; i < d->input_count && status == Status::kOk; ++i) {
    status = EvalBytes(d, d->inputs[i], all.value, &c->buffer_bytes[i]);
  }
  for (int32_t i = 0; i < d->output_count && status == Status::kOk; ++i) {
    status = EvalBytes(d, d->outputs[i], all.value, &c->buffer_bytes[d->input_count + i]);
  }
  // A remote model's memory is on the other side.
  if (status == Status::kOk && c->remote == nullptr) status = TakeMemory(c, d, all.value);
  if (status == Status::kOk && d->device != nullptr) {
    status = d->device->backend->prepare(c->ctx.device, d, all.value);
  }
  if (status != Status::kOk) return status;
  if (d->symbol_count > 0) {
    memcpy(c->sym, all.value, static_cast<size_t>(d->symbol_count) * sizeof(int64_t));
  }
  c->ready = true;
  return Status::kOk;
}

Status ContextCreate(Model* model, Context** context) {
  if (context == nullptr) return Status::kNullArgument;
  *context = nullptr;
  if (model == nullptr) return Status::kNullArgument;
  const Description* const d = model->description;
  const Options* const o = &model->options;
  const bool here = o->parallel_for == nullptr && model->remote == nullptr;
  const int threads = here ? o->workers - 1 : 0;
  const size_t numbers = static_cast<size_t>(d->symbol_count) +
                         static_cast<size_t>(d->input_count) + static_cast<size_t>(d->output_count);
  const size_t buffers = numbers - static_cast<size_t>(d->symbol_count);
  const size_t head = RoundUp(sizeof(Context)), middle = RoundUp(numbers * sizeof(int64_t));
  const size_t end = RoundUp(buffers * (sizeof(Buffer) + sizeof(void*)));
  const size_t queues = static_cast<size_t>(o->workers) * sizeof(TaskQueue);
  const size_t bytes = head + middle + end + queues + static_cast<size_t>(threads) * sizeof(Thread);
  uint8_t* const memory = static_cast<uint8_t*>(Take(o, bytes));
  if (memory == nullptr) return Status::kOutOfMemory;
  memset(memory, 0, bytes);
  Context* const c = reinterpret_cast<Context*>(memory);
  c->bytes = bytes;
  c->model = model;
  c->runtime.options = o;
  c->sym = reinterpret_cast<int64_t*>(memory + head);
  c->buffer_bytes = c->sym + d->symbol_count;
  c->buffers = reinterpret_cast<Buffer*>(memory + head + middle);
  c->pointers = reinterpret_cast<void**>(c->buffers + buffers);
  c->ctx.weights = model->weights;
  c->ctx.sym = c->sym;
  c->ctx.rt = &c->runtime;
  c->ctx.bad_index = &c->bad_index;
  c->ctx.refused = &c->refused;
  c->ctx.variant = model->variant;
  c->runtime.queues = reinterpret_cast<TaskQueue*>(memory + head + middle + end);
  for (int32_t i = 0; i < o->workers; ++i) c->runtime.queues[i].speed = kMeanSpeed;
  Thread* const pool_threads = reinterpret_cast<Thread*>(c->runtime.queues + o->workers);
  const CoreSet* const cores = o->cores == nullptr ? nullptr : &model->cores;
  const Status status = PoolStart(&c->runtime.pool, pool_threads, threads + 1, cores);
  if (status != Status::kOk) {
    Release(o, memory, bytes);
    return status;
  }
  if (d->device != nullptr) {
    const Status made = d->device->backend->context_create(model->device, &c->ctx.device);
    if (made != Status::kOk) {
      PoolStop(&c->runtime.pool);
      Release(o, memory, bytes);
      return made;
    }
  }
  if (model->remote != nullptr) {
    const Status made = d->remote->remote->context_create(model->remote, &c->remote);
    if (made != Status::kOk) {
      Release(o, memory, bytes);
      return made;
    }
  }
  ModelRetain(model);
  *context = c;
  return Status::kOk;
}

void ContextDestroy(Context* c) {
  if (c == nullptr) return;
  PoolStop(&c->runtime.pool);
  ReleaseMemory(c);
  Release(c->runtime.options, c->staged, c->staged_bytes);
  if (c->ctx.device != nullptr) c->ctx.device->backend->context_destroy(c->ctx.device);
  if (c->remote != nullptr) c->remote->remote->context_destroy(c->remote);
  Model* const model = c->model;
  Release(&model->options, c, c->bytes);
  ModelDestroy(model);
}

Status Reserve(Context* context, const int64_t* sym) {
  if (context == nullptr) return Status::kNullArgument;
  Status status = Prepare(context, sym);
  RemoteContext* const remote = context->remote;
  if (status == Status::kOk && remote != nullptr) {
    status = remote->remote->reserve(remote, context->sym, context->buffer_bytes);
  }
  return context->status = status;
}

Status Run(Context* c, const int64_t* sym, const void* const* in, void* const* out) {
  if (c == nullptr) return Status::kNullArgument;
  Status status = Prepare(c, sym);
  if (status == Status::kOk) status = TakePointers(c, in, out);
  c->status = status;
  if (status != Status::kOk) return status;
  if (c->remote != nullptr) {
    c->status = c->remote->remote->run(c->remote, c->sym, c->buffer_bytes, in, out);
    c->ran = c->status == Status::kOk;
    return c->status;
  }
  c->ctx.in = in;
  c->ctx.out = out;
  c->bad_index = 0;
  status = c->model->description->program(&c->ctx);
  if (c->ctx.device != nullptr) {
    status = c->ctx.device->backend->finish(c->ctx.device, status, &c->refused);
  }
  c->status = status;
  ReleasePieces(&c->runtime);
  c->ran = status == Status::kOk;
  return status;
}

Status ResultShape(const Context* c, const TensorInfo* output, int64_t* shape) {
  if (c == nullptr || (shape == nullptr && output->rank > 0)) return Status::kNullArgument;
  if (!c->ran) return Status::kBadDims;
  return EvalShape(c->model->description, *output, c->sym, shape);
}

void* Alloc(const Ctx* c, int64_t bytes) {
  Runtime* const rt = c->rt;
  if (bytes < 0 || static_cast<uint64_t>(bytes) > SIZE_MAX / 2 - sizeof(Piece)) return nullptr;
  const size_t total = sizeof(Piece) + static_cast<size_t>(bytes);
  Piece* const piece = static_cast<Piece*>(Take(rt->options, total));
  if (piece == nullptr) return nullptr;
  piece->next = rt->pieces;
  piece->bytes = total;
  rt->pieces = piece;
  return piece + 1;
}

namespace {

struct Job {
  const Ctx* c;
  TaskFn fn;
  int64_t tasks;
  int64_t unit;   // tasks that queues count as one
  int32_t parts;  // workers of the job
  bool timed;
};

// Runs worker i: computes tasks until nobody has any left to take.
void RunPart(void* arg, int32_t i) {
  const Job* const job = static_cast<const Job*>(arg);
  TaskQueue* const queues = job->c->rt->queues;
  TaskQueue* const own = &queues[i];
  const DenormalsAsZero mode(!job->c->rt->options->keep_denormals);
  const int64_t start = job->timed ? NowNs() : 0;
  int64_t units = 0;
  do {
    for (uint32_t first = 0, last = 0; Take(own, &first, &last); units += last - first) {
      job->fn(job->c, first * job->unit, dnn_min(last * job->unit, job->tasks), i);
    }
  } while (Steal(queues, job->parts, own));
  own->tasks = units;
  own->ns = job->timed ? NowNs() - start : 0;
}

void Share(const Ctx* c, TaskFn fn, int64_t tasks) {
  Runtime* const rt = c->rt;
  const Options* const o = rt->options;
  if (tasks <= 0) return;
  if (tasks == 1 || o->workers == 1) {
    const DenormalsAsZero mode(!o->keep_denormals);
    return fn(c, 0, tasks, 0);
  }
  const int64_t unit = tasks <= kMaxShared ? 1 : (tasks - 1) / kMaxShared + 1;
  const int64_t units = unit == 1 ? tasks : (tasks - 1) / unit + 1;
  const int32_t parts = static_cast<int32_t>(dnn_min(tasks, o->workers));
  Job job = {c, fn, tasks, unit, parts, false};
  Deal(rt->queues, parts, static_cast<uint32_t>(units));
  if (o->parallel_for != nullptr) {
    // The application may use other threads for each block: their speeds mean nothing.
    return o->parallel_for(o->parallel_user, parts, RunPart, &job);
  }
  // One task for each worker is not enough to compare speeds.
  job.timed = tasks >= 2 * parts;
  PoolRun(&rt->pool, RunPart, &job, parts);
  if (job.timed) Learn(rt->queues, parts);
}

}  // namespace

void Observe(Context* context, Observer observer, void* user) {
  context->runtime.observer = observer;
  context->runtime.observer_user = user;
}

Status ObserveLaunches(Context* c, const LaunchObserver* observer) {
  if (c == nullptr) return Status::kNullArgument;
  if (c->ctx.device == nullptr) return Status::kOk;  // no kernel was launched
  return c->ctx.device->backend->observe(c->ctx.device, observer);
}

void Parallel(const Ctx* c, int32_t block, TaskFn fn, int64_t tasks) {
  const Runtime* const rt = c->rt;
  if (rt->observer == nullptr) return Share(c, fn, tasks);
  rt->observer(rt->observer_user, c, block, false);
  Share(c, fn, tasks);
  rt->observer(rt->observer_user, c, block, true);
}

}  // namespace v1
}  // namespace rules_dnn
