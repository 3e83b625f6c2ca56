#include "runtime/fastrpc/stub.h"

#include <string.h>

#include "runtime/dnn_sizes.h"
#include "runtime/fastrpc/memory.h"
#include "runtime/fastrpc/session.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {
namespace {

// In 64 bits, because the total size of tensors may exceed a 32-bit address space.
uint64_t RoundUp(uint64_t n) { return (n + kLine - 1) / kLine * kLine; }

struct ModelState {
  Session* session;
  const Description* description;
  Options options;
};

struct ContextState : RemoteContext {
  ModelState* model;
  size_t size;      // size of the whole allocation in host memory
  uint64_t number;  // number of the skeleton's context
  Arg* args;        // arguments of a run
  void* staged;     // copies of buffers that the DSP cannot access
  uint64_t staged_bytes;
  char text[kMostWords];
};

ModelState* State(RemoteModel* model) { return reinterpret_cast<ModelState*>(model); }
ContextState* State(RemoteContext* context) { return static_cast<ContextState*>(context); }

// Returns a status whose words are in the context's text.
Status Told(ContextState* c, Status status) {
  if (status != Status::kOk) c->words = c->text;
  return status;
}

Status Malformed(Words* words) {
  return Failed(words, Status::kDeviceFailed, "the skeleton's answer is malformed");
}

// Converts the status of a reply.
Status StatusOf(int32_t told, Words* words) {
  if (told < 0 || told > static_cast<int32_t>(Status::kUnknownVariant)) return Malformed(words);
  const Status status = static_cast<Status>(told);
  if (status != Status::kOutOfMemory) return status;
  return Failed(words, Status::kDeviceMemory, "the process on the DSP is out of memory");
}

Status ModelCreate(const Description* d, const RemoteOptions& options, RemoteModel** model) {
  Words words(options.message, options.message_bytes);
  const Options& o = options.host;
  if (d->input_count > kMostBuffers - kRunHead || d->output_count > kMostBuffers - kRunHead) {
    return Failed(&words, Status::kTooLarge,
                  "the model has more inputs or outputs than a call can have");
  }
  void* const memory = o.allocate(o.allocator_user, sizeof(ModelState), kAlignment);
  if (memory == nullptr) return Status::kOutOfMemory;
  ModelState* const m = static_cast<ModelState*>(memory);
  *m = {nullptr, d, o};
  const Status status = Acquire(d, options, &m->session, &words);
  if (status != Status::kOk) {
    o.release(o.allocator_user, m, sizeof(ModelState));
    return status;
  }
  *model = reinterpret_cast<RemoteModel*>(m);
  return Status::kOk;
}

void ModelDestroy(RemoteModel* model) {
  ModelState* const m = State(model);
  const Options o = m->options;
  Release(m->session);
  o.release(o.allocator_user, m, sizeof(ModelState));
}

const char* Chip(const RemoteModel* model) {
  return reinterpret_cast<const ModelState*>(model)->session->identity.chip;
}

// Creates the skeleton's context. The words of a failure are dropped, because no context exists
// yet.
Status CreateFar(ModelState* m, uint64_t* number) {
  Words words(nullptr, 0);
  if (IsLost(m->session)) return Status::kDeviceLost;
  const CreateAsk ask = {kProtocol, m->options.keep_denormals};
  CreateReply reply = {-1, 0, 0};
  Arg args[] = {Bytes(&ask, sizeof(ask)), Bytes(&reply, sizeof(reply))};
  const Status status = Call(m->session, Method::kCreate, 1, 1, args, &words);
  *number = reply.context;
  return status == Status::kOk ? StatusOf(reply.status, &words) : status;
}

Status ContextCreate(RemoteModel* model, RemoteContext** context) {
  ModelState* const m = State(model);
  const Description* const d = m->description;
  const size_t count = static_cast<size_t>(d->input_count) + static_cast<size_t>(d->output_count) +
                       2 * static_cast<size_t>(kRunHead);
  const size_t head = static_cast<size_t>(RoundUp(sizeof(ContextState))),
               size = head + count * sizeof(Arg);
  void* const memory = m->options.allocate(m->options.allocator_user, size, kAlignment);
  if (memory == nullptr) return Status::kOutOfMemory;
  memset(memory, 0, size);
  ContextState* const c = static_cast<ContextState*>(memory);
  c->remote = &kRemote;
  c->words = "";
  c->model = m;
  c->size = size;
  c->args = reinterpret_cast<Arg*>(static_cast<uint8_t*>(memory) + head);
  const Status status = CreateFar(m, &c->number);
  if (status != Status::kOk) {
    m->options.release(m->options.allocator_user, c, size);
    return status;
  }
  *context = c;
  return Status::kOk;
}

void ReleaseStaged(ContextState* c) {
  if (c->staged != nullptr) c->model->session->api->Free(c->staged);
  c->staged = nullptr;
  c->staged_bytes = 0;
}

void ContextDestroy(RemoteContext* context) {
  ContextState* const c = State(context);
  ModelState* const m = c->model;
  if (!IsLost(m->session)) {
    Words words(nullptr, 0);
    const ContextAsk ask = {c->number};
    Reply reply = {-1, 0};
    Arg args[] = {Bytes(&ask, sizeof(ask)), Bytes(&reply, sizeof(reply))};
    Call(m->session, Method::kDestroy, 1, 1, args, &words);  // the session frees it if this fails
  }
  ReleaseStaged(c);
  m->options.release(m->options.allocator_user, c, c->size);
}

// Allocates memory for copies; it only grows.
Status TakeStaged(ContextState* c, uint64_t bytes, Words* words) {
  if (bytes <= c->staged_bytes) return Status::kOk;
  ReleaseStaged(c);
  const Status status = TakeShared(*c->model->session->api, bytes, &c->staged, words);
  if (status == Status::kOk) c->staged_bytes = bytes;
  return status;
}

// Returns the argument of an input or output.
Arg* ArgOf(const ContextState* c, int32_t buffer) {
  const int32_t inputs = c->model->description->input_count;
  return c->args + kRunHead + buffer + (buffer < inputs ? 0 : kRunHead);
}

// Returns a status that the skeleton reported, and reads its sentence about it.
Status Explain(ContextState* c, Status status) {
  const ContextAsk ask = {c->number};
  Reply reply = {-1, 0};
  char text[kMostWords] = "";
  Words words(c->text, sizeof(c->text));
  Arg args[] = {Bytes(&ask, sizeof(ask)), Bytes(&reply, sizeof(reply)), Bytes(text, sizeof(text))};
  const Status asked = Call(c->model->session, Method::kExplain, 1, 2, args, &words);
  text[sizeof(text) - 1] = 0;
  if (asked == Status::kOk) {
    words.Clear();
    words.Add(text);
    c->whole = true;
  }
  return Told(c, status);
}

// Converts the status of a reply, and reads the sentence if it is the skeleton's.
Status Answered(ContextState* c, int32_t told, Words* words) {
  const Status status = StatusOf(told, words);
  const bool ours = status >= Status::kNoOpenCl || status == Status::kOk;
  return ours ? Told(c, status) : Explain(c, status);
}

Status CheckAlive(ContextState* c, Words* words) {
  if (!IsLost(c->model->session)) return Status::kOk;
  return Failed(words, Status::kDeviceLost, "the process on the DSP ended in an earlier call");
}

Status Reserve(RemoteContext* context, const int64_t* sym, const int64_t* bytes) {
  ContextState* const c = State(context);
  const Description* const d = c->model->description;
  Words words(c->text, sizeof(c->text));
  Status status = CheckAlive(c, &words);
  uint64_t all = 0;
  for (int32_t i = 0; i < d->input_count + d->output_count; ++i) {
    all += RoundUp(static_cast<uint64_t>(bytes[i]));
  }
  if (status == Status::kOk && c->model->session->api->shares()) {
    status = TakeStaged(c, all, &words);
  }
  if (status != Status::kOk) return Told(c, status);
  const ContextAsk ask = {c->number};
  Reply reply = {-1, 0};
  Arg args[] = {Bytes(&ask, sizeof(ask)),
                Bytes(sym, static_cast<size_t>(d->given_count) * sizeof(int64_t)),
                Bytes(&reply, sizeof(reply))};
  status = Call(c->model->session, Method::kReserve, 2, 1, args, &words);
  return status == Status::kOk ? Answered(c, reply.status, &words) : Told(c, status);
}

// Passes each buffer to the call, or shared memory that replaces it. Without shared memory the
// driver copies the buffers.
Status Stage(ContextState* c, const int64_t* bytes, const void* const* in, void* const* out,
             Words* words) {
  const Description* const d = c->model->description;
  const Api& api = *c->model->session->api;
  const int32_t count = d->input_count + d->output_count;
  uint64_t all = 0;
  for (int32_t i = 0; i < count; ++i) {
    const void* const at = i < d->input_count ? in[i] : out[i - d->input_count];
    const size_t n = static_cast<size_t>(bytes[i]);
    const bool given = n == 0 || !api.shares() || IsShared(api, at, n);
    *ArgOf(c, i) = Bytes(given ? at : nullptr, n);
    if (!given) all += RoundUp(n);
  }
  const Status status = TakeStaged(c, all, words);
  if (status != Status::kOk) return status;
  uint8_t* next = static_cast<uint8_t*>(c->staged);
  for (int32_t i = 0; i < count; ++i) {
    Arg* const a = ArgOf(c, i);
    if (a->buffer.at != nullptr || a->buffer.bytes == 0) continue;
    a->buffer.at = next;
    next += RoundUp(a->buffer.bytes);
    if (i < d->input_count) memcpy(a->buffer.at, in[i], a->buffer.bytes);
  }
  return Status::kOk;
}

// Copies staged outputs back.
void Unstage(const ContextState* c, void* const* out) {
  const Description* const d = c->model->description;
  for (int32_t i = 0; i < d->output_count; ++i) {
    const Arg& a = *ArgOf(c, d->input_count + i);
    if (a.buffer.bytes > 0 && a.buffer.at != out[i]) memcpy(out[i], a.buffer.at, a.buffer.bytes);
  }
}

// Takes the symbols of a reply: given ones must be unchanged, and computed ones within their
// bounds, so that no reader exceeds a buffer.
Status TakeSymbols(const Description* d, const int64_t* told, int64_t* sym, Words* words) {
  if (d->symbol_count == d->given_count) return Status::kOk;
  Symbols most;
  const Status status = BindSymbols(d, sym, &most);
  if (status != Status::kOk) return status;
  for (int32_t i = 0; i < d->symbol_count; ++i) {
    const bool given = i < d->given_count;
    const bool fits = given ? told[i] == sym[i] : told[i] >= 0 && told[i] <= most.value[i];
    if (!fits) return Malformed(words);
  }
  memcpy(sym, told, static_cast<size_t>(d->symbol_count) * sizeof(int64_t));
  return Status::kOk;
}

Status Run(RemoteContext* context, int64_t* sym, const int64_t* bytes, const void* const* in,
           void* const* out) {
  ContextState* const c = State(context);
  const Description* const d = c->model->description;
  Words words(c->text, sizeof(c->text));
  Status status = CheckAlive(c, &words);
  if (status == Status::kOk) status = Stage(c, bytes, in, out, &words);
  if (status != Status::kOk) return Told(c, status);
  const ContextAsk ask = {c->number};
  Reply reply = {-1, 0};
  int64_t told[kMaxSymbols] = {};
  Arg* const results = c->args + kRunHead + d->input_count;
  c->args[0] = Bytes(&ask, sizeof(ask));
  c->args[1] = Bytes(sym, static_cast<size_t>(d->given_count) * sizeof(int64_t));
  results[0] = Bytes(&reply, sizeof(reply));
  results[1] = Bytes(told, static_cast<size_t>(d->symbol_count) * sizeof(int64_t));
  status = Call(c->model->session, Method::kRun, kRunHead + d->input_count,
                kRunHead + d->output_count, c->args, &words);
  if (status != Status::kOk) return Told(c, status);
  status = Answered(c, reply.status, &words);
  if (status != Status::kOk) return status;
  status = TakeSymbols(d, told, sym, &words);
  if (status != Status::kOk) return Told(c, status);
  Unstage(c, out);
  return Status::kOk;
}

Status Allocate(RemoteModel* model, size_t bytes, void** memory) {
  return AllocateOwn(model == nullptr ? nullptr : State(model)->session->api, bytes, memory);
}

}  // namespace

const Remote kRemote = {
    ModelCreate, ModelDestroy, Chip,     ContextCreate, ContextDestroy,
    Reserve,     Run,          Allocate, ReleaseOwn,
};

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn
