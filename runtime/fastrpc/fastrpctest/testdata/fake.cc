// A fake FastRPC library; its DSP is that of near.cc or emulated.cc, which loads skeletons from the
// folder FAKE_DSP. It copies buffers that a call does not share, like the driver, and fails on
// demand.
#include "fake.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <string>
#include <vector>

namespace {

using Tamper = void (*)(void* user, bool after, uint32_t* scalars, void* args);

constexpr int kNoProcess = 39;

struct Open {
  int library;
  uint64_t far;
  bool gone;  // the process has ended
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
std::map<uint64_t, Open> handles;
uint64_t last_handle = 0;
std::map<uint8_t*, size_t> shared;
std::map<std::string, int> counts;
std::string fail_function;
int fail_call = 0;
int fail_code = 0;
Tamper tamper = nullptr;
void* tamper_user = nullptr;

// Counts a call and returns the code that the test requested for it.
int Told(const char* function) {
  pthread_mutex_lock(&lock);
  const int n = ++counts[function];
  const int code = fail_function == function && (fail_call == 0 || fail_call == n) ? fail_code : 0;
  pthread_mutex_unlock(&lock);
  return code;
}

// Ends the process on the DSP: its memory is freed, and its handles remain until they are closed.
void Gone() {
  for (auto& h : handles) h.second.gone = true;
}
void Die() {
  for (auto& h : handles) {
    if (!h.second.gone) dsp::Forget(h.second.library, h.second.far);
  }
  dsp::Die();
  Gone();
}

bool IsShared(void* at) {
  const auto p = static_cast<uint8_t*>(at);
  pthread_mutex_lock(&lock);
  bool found = false;
  for (const auto& s : shared) found = found || (p >= s.first && p < s.first + s.second);
  pthread_mutex_unlock(&lock);
  return found;
}

}  // namespace

extern "C" {

void fake_fail(const char* function, int call, int code) {
  counts.clear();
  fail_function = function;
  fail_call = call;
  fail_code = code;
}

int fake_count(const char* what) { return counts[what]; }

int fake_alive() { return static_cast<int>(handles.size() + shared.size()); }

int fake_memory() { return dsp::Alive(); }

void fake_tamper(Tamper with, void* user) {
  tamper = with;
  tamper_user = user;
}

int remote_handle64_open(const char* uri, uint64_t* handle) {
  if (const int code = Told("remote_handle64_open")) return code;
  const std::string text = uri;
  const size_t name = strlen("file:///"), end = text.find('?'), options = text.find('&');
  if (text.compare(0, name, "file:///") != 0 || end == std::string::npos ||
      text.substr(options) != "&_modver=1.0&_dom=cdsp") {
    return 0x39;
  }
  std::string file = text.substr(name, end - name);
  if (file[0] != '/') file = std::string(getenv("FAKE_DSP")) + "/" + file;
  int library = 0;
  if (const int code = dsp::Load(file, text.substr(end + 1, options - end - 1), &library)) {
    return code;
  }
  uint32_t length = static_cast<uint32_t>(text.size() + 1);
  dsp::Call open = {0, 2 << 16 | 1, {{}, {}, {}}, {sizeof(length), length, 0}};
  open.args[0].buf = {&length, sizeof(length)};
  open.args[1].buf = {const_cast<char*>(uri), length};
  if (const int code = dsp::Invoke(library, &open)) return code;
  pthread_mutex_lock(&lock);
  *handle = ++last_handle;
  handles[*handle] = {library, open.args[2].h64, false};
  pthread_mutex_unlock(&lock);
  return 0;
}

int remote_handle64_close(uint64_t handle) {
  Told("remote_handle64_close");
  pthread_mutex_lock(&lock);
  const auto found = handles.find(handle);
  const bool known = found != handles.end();
  Open o = {};
  if (known) o = found->second;
  if (known) handles.erase(found);
  pthread_mutex_unlock(&lock);
  if (!known) return 0x2c;
  if (o.gone) return kNoProcess;
  dsp::Call close = {0, 1u << 24 | 1 << 4, {{}}, {0}};
  close.args[0].h64 = o.far;
  return dsp::Invoke(o.library, &close);
}

int remote_handle64_invoke(uint64_t handle, uint32_t scalars, remote_arg* args) {
  const int told = Told("remote_handle64_invoke");
  pthread_mutex_lock(&lock);
  if (told == dsp::kReset) Die();
  const auto found = handles.find(handle);
  const bool known = found != handles.end();
  Open o = {};
  if (known) o = found->second;
  pthread_mutex_unlock(&lock);
  if (told != 0) return told;
  if (!known) return 0x2c;
  if (o.gone) return kNoProcess;
  const size_t in = scalars >> 16 & 255, all = in + (scalars >> 8 & 255);
  dsp::Call call = {o.far, scalars, {args, args + all}, std::vector<size_t>(all)};
  std::vector<void*> copies(all, nullptr);
  for (size_t i = 0; i < all; ++i) {
    remote_buf& b = call.args[i].buf;
    call.room[i] = b.nLen;
    if (b.nLen == 0 || IsShared(b.pv)) {
      pthread_mutex_lock(&lock);
      if (b.nLen > 0) ++counts["shared"];
      pthread_mutex_unlock(&lock);
      continue;
    }
    posix_memalign(&copies[i], 128, b.nLen);  // exactly its size, so that overruns are detected
    b.pv = copies[i];
    if (i < in) {
      memcpy(b.pv, args[i].buf.pv, b.nLen);
    } else {
      memset(b.pv, 0xa5, b.nLen);
    }
  }
  if (tamper != nullptr) tamper(tamper_user, false, &call.scalars, call.args.data());
  const int code = dsp::Invoke(o.library, &call);
  if (code == dsp::kReset) {
    pthread_mutex_lock(&lock);
    Gone();
    pthread_mutex_unlock(&lock);
  }
  if (tamper != nullptr && code == 0) tamper(tamper_user, true, &call.scalars, call.args.data());
  for (size_t i = 0; i < all; ++i) {
    if (i >= in && copies[i] != nullptr && code == 0) {
      memcpy(args[i].buf.pv, copies[i], args[i].buf.nLen);
    }
    free(copies[i]);
  }
  return code;
}

int remote_session_control(uint32_t request, void* data, uint32_t bytes) {
  const int* const ask = static_cast<int*>(data);
  if (request == 2 && bytes == 8 && ask[0] == 3 && ask[1] == 1) ++counts["unsigned"];
  if (request == 1 && bytes == 12 && ask[0] == 3 && ask[1] == -1 && ask[2] >= 64 << 10) {
    ++counts["stacks"];
  }
  return Told("remote_session_control");
}

int remote_handle_control(uint32_t request, void* data, uint32_t bytes) {
  if (const int code = Told("remote_handle_control")) return code;
  uint32_t* const ask = static_cast<uint32_t*>(data);
  if (request != 2 || bytes != 12 || ask[0] != 3 || ask[1] != 6) return 0x14;
  const char* const version = getenv("FAKE_VERSION");
  ask[2] =
      0x8c00 | static_cast<uint32_t>(strtoul(version == nullptr ? "68" : version, nullptr, 16));
  return 0;
}

#ifndef FAKE_OLD  // older releases, in which rpcmem was a separate library
void* rpcmem_alloc(int heap, uint32_t flags, int size) {
  if (Told("rpcmem_alloc") != 0 || heap != 25 || flags != 1 || size <= 0) return nullptr;
  void* p = nullptr;
  if (posix_memalign(&p, 4096, static_cast<size_t>(size)) != 0) return nullptr;
  pthread_mutex_lock(&lock);
  shared[static_cast<uint8_t*>(p)] = static_cast<size_t>(size);
  pthread_mutex_unlock(&lock);
  return p;
}

void rpcmem_free(void* p) {
  pthread_mutex_lock(&lock);
  const bool known = shared.erase(static_cast<uint8_t*>(p)) == 1;
  pthread_mutex_unlock(&lock);
  if (!known) abort();
  free(p);
}

int rpcmem_to_fd(void* p) {
  if (Told("rpcmem_to_fd") != 0) return -1;
  pthread_mutex_lock(&lock);
  const bool known = shared.count(static_cast<uint8_t*>(p)) == 1;
  pthread_mutex_unlock(&lock);
  return known ? 7 : -1;
}
#endif

}  // extern "C"
