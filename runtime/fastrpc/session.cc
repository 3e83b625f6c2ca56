#include "runtime/fastrpc/session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {
namespace {

#define RULES_DNN_TEXT_OF(x) #x
#define RULES_DNN_TEXT(x) RULES_DNN_TEXT_OF(x)

// Stack size of a thread on the DSP.
constexpr int32_t kStackBytes = 128 << 10;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Session* sessions = nullptr;
Api library;
bool loaded = false;

// Converts a version to the DSP's number: 0x68 for "v68", 0 for other texts.
uint32_t Architecture(const char* version) {
  uint32_t value = 0;
  if (*version++ != 'v' || *version == 0) return 0;
  for (; *version != 0; ++version) {
    if (*version < '0' || *version > '9' || value > 0xff) return 0;
    value = value << 4 | static_cast<uint32_t>(*version - '0');
  }
  return value;
}

// Returns the number of the machine's DSP; 0 if it is not known.
uint32_t DspArchitecture(const Api& api) {
  Capability c = {kComputeDsp, kArchitecture, 0};
  if (api.Control == nullptr || api.Control(kDspInfo, &c, sizeof(c)) != kDone) return 0;
  return c.value & 0xff;
}

// Rejects names that would change the meaning of a URI.
bool IsPlain(const char* name) {
  for (; *name != 0; ++name) {
    if (*name <= ' ' || *name == '?' || *name == '&' || *name == '#') return false;
  }
  return true;
}

// Makes the URI of the options' library, or of the model's library for a version.
bool MakeUri(const RemoteInfo& info, const char* file, const char* version, char* uri) {
  Words w(uri, kMostUri);
  size_t length = strlen("file:///?" RULES_DNN_TEXT(RULES_DNN_FASTRPC_ENTRY)) + 64;
  w.Add("file:///");
  if (file != nullptr) {
    length += strlen(file);
    w.Add(file);
  } else {
    length += strlen(info.library) + strlen(version);
    w.Add("lib").Add(info.library).Add("_").Add(version).Add("_skel.so");
  }
  w.Add("?" RULES_DNN_TEXT(RULES_DNN_FASTRPC_ENTRY) "&_modver=1.0&_dom=cdsp");
  return length < kMostUri;
}

// Requests larger stacks for the DSP's threads, in which a skeleton computes. The default of 16 KB
// is hardly enough for the frames of a kernel and the runtime (see clang's -fstack-usage). If the
// request fails, the stacks stay as they are.
void AskForStacks(const Api& api) {
  Threads ask = {kComputeDsp, -1, kStackBytes};
  if (api.Session != nullptr) api.Session(kThreads, &ask, sizeof(ask));
}

// Requests that FastRPC loads unsigned libraries. If that fails, opening the session fails.
void AskForUnsigned(const Api& api) {
  UnsignedModule ask = {kComputeDsp, 1};
  if (api.Session != nullptr) api.Session(kUnsignedModule, &ask, sizeof(ask));
}

Session* FindSession(const char* uri) {
  Session* s = sessions;
  while (s != nullptr && (IsLost(s) || strcmp(s->uri, uri) != 0)) s = s->next;
  return s;
}

// Asks the skeleton for its identity.
Status Identify(Session* s, Words* words) {
  const Hello hello = {kProtocol, 0};
  Arg args[] = {Bytes(&hello, sizeof(hello)), Bytes(&s->identity, sizeof(s->identity))};
  memset(&s->identity, 0, sizeof(s->identity));
  const Status status = Call(s, Method::kIdentify, 1, 1, args, words);
  s->identity.chip[sizeof(s->identity.chip) - 1] = 0;
  return status;
}

// Compares a skeleton with a model.
Status CheckIdentity(const Description* d, const Session& s, Words* words) {
  const Identity& i = s.identity;
  const char* wrong = nullptr;
  if (i.protocol != kProtocol || i.runtime != kRuntimeVersion) {
    wrong = "it uses another version of the runtime's interface";
  } else if (memcmp(i.graph, d->remote->graph_hash, sizeof(i.graph)) != 0) {
    wrong = "it belongs to another network";
  } else if (memcmp(i.weights, d->remote->weights_hash, sizeof(i.weights)) != 0) {
    wrong = "it has other weights";
  } else if (i.inputs != static_cast<uint32_t>(d->input_count) ||
             i.outputs != static_cast<uint32_t>(d->output_count) ||
             i.symbols != static_cast<uint32_t>(d->symbol_count) ||
             i.given != static_cast<uint32_t>(d->given_count)) {
    wrong = "it has other inputs, outputs or symbols";
  }
  if (wrong == nullptr) return Status::kOk;
  words->Clear();
  words->Add(s.uri).Add(": ").Add(wrong).Add(
      "; install the skeleton that was built with the application");
  return Status::kForeignSkeleton;
}

// Opens a session with one reference, which is not in the list yet.
Status OpenSession(const Description* d, const char* uri, Session** session, Words* words) {
  Session* const s = static_cast<Session*>(calloc(1, sizeof(Session)));
  if (s == nullptr) return Status::kOutOfMemory;
  s->api = &library;
  s->references = 1;
  memcpy(s->uri, uri, kMostUri);
  const Code code = library.Open(uri, &s->handle);
  if (code != kDone) {
    const Status status = Failed(words, "remote_handle64_open", code);
    words->Add(": ").Add(uri);
    free(s);
    return status;
  }
  Status status = Identify(s, words);
  if (status == Status::kOk) status = CheckIdentity(d, *s, words);
  if (status != Status::kOk) {
    library.Close(s->handle);
    free(s);
    return status;
  }
  *session = s;
  return Status::kOk;
}

Status FindOrOpen(const Description* d, const char* uri, Session** session, Words* words) {
  Session* const found = FindSession(uri);
  if (found != nullptr) {  // of the same file, but perhaps opened with another model's options
    const Status status = CheckIdentity(d, *found, words);
    if (status != Status::kOk) return status;
    ++found->references;
    *session = found;
    return Status::kOk;
  }
  const Status status = OpenSession(d, uri, session, words);
  if (status != Status::kOk) return status;
  (*session)->next = sessions;
  sessions = *session;
  return Status::kOk;
}

// Returns the next less capable version before index i that a DSP can run; -1 if no version is
// left.
int32_t NextTarget(const RemoteInfo& info, int32_t i, uint32_t dsp) {
  while (--i >= 0 && dsp != 0 && Architecture(info.targets[i]) > dsp) {
  }
  return i;
}

Status AcquireLocked(const Description* d, const RemoteOptions& o, Session** session,
                     Words* words) {
  const char* missing = nullptr;
  if (!loaded && !Load(&library, &missing)) return Failed(words, Status::kNoDsp, missing);
  loaded = true;
  const RemoteInfo& info = *d->remote;
  char uri[kMostUri];
  if (o.library != nullptr &&
      (*o.library == 0 || !IsPlain(o.library) || !MakeUri(info, o.library, nullptr, uri))) {
    return Failed(words, Status::kBadOptions, "library: want the name or path of a file");
  }
  AskForStacks(library);
  if (o.signed_process == 0) AskForUnsigned(library);
  if (o.library != nullptr) return FindOrOpen(d, uri, session, words);
  const uint32_t dsp = DspArchitecture(library);
  Status status = Failed(words, Status::kNoSkeleton,
                         "the DSP is older than all versions that the model has a skeleton for");
  for (int32_t i = NextTarget(info, info.target_count, dsp); i >= 0; i = NextTarget(info, i, dsp)) {
    if (!MakeUri(info, nullptr, info.targets[i], uri)) {
      return Failed(words, Status::kNoSkeleton, "the skeleton's name is too long for a URI");
    }
    status = FindOrOpen(d, uri, session, words);
    if (status != Status::kNoSkeleton) return status;
  }
  return status;
}

}  // namespace

Status Acquire(const Description* d, const RemoteOptions& o, Session** session, Words* words) {
  pthread_mutex_lock(&lock);
  const Status status = AcquireLocked(d, o, session, words);
  pthread_mutex_unlock(&lock);
  if (status == Status::kOk) words->Clear();  // about versions that were not found
  return status;
}

void Release(Session* session) {
  pthread_mutex_lock(&lock);
  if (--session->references == 0) {
    Session** at = &sessions;
    while (*at != session) at = &(*at)->next;
    *at = session->next;
    session->api->Close(session->handle);  // also if the process has ended: FastRPC counts handles
    free(session);
  }
  pthread_mutex_unlock(&lock);
}

Status Call(Session* session, Method method, int32_t in, int32_t out, Arg* args, Words* words) {
  const uint32_t scalars =
      Scalars(static_cast<uint32_t>(method), static_cast<uint32_t>(in), static_cast<uint32_t>(out));
  const Code code = session->api->Invoke(session->handle, scalars, args);
  if (code == kDone) return Status::kOk;
  const Status status = Failed(words, "remote_handle64_invoke", code);
  if (status == Status::kDeviceLost) __atomic_store_n(&session->lost, 1, __ATOMIC_RELEASE);
  return status;
}

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn
