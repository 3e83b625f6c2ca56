#include "runtime/fastrpc/skeleton.h"

#include "runtime/dnn_context.h"
#include "runtime/dnn_memory.h"
#include "runtime/fastrpc/far.h"
#include "runtime/fastrpc/wire.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {
namespace {

static_assert(kLine % kBufferAlignment == 0, "a stub's tensors begin where kernels take them");

// Reports whether a call has these numbers of arguments.
bool Has(uint32_t scalars, int32_t in, int32_t out, int32_t in_handles = 0,
         int32_t out_handles = 0) {
  return (scalars & 0xffffff) == Scalars(0, static_cast<uint32_t>(in), static_cast<uint32_t>(out),
                                         static_cast<uint32_t>(in_handles),
                                         static_cast<uint32_t>(out_handles));
}

// Reports whether a buffer exists and has the given size.
bool HasBytes(const Arg& a, size_t bytes) {
  return a.buffer.bytes == bytes && (bytes == 0 || a.buffer.at != nullptr);
}

// Copies a buffer to a struct: the memory of a call has no alignment.
template <class T>
bool Get(const Arg& a, T* out) {
  if (!HasBytes(a, sizeof(T))) return false;
  __builtin_memcpy(out, a.buffer.at, sizeof(T));
  return true;
}

template <class T>
void Put(const Arg& a, const T& value) {
  __builtin_memcpy(a.buffer.at, &value, sizeof(T));
}

Code Open(uint32_t scalars, Arg* args) {
  uint32_t length = 0;
  if (!Has(scalars, 2, 0, 0, 1) || !Get(args[0], &length)) return kBadArguments;
  if (args[1].buffer.bytes < length) return kBadArguments;  // the text itself is not used here
  FarSession* const s = NewSession();
  if (s == nullptr) return kNoMemory;
  args[2].handle = s->handle;
  return kDone;
}

// Closes a session with all its contexts.
Code Close(uint32_t scalars, const Arg* args) {
  if (!Has(scalars, 0, 0, 1, 0)) return kBadArguments;
  FarSession* const s = Remove(args[0].handle);
  if (s == nullptr) return kBadArguments;
  while (s->contexts != nullptr) {
    FarContext* const c = s->contexts;
    s->contexts = c->next;
    Destroy(c);
  }
  free(s);
  return kDone;
}

Code Identify(const Skeleton& skeleton, uint32_t scalars, Arg* args) {
  Hello hello;
  if (!Has(scalars, 1, 1) || !Get(args[0], &hello) || !HasBytes(args[1], sizeof(Identity))) {
    return kBadArguments;
  }
  const Description* const d = skeleton.description;
  Identity i = {kProtocol,
                kRuntimeVersion,
                static_cast<uint32_t>(d->input_count),
                static_cast<uint32_t>(d->output_count),
                static_cast<uint32_t>(d->symbol_count),
                static_cast<uint32_t>(d->given_count),
                {},
                {},
                {}};
  __builtin_memcpy(i.graph, skeleton.graph_hash, sizeof(i.graph));
  __builtin_memcpy(i.weights, skeleton.weights_hash, sizeof(i.weights));
  const char* const name = d->variants[0].name;
  for (size_t k = 0; name[k] != 0 && k + 1 < sizeof(i.chip); ++k) i.chip[k] = name[k];
  Put(args[1], i);
  return kDone;
}

// Creates a model and its only context; the library embeds the weights.
Status MakeContext(const Description* d, const CreateAsk& ask, Context** context) {
  Options o = {};
  o.size = sizeof(o);
  o.keep_denormals = ask.keep_denormals != 0;
  Model* model = nullptr;
  Status status = ModelCreate(d, &o, &model);
  if (status == Status::kOk) status = ContextCreate(model, context);
  ModelDestroy(model);  // the context keeps it alive
  return status;
}

Code Create(const Skeleton& skeleton, Handle handle, uint32_t scalars, Arg* args) {
  CreateAsk ask;
  if (!Has(scalars, 1, 1) || !Get(args[0], &ask) || ask.protocol != kProtocol ||
      !HasBytes(args[1], sizeof(CreateReply))) {
    return kBadArguments;
  }
  FarContext* const c = static_cast<FarContext*>(malloc(sizeof(FarContext)));
  if (c != nullptr) *c = {nullptr, 0, false, nullptr};
  const Status status =
      c == nullptr ? Status::kOutOfMemory : MakeContext(skeleton.description, ask, &c->context);
  if (status == Status::kOk && !Add(handle, c)) {
    Destroy(c);
    return kBadArguments;
  }
  Put(args[1], CreateReply{static_cast<int32_t>(status), 0, c == nullptr ? 0 : c->number});
  if (status != Status::kOk) free(c);
  return kDone;
}

Code DestroyContext(Handle handle, uint32_t scalars, Arg* args) {
  ContextAsk ask;
  if (!Has(scalars, 1, 1) || !Get(args[0], &ask) || !HasBytes(args[1], sizeof(Reply))) {
    return kBadArguments;
  }
  FarContext* const c = Borrow(handle, ask.context);
  if (c == nullptr) return kBadArguments;
  Take(handle, c);
  Destroy(c);
  Put(args[1], Reply{static_cast<int32_t>(Status::kOk), 0});
  return kDone;
}

// The symbols that a call sets, in aligned memory.
struct GivenSymbols {
  int64_t value[kMaxSymbols];

  bool Read(const Description* d, const Arg& a) {
    const size_t bytes = static_cast<size_t>(d->given_count) * sizeof(int64_t);
    if (!HasBytes(a, bytes)) return false;
    if (bytes > 0) __builtin_memcpy(value, a.buffer.at, bytes);
    return true;
  }
};

Code ReserveContext(const Skeleton& skeleton, Handle handle, uint32_t scalars, Arg* args) {
  ContextAsk ask;
  GivenSymbols given;
  if (!Has(scalars, 2, 1) || !Get(args[0], &ask) || !given.Read(skeleton.description, args[1]) ||
      !HasBytes(args[2], sizeof(Reply))) {
    return kBadArguments;
  }
  FarContext* const c = Borrow(handle, ask.context);
  if (c == nullptr) return kBadArguments;
  Put(args[2], Reply{static_cast<int32_t>(Reserve(c->context, given.value)), 0});
  GiveBack(c);
  return kDone;
}

// The buffers of a run in the form that the model takes.
struct Buffers {
  const void* in[kMostBuffers];
  void* out[kMostBuffers];
  size_t in_bytes[kMostBuffers];
  size_t out_bytes[kMostBuffers];
};

// Runs a context with buffers whose sizes were checked.
Status RunChecked(const Description* d, Context* context, const int64_t* sym, const Arg* in,
                  const Arg* out) {
  Buffers b;
  for (int32_t i = 0; i < d->input_count; ++i) {
    b.in[i] = in[i].buffer.at;
    b.in_bytes[i] = in[i].buffer.bytes;
  }
  for (int32_t i = 0; i < d->output_count; ++i) {
    b.out[i] = out[i].buffer.at;
    b.out_bytes[i] = out[i].buffer.bytes;
  }
  const Status status = CheckSizes(d, sym, b.in_bytes, b.out_bytes);
  // Explain must describe this run, even if it does not begin.
  return context->status = status == Status::kOk ? Run(context, sym, b.in, b.out) : status;
}

Code RunContext(const Skeleton& skeleton, Handle handle, uint32_t scalars, Arg* args) {
  const Description* const d = skeleton.description;
  const int32_t in = kRunHead + d->input_count, out = kRunHead + d->output_count;
  const Arg* const results = args + in;
  const size_t symbols = static_cast<size_t>(d->symbol_count) * sizeof(int64_t);
  ContextAsk ask;
  GivenSymbols given;
  if (in > kMostBuffers || out > kMostBuffers || !Has(scalars, in, out) || !Get(args[0], &ask) ||
      !given.Read(d, args[1]) || !HasBytes(results[0], sizeof(Reply)) ||
      !HasBytes(results[1], symbols)) {
    return kBadArguments;
  }
  FarContext* const c = Borrow(handle, ask.context);
  if (c == nullptr) return kBadArguments;
  const Status status = RunChecked(d, c->context, given.value, args + kRunHead, results + kRunHead);
  if (status == Status::kOk && symbols > 0)
    __builtin_memcpy(results[1].buffer.at, c->context->sym, symbols);
  Put(results[0], Reply{static_cast<int32_t>(status), 0});
  GiveBack(c);
  return kDone;
}

Code ExplainContext(Handle handle, uint32_t scalars, Arg* args) {
  ContextAsk ask;
  if (!Has(scalars, 1, 2) || !Get(args[0], &ask) || !HasBytes(args[1], sizeof(Reply)) ||
      !HasBytes(args[2], args[2].buffer.bytes)) {
    return kBadArguments;
  }
  FarContext* const c = Borrow(handle, ask.context);
  if (c == nullptr) return kBadArguments;
  ExplainRun(c->context, static_cast<char*>(args[2].buffer.at), args[2].buffer.bytes);
  Put(args[1], Reply{static_cast<int32_t>(Status::kOk), 0});
  GiveBack(c);
  return kDone;
}

}  // namespace

Code Answer(const Skeleton& skeleton, Handle handle, uint32_t scalars, Arg* args) {
  if (args == nullptr) return kBadArguments;
  switch (static_cast<Method>(MethodOf(scalars))) {
    case Method::kOpen:
      return Open(scalars, args);
    case Method::kClose:
      return Close(scalars, args);
    case Method::kIdentify:
      return Identify(skeleton, scalars, args);
    case Method::kCreate:
      return Create(skeleton, handle, scalars, args);
    case Method::kDestroy:
      return DestroyContext(handle, scalars, args);
    case Method::kReserve:
      return ReserveContext(skeleton, handle, scalars, args);
    case Method::kRun:
      return RunContext(skeleton, handle, scalars, args);
    case Method::kExplain:
      return ExplainContext(handle, scalars, args);
  }
  return kUnsupported;
}

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn
