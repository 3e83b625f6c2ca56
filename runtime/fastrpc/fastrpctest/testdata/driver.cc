// Runs a model through stub and skeleton with the fake FastRPC library, and makes each of them and
// the transport fail.
#include "runtime/testing/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "model.h"
#include "runtime/fastrpc/loader.h"
#include "runtime/fastrpc/stub.h"
#include "runtime/fastrpc/wire.h"

using rules_dnn::Status;
namespace rpc = rules_dnn::fastrpc;

namespace {

constexpr const char* kTargets[] = {"v68", "v73"};
constexpr rules_dnn::RemoteInfo kRemote = {&rpc::kRemote, "fake",      kTargets, 2,
                                           kGraphHash,    kWeightsHash};
constexpr rules_dnn::VariantInfo kChip = {"here", nullptr, 0};
const rules_dnn::Description kDescription = Describe(&kChip, &kRemote);

// The fake library's own functions; null without it.
void (*fail)(const char*, int, int);
int (*count)(const char*);
int (*alive)();
int (*memory)();
void (*tamper)(void (*)(void*, bool, uint32_t*, void*), void*);

rules_dnn::RemoteOptions Options() { return CountedOptions<rules_dnn::RemoteOptions>(); }

Status Create(const rules_dnn::RemoteOptions& o, rules_dnn::Model** model) {
  return CreateModel(&kDescription, o, model);
}

// Runs once with N rows, whose first elements are 1, -1, 1, ...; `first` replaces the very first.
Status RunWith(rules_dnn::Context* context, int64_t n, float first, float* x, float* z,
               int64_t* at) {
  for (int64_t i = 0; i < 4 * n; ++i) x[i] = static_cast<float>(i % 8 == 4 ? -1 : 1 + i % 7);
  if (n > 0) x[0] = first;
  const void* in[] = {x};
  void* out[] = {z, at};
  const Status s = rules_dnn::Run(context, &n, in, out);
  words[0] = 0;
  rules_dnn::ExplainRun(context, words, sizeof(words));
  int64_t shape[1] = {-1};
  const Status shaped = rules_dnn::ResultShape(context, &kOutputs[1], shape);
  if (s != Status::kOk) {
    CHECK(words[0] != 0);
    return s;
  }
  CHECK(words[0] == 0 && shaped == Status::kOk);
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < 4; ++k) CHECK(z[4 * i + k] == 2 * x[4 * i + k] + 1);
    if (x[4 * i] > 0) CHECK(at[found++] == i);
  }
  CHECK(shape[0] == found);
  return s;
}

Status RunOnce(rules_dnn::Context* context, int64_t n, float first) {
  std::vector<float> x(static_cast<size_t>(4 * n)), z(static_cast<size_t>(4 * n));
  std::vector<int64_t> at(static_cast<size_t>(n));
  return RunWith(context, n, first, x.data(), z.data(), at.data());
}

// Creates, runs and destroys a model; returns the first failure.
Status Scenario(const rules_dnn::RemoteOptions& o) {
  rules_dnn::Model* model = nullptr;
  Status s = Create(o, &model);
  if (s != Status::kOk) {
    CHECK(model == nullptr);
    return s;
  }
  rules_dnn::Context *a = nullptr, *b = nullptr;
  s = rules_dnn::ContextCreate(model, &a);
  if (s == Status::kOk) s = rules_dnn::ContextCreate(model, &b);
  rules_dnn::ModelDestroy(model);
  const int64_t five = 5;
  if (s == Status::kOk) {
    s = rules_dnn::Reserve(a, &five);
    rules_dnn::ExplainRun(a, words, sizeof(words));
  }
  for (const int64_t n : {3, 70, 3, 0, 100}) {
    for (rules_dnn::Context* c : {a, b}) {
      if (s == Status::kOk) s = RunOnce(c, n, 2);
    }
  }
  rules_dnn::ContextDestroy(a);
  rules_dnn::ContextDestroy(b);
  return s;
}

void Clean() {
  CHECK(alive == nullptr || (alive() == 0 && memory() == 0));
  CHECK(taken == 0);
}

// A model with a context.
struct Pair {
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* context = nullptr;
  explicit Pair(const rules_dnn::RemoteOptions& o = Options()) {
    CHECK(Create(o, &model) == Status::kOk);
    CHECK(rules_dnn::ContextCreate(model, &context) == Status::kOk);
  }
  ~Pair() {
    rules_dnn::ContextDestroy(context);
    rules_dnn::ModelDestroy(model);
  }
};

struct Expected {
  const char* function;
  uint32_t code;
  Status status;
  const char* said;
};

// Makes every call of every function fail once, with codes that FastRPC returns there.
void TestFailures() {
  const Expected all[] = {
      {"remote_handle64_open", 0x80000445, Status::kNoSkeleton, "AEE_ENOSUCHFILE, 0x80000445"},
      {"remote_handle64_open", 0x45, Status::kNoSkeleton, "AEE_ENOSUCHFILE, 0x45"},
      {"remote_handle64_open", 0x80000481, Status::kNoSkeleton, "AEE_EUNSIGNEDMOD"},
      {"remote_handle64_open", 0x72, Status::kNoDsp, "AEE_ECONNREFUSED"},
      {"remote_handle64_open", 0x57, Status::kNoDsp, "AEE_EFOPEN"},
      {"remote_handle64_open", 0xffffffff, Status::kDeviceFailed, "an error, 0xffffffff"},
      {"remote_handle64_open", 0x02, Status::kDeviceMemory, "AEE_ENOMEMORY"},
      {"remote_handle64_invoke", 104, Status::kDeviceLost, "AEE_ECONNRESET"},
      {"remote_handle64_invoke", 39, Status::kDeviceLost, "AEE_ENOSUCH"},
      {"remote_handle64_invoke", 0x8000042c, Status::kDeviceLost, "AEE_EINVHANDLE"},
      {"remote_handle64_invoke", 0x80000402, Status::kDeviceMemory, "AEE_ENOMEMORY"},
      {"remote_handle64_invoke", 0x8000040e, Status::kDeviceFailed, "AEE_EBADPARM"},
      {"rpcmem_alloc", 1, Status::kDeviceMemory, "rpcmem_alloc: no shared memory is left"},
      {"rpcmem_to_fd", 1, Status::kDeviceMemory, "rpcmem_to_fd"},
  };
  for (const Expected& e : all) {
    fail("", 0, 0);
    CHECK(Scenario(Options()) == Status::kOk);
    Clean();
    const int calls = count(e.function);
    CHECK(calls > 0);
    int told = 0;
    for (int n = 1; n <= calls; ++n) {
      fail(e.function, n, static_cast<int>(e.code));
      const Status s = Scenario(Options());
      // The last calls destroy contexts, which ignores failures, and call to_fd for buffers that
      // are not shared.
      if (s == Status::kOk) continue;
      CHECK(s == e.status);
      const char* const said = words[0] != 0 ? words : message;
      if (said[0] != 0) {
        CHECK(strstr(said, e.said) != nullptr);
        ++told;
      }
      fail("", 0, 0);
      Clean();
    }
    CHECK(told > 0);
  }
  for (const char* f : {"remote_session_control", "remote_handle_control"}) {  // optional functions
    fail(f, 0, 0x14);
    CHECK(Scenario(Options()) == Status::kOk);
    Clean();
  }
  fail("", 0, 0);
}

// The process on the DSP dies in a call: the model cannot be used any more, and a new one works.
void TestDies() {
  Pair old, other;
  fail("remote_handle64_invoke", 1, 104);
  CHECK(RunOnce(old.context, 3, 1) == Status::kDeviceLost);
  CHECK(strstr(words, "the DSP was restarted") != nullptr);
  fail("", 0, 0);
  CHECK(RunOnce(old.context, 3, 1) == Status::kDeviceLost);
  CHECK(strstr(words, "ended in an earlier call") != nullptr);
  CHECK(RunOnce(other.context, 3, 1) == Status::kDeviceLost);
  const int64_t n = 3;
  CHECK(rules_dnn::Reserve(other.context, &n) == Status::kDeviceLost);
  rules_dnn::Context* none = nullptr;
  CHECK(rules_dnn::ContextCreate(old.model, &none) == Status::kDeviceLost && none == nullptr);
  CHECK(count("remote_handle64_invoke") == 0);  // no call to a dead process
  Pair fresh;
  CHECK(count("remote_handle64_open") == 1);
  CHECK(RunOnce(fresh.context, 3, 1) == Status::kOk);
}

// The skeleton itself ends the process on the DSP: all sessions are lost, and new ones belong to a
// new process without the old state.
void TestCrashes() {
  rules_dnn::RemoteOptions o = Options();
  o.library = "libcopy.so";
  {
    Pair a, b(o);
    CHECK(RunOnce(b.context, 3, 1) == Status::kOk);
    CHECK(RunOnce(a.context, 3, 666) == Status::kDeviceLost);
    CHECK(strstr(words, "the DSP was restarted (AEE_ECONNRESET, 0x68)") != nullptr);
    CHECK(RunOnce(a.context, 3, 1) == Status::kDeviceLost);
    CHECK(RunOnce(b.context, 3, 1) == Status::kDeviceLost);
    Pair c, d(o);
    for (const Pair* p : {&c, &d}) CHECK(RunOnce(p->context, 3, 1) == Status::kOk);
  }
  Clean();
}

// If the model rejects an input, the skeleton's sentence is returned, and the next run is not
// affected.
void TestRefuses() {
  Pair p;
  CHECK(RunOnce(p.context, 5, 13) == Status::kBadValue);
  CHECK(strcmp(
            words,
            "Above (the node): an input's value is outside what an operator allows, for example an "
            "index out of bounds") == 0);
  CHECK(RunOnce(p.context, 1001, 1) == Status::kBadDims);  // by the stub, not the last words
  CHECK(strcmp(words, "the dimension N is 1001; it must be 0 to 1000") == 0);
  CHECK(RunOnce(p.context, 5, 1) == Status::kOk);
  int64_t n = 2;
  const void* in[] = {nullptr};
  void* out[] = {nullptr, nullptr};
  CHECK(rules_dnn::Run(p.context, &n, in, out) == Status::kNullArgument);
  fail("remote_handle64_invoke", 2, 14);  // reading the sentence fails
  CHECK(RunOnce(p.context, 5, 13) == Status::kBadValue);
  CHECK(strstr(words, "an input's value is outside") != nullptr);
  fail("", 0, 0);
}

// A process has one session for each library.
void TestSessions() {
  // The stack size of the DSP's threads must be requested before a session is opened.
  fail("remote_handle64_open", 0, 0x45);
  CHECK(Scenario(Options()) == Status::kNoSkeleton && count("stacks") == 1);
  fail("", 0, 0);
  {
    Pair a, b;
    CHECK(count("remote_handle64_open") == 1 && count("unsigned") == 2);
    CHECK(strcmp(rules_dnn::VariantName(a.model), "hexagon_fake") == 0);
    rules_dnn::RemoteOptions o = Options();
    o.library = "libcopy.so";
    o.signed_process = 1;
    Pair c(o);
    CHECK(count("remote_handle64_open") == 2 && count("unsigned") == 2);
    for (const Pair* p : {&a, &b, &c, &a}) CHECK(RunOnce(p->context, 7, 1) == Status::kOk);
    CHECK(count("remote_handle64_close") == 0);
  }
  CHECK(count("remote_handle64_close") == 2);
  Clean();
}

// The skeleton that is opened, or the reason why none is.
void TestChoice() {
  const auto opened = [](const char* dsp) {
    setenv("FAKE_VERSION", dsp, 1);
    fail("", 0, 0);
    const Status s = Scenario(Options());
    Clean();
    unsetenv("FAKE_VERSION");
    return s == Status::kOk ? count("remote_handle64_open") : -static_cast<int>(s);
  };
  CHECK(opened("68") == 1);  // only the skeleton of v68 is tried
  CHECK(opened("69") == 1);
  CHECK(opened("73") == 2);  // the folder has no skeleton of v73
  CHECK(opened("66") == -static_cast<int>(Status::kNoSkeleton));
  CHECK(strstr(message, "the DSP is older than") != nullptr);
  fail("remote_handle_control", 0,
       0x14);  // the version is not known: the most capable one is tried first
  CHECK(Scenario(Options()) == Status::kOk && count("remote_handle64_open") == 2);
  Clean();
  fail("", 0, 0);
  const std::string long_name(600, 'x');
  struct {
    const char* library;
    Status status;
    const char* said;
  } const all[] = {
      {"libnone.so", Status::kNoSkeleton, "AEE_ENOSUCHFILE"},
      {"libnone.so", Status::kNoSkeleton, "file:///libnone.so?dnn_skel_handle_invoke"},
      {"libbroken.so", Status::kNoSkeleton, "AEE_EUNABLETOLOAD"},
      {"libempty.so", Status::kNoSkeleton, "AEE_ENOSUCHSYMBOL"},
      {"libgraph.so", Status::kForeignSkeleton, "it belongs to another network"},
      {"libweights.so", Status::kForeignSkeleton, "it has other weights"},
      {"lib.so&_dom=adsp", Status::kBadOptions, "the name or path of a file"},
      {"", Status::kBadOptions, "the name or path of a file"},
      {long_name.c_str(), Status::kBadOptions, "the name or path of a file"},
  };
  for (const auto& c : all) {
    for (int32_t fallback : {0, 1}) {
      rules_dnn::RemoteOptions o = Options();
      o.library = c.library;
      o.fallback = fallback;
      const bool runs = fallback == 1 && c.status == Status::kNoSkeleton;
      CHECK(Scenario(o) == (runs ? Status::kOk : c.status));
      CHECK(strstr(message, c.said) != nullptr);
      Clean();
    }
  }
}

// Without a DSP the processor runs the model if the options allow it, and the variant names its
// chip.
void TestFallback() {
  for (const uint32_t code : {0x72u, 0x80000445u, 0xffffffffu, 0x27u}) {
    if (fail != nullptr) fail("remote_handle64_open", 0, static_cast<int>(code));
    rules_dnn::RemoteOptions o = Options();
    CHECK(Scenario(o) != Status::kOk && message[0] != 0);
    Clean();
    o.fallback = 1;
    o.host.workers = 3;
    rules_dnn::Model* model = nullptr;
    CHECK(Create(o, &model) == Status::kOk && message[0] != 0);
    CHECK(strcmp(rules_dnn::VariantName(model), "here") == 0);
    rules_dnn::Context* context = nullptr;
    CHECK(rules_dnn::ContextCreate(model, &context) == Status::kOk);
    void *x = nullptr, *z = nullptr, *at = nullptr;
    CHECK(rules_dnn::AllocateShared(model, 160, &x) == Status::kOk);
    CHECK(rules_dnn::AllocateShared(model, 160, &z) == Status::kOk);
    CHECK(rules_dnn::AllocateShared(model, 80, &at) == Status::kOk);
    CHECK(RunWith(context, 10, 1, static_cast<float*>(x), static_cast<float*>(z),
                  static_cast<int64_t*>(at)) == Status::kOk);
    CHECK(RunOnce(context, 5, 13) == Status::kBadValue);
    for (void* p : {x, z, at, static_cast<void*>(nullptr)}) rules_dnn::ReleaseShared(model, p);
    rules_dnn::ContextDestroy(context);
    rules_dnn::ModelDestroy(model);
    Clean();
  }
  if (fail != nullptr) fail("", 0, 0);
}

// Memory from AllocateShared is passed to the DSP directly; other memory is copied.
void TestShared() {
  Pair p;
  void *x = nullptr, *z = nullptr;
  CHECK(rules_dnn::AllocateShared(p.model, 320, &x) == Status::kOk);
  CHECK(rules_dnn::AllocateShared(p.model, 512 + 168, &z) == Status::kOk);
  const int before = alive();
  fail("", 0, 0);
  float* const more = static_cast<float*>(z);
  int64_t* const at = reinterpret_cast<int64_t*>(more + 128);
  CHECK(RunWith(p.context, 10, 1, static_cast<float*>(x), more, at) == Status::kOk);
  CHECK(count("shared") == 3 && alive() == before && count("rpcmem_alloc") == 0);
  // All buffers in one allocation.
  CHECK(RunWith(p.context, 20, 1, static_cast<float*>(x), more, at) == Status::kOk);
  CHECK(count("shared") == 6 && count("rpcmem_alloc") == 0);
  std::vector<float> own(84);
  CHECK(RunWith(p.context, 21, 1, own.data(), more, at) == Status::kOk);
  CHECK(count("rpcmem_alloc") == 1 && count("shared") == 9);
  // Buffers that do not begin at a line are copied, too, because the DSP's vectors need lines.
  fail("", 0, 0);
  CHECK(RunWith(p.context, 1, 1, own.data(), more + 1, at) == Status::kOk);
  CHECK(count("shared") == 3 && count("rpcmem_alloc") == 0);
  // Existing memory is not allocated again.
  const int64_t n = 50;
  CHECK(rules_dnn::Reserve(p.context, &n) == Status::kOk);
  const int64_t host = taken;
  fail("", 0, 0);
  const int kept = alive();
  for (int i = 0; i < 5; ++i) CHECK(RunOnce(p.context, 50, 1) == Status::kOk);
  CHECK(alive() == kept && taken == host && count("rpcmem_alloc") == 0);
  fail("rpcmem_alloc", 0, 1);
  void* none = &p;
  CHECK(rules_dnn::AllocateShared(p.model, 10, &none) == Status::kDeviceMemory && none == nullptr);
  CHECK(RunOnce(p.context, 900, 1) == Status::kDeviceMemory);
  CHECK(strstr(words, "rpcmem_alloc: no shared memory is left (") != nullptr);
  fail("", 0, 0);
  CHECK(RunOnce(p.context, 900, 1) == Status::kOk);
  CHECK(rules_dnn::AllocateShared(p.model, size_t{1} << 31, &none) == Status::kDeviceMemory);
  CHECK(rules_dnn::AllocateShared(nullptr, 10, &none) == Status::kNullArgument);
  rules_dnn::ReleaseShared(p.model, z);
  rules_dnn::ReleaseShared(p.model, z);  // no longer an allocation of ours
  rules_dnn::ReleaseShared(p.model, x);
}

// A change of a call on its way to the skeleton or back.
struct Change {
  uint32_t method;
  bool after;
  int arg;  // -1: the scalars
  int64_t bytes;
  bool null;
  int64_t word, value;  // replaces a number in the buffer; word -1: nothing
  uint32_t scalars;     // added to the call's scalars
  bool done;
};

void Apply(void* user, bool after, uint32_t* scalars, void* args) {
  Change* const c = static_cast<Change*>(user);
  if (after != c->after || *scalars >> 24 != c->method) return;
  rpc::Arg& a = static_cast<rpc::Arg*>(args)[c->arg < 0 ? 0 : c->arg];
  if (c->arg < 0) *scalars += c->scalars;
  if (c->bytes != 0)
    a.buffer.bytes = static_cast<size_t>(static_cast<int64_t>(a.buffer.bytes) + c->bytes);
  if (c->null) a.buffer.at = nullptr;
  if (c->word >= 0)
    memcpy(static_cast<int64_t*>(a.buffer.at) + c->word, &c->value, sizeof(c->value));
  c->done = true;
}

std::string said;  // message of the last change

// Returns the status of a scenario with a changed call; afterwards checks that a normal one works.
Status Changed(Change c) {
  fail("", 0, 0);
  tamper(Apply, &c);
  const Status s = Scenario(Options());
  said = std::string(message) + words;
  if (s == Status::kBadValue || s == Status::kOk) {  // kExplain was not called before
    rules_dnn::Model* model = nullptr;
    rules_dnn::Context* context = nullptr;
    if (Create(Options(), &model) == Status::kOk) {
      if (rules_dnn::ContextCreate(model, &context) == Status::kOk) RunOnce(context, 3, 13);
    }
    rules_dnn::ContextDestroy(context);
    rules_dnn::ModelDestroy(model);
  }
  CHECK(c.done);
  tamper(nullptr, nullptr);
  Clean();
  CHECK(Scenario(Options()) == Status::kOk);
  Clean();
  return s;
}

// The skeleton checks every size and count of every call.
void TestMalformedCalls() {
  struct {
    rpc::Method method;
    int in, out;
    bool loud;  // the caller receives an error
  } const all[] = {{rpc::Method::kIdentify, 1, 1, true}, {rpc::Method::kCreate, 1, 1, true},
                   {rpc::Method::kDestroy, 1, 1, false}, {rpc::Method::kReserve, 2, 1, true},
                   {rpc::Method::kRun, 3, 4, true},      {rpc::Method::kExplain, 1, 2, false}};
  for (const auto& m : all) {
    const uint32_t method = static_cast<uint32_t>(m.method);
    const auto refused = [&](Change c) {
      const Status s = Changed(c);
      CHECK(m.loud ? s != Status::kOk : s == Status::kOk);
    };
    for (const uint32_t add : {1u << 16, 1u << 8, 1u << 4, 1u, ~(1u << 16) + 1, ~(1u << 8) + 1}) {
      refused({method, false, -1, 0, false, -1, 0, add, false});
    }
    for (int i = 0; i < m.in + m.out; ++i) {
      if (m.method == rpc::Method::kExplain && i == 2) continue;  // a text of any capacity
      refused({method, false, i, -1, false, -1, 0, 0, false});
      refused({method, false, i, 0, true, -1, 0, 0, false});
      const bool larger = m.method == rpc::Method::kRun && i >= 5;  // output buffers may be larger
      if (!larger) refused({method, false, i, 1, false, -1, 0, 0, false});
    }
  }
  // An unknown context in a run.
  Change c = {static_cast<uint32_t>(rpc::Method::kRun), false, 0, 0, false, 0, 77, 0, false};
  CHECK(Changed(c) == Status::kDeviceFailed && said.find("malformed") != std::string::npos);
  // Another protocol.
  c = {static_cast<uint32_t>(rpc::Method::kCreate), false, 0, 0, false, 0, 99, 0, false};
  CHECK(Changed(c) == Status::kDeviceFailed);
  // Dims that the stub would not send.
  c = {static_cast<uint32_t>(rpc::Method::kRun), false, 1, 0, false, 0, 1 << 20, 0, false};
  CHECK(Changed(c) == Status::kBadDims);
  c.value = 4;  // buffers of other sizes
  CHECK(Changed(c) == Status::kBufferSize);
  // An unknown method.
  c = {static_cast<uint32_t>(rpc::Method::kRun), false, -1, 0, false, -1, 0, 20u << 24, false};
  CHECK(Changed(c) != Status::kOk);
}

// The stub checks everything in a reply.
void TestMalformedReplies() {
  const uint32_t run = static_cast<uint32_t>(rpc::Method::kRun);
  const struct {
    Change change;
    const char* said;
  } all[] = {
      {{run, true, 3, 0, false, 0, -1, 0, false}, "malformed"},         // a negative status
      {{run, true, 3, 0, false, 0, 19, 0, false}, "malformed"},         // a status of the stub
      {{run, true, 3, 0, false, 0, 1 << 30, 0, false}, "malformed"},    // an unknown status
      {{run, true, 4, 0, false, 1, 101, 0, false}, "malformed"},        // more rows than N
      {{run, true, 4, 0, false, 1, -1, 0, false}, "malformed"},         // a negative count
      {{run, true, 4, 0, false, 1, INT64_MAX, 0, false}, "malformed"},  // the largest number
      {{run, true, 4, 0, false, 0, 1 << 20, 0, false}, "malformed"},    // another N
      {{run, true, 3, 0, false, 0, 9, 0, false}, "the process on the DSP is out"},  // of memory
  };
  for (const auto& c : all) {
    const Status s = Changed(c.change);
    CHECK(s == (c.change.value == 9 ? Status::kDeviceMemory : Status::kDeviceFailed));
    CHECK(said.find(c.said) != std::string::npos);
  }
  // Another version of the interface, or of the runtime.
  Change c = {static_cast<uint32_t>(rpc::Method::kIdentify), true, 1, 0, false, 0, 2, 0, false};
  CHECK(Changed(c) == Status::kForeignSkeleton);
  c.value = int64_t{2} << 32 | 1;
  CHECK(Changed(c) == Status::kForeignSkeleton);
  c = {static_cast<uint32_t>(rpc::Method::kIdentify),
       true,
       1,
       0,
       false,
       1,
       7,
       0,
       false};  // 7 inputs
  CHECK(Changed(c) == Status::kForeignSkeleton);
  // A text without a final zero.
  c = {static_cast<uint32_t>(rpc::Method::kExplain), true, 2, 0, false, 127, -1, 0, false};
  Changed(c);
}

void TestOptions() {
  rules_dnn::Model* model = nullptr;
  for (const int32_t bad : {-1, 2}) {
    rules_dnn::RemoteOptions o = Options();
    o.fallback = bad;
    CHECK(Create(o, &model) == Status::kBadOptions);
    o.fallback = 0;
    o.signed_process = bad;
    CHECK(Create(o, &model) == Status::kBadOptions);
  }
  rules_dnn::RemoteOptions o = Options();
  o.host.size = sizeof(rules_dnn::Options);  // the size of another kind of model
  o.host.workers = 2;
  CHECK(Scenario(o) == Status::kOk);
  o.host.workers = 2000;
  CHECK(Scenario(o) == Status::kThreads);
  o = Options();
  o.library = "libnone.so";
  o.message_bytes = 5;  // text beyond the capacity is dropped
  CHECK(Scenario(o) == Status::kNoSkeleton && strcmp(message, "remo") == 0);
  rules_dnn::Description here = kDescription;
  here.remote = nullptr;
  CHECK(rules_dnn::ModelCreate(&here, &o.host, &model) == Status::kBadOptions);
  Clean();
}

void* Loop(void* context) {
  for (int64_t i = 0; i < 200; ++i) {
    std::vector<float> x(40), z(40);
    std::vector<int64_t> at(10);
    for (size_t k = 0; k < 40; ++k) x[k] = static_cast<float>(k);
    const void* in[] = {x.data()};
    void* out[] = {z.data(), at.data()};
    const int64_t n = 10;
    if (rules_dnn::Run(static_cast<rules_dnn::Context*>(context), &n, in, out) != Status::kOk ||
        z[39] != 79) {
      return context;
    }
  }
  return nullptr;
}

// Two threads with a context each, and a thousand models.
void TestMany() {
  {
    Pair a, b;
    pthread_t one, two;
    CHECK(pthread_create(&one, nullptr, Loop, a.context) == 0);
    CHECK(pthread_create(&two, nullptr, Loop, b.context) == 0);
    void *first = nullptr, *second = nullptr;
    pthread_join(one, &first);
    pthread_join(two, &second);
    CHECK(first == nullptr && second == nullptr);
  }
  for (int i = 0; i < 1000; ++i) CHECK(Scenario(Options()) == Status::kOk);
  Clean();
}

void FindFake() {
  void* const library = dlopen("libcdsprpc.so", RTLD_NOW | RTLD_LOCAL);
  CHECK(library != nullptr);
  Look(library, "fake_fail", &fail);
  Look(library, "fake_count", &count);
  Look(library, "fake_alive", &alive);
  Look(library, "fake_memory", &memory);
  Look(library, "fake_tamper", &tamper);
}

}  // namespace

// all | emulated: all tests, and the DSP is a separate process | old: with a library without rpcmem
// | none WORDS: without a library
int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "none") {
    CHECK(Scenario(Options()) == Status::kNoDsp);
    CHECK(strstr(message, argv[2]) != nullptr);
    TestFallback();
    puts("all checks passed");
    return 0;
  }
  FindFake();
  TestFallback();
  TestRefuses();
  TestDies();
  TestSessions();
  TestMany();
  if (what == "emulated") TestCrashes();
  if (what == "all" || what == "emulated") {
    TestFailures();
    TestChoice();
    TestShared();
    TestMalformedCalls();
    TestMalformedReplies();
    TestOptions();
  }
  Clean();
  puts("all checks passed");
  return 0;
}
