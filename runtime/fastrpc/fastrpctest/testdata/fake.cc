// A FastRPC library whose DSP is this process: it loads skeletons from the folder FAKE_DSP, copies
// what a call does not share as the driver does, and fails as it is told to.
//
// Its declarations are its own: what the runtime declares is held against them.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

namespace {

struct remote_buf {
  void* pv;
  size_t nLen;
};

union remote_arg {
  remote_buf buf;
  uint32_t h;
  uint64_t h64;
  struct {
    int32_t fd;
    uint32_t offset;
  } dma;
};

using Entry = int (*)(uint64_t, uint32_t, remote_arg*);
using Tamper = void (*)(void* user, bool after, uint32_t* scalars, void* args);

constexpr uint32_t kNoSuchFile = 0x80000445, kUnableToLoad = 0x80000406, kNoSymbol = 0x80000442;
constexpr uint32_t kNoProcess = 39, kReset = 104;

struct Open {
  Entry entry;
  uint64_t far;
  bool gone;  // with its process
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

// The code that this call of a function comes to by what the test asked for.
int Told(const char* function) {
  pthread_mutex_lock(&lock);
  const int n = ++counts[function];
  const int code = fail_function == function && (fail_call == 0 || fail_call == n) ? fail_code : 0;
  pthread_mutex_unlock(&lock);
  return code;
}

// The process on the DSP ends: its memory goes, its handles stay until they are closed.
void Die() {
  for (auto& h : handles) {
    if (h.second.gone) continue;
    remote_arg a;
    a.h64 = h.second.far;
    h.second.entry(0, 1u << 24 | 1 << 4, &a);
    h.second.gone = true;
  }
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
  if (access(file.c_str(), R_OK) != 0) return static_cast<int>(kNoSuchFile);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return static_cast<int>(kUnableToLoad);
  const std::string symbol = text.substr(end + 1, options - end - 1);
  const Entry entry = reinterpret_cast<Entry>(dlsym(library, symbol.c_str()));
  if (entry == nullptr) return static_cast<int>(kNoSymbol);
  uint32_t length = static_cast<uint32_t>(text.size() + 1);
  remote_arg args[3];
  args[0].buf = {&length, sizeof(length)};
  args[1].buf = {const_cast<char*>(uri), length};
  args[2].h64 = 0;
  if (const int code = entry(0, 2 << 16 | 1, args)) return code;
  pthread_mutex_lock(&lock);
  *handle = ++last_handle;
  handles[*handle] = {entry, args[2].h64, false};
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
  if (o.gone) return static_cast<int>(kNoProcess);
  remote_arg a;
  a.h64 = o.far;
  return o.entry(0, 1u << 24 | 1 << 4, &a);
}

int remote_handle64_invoke(uint64_t handle, uint32_t scalars, remote_arg* args) {
  const int told = Told("remote_handle64_invoke");
  pthread_mutex_lock(&lock);
  if (told == static_cast<int>(kReset)) Die();
  const auto found = handles.find(handle);
  Open o = {};
  if (found != handles.end()) o = found->second;
  pthread_mutex_unlock(&lock);
  if (told != 0) return told;
  if (o.entry == nullptr) return 0x2c;
  if (o.gone) return static_cast<int>(kNoProcess);
  std::vector<remote_arg> far(args, args + (scalars >> 16 & 255) + (scalars >> 8 & 255));
  const size_t in = scalars >> 16 & 255;
  std::vector<void*> copies(far.size(), nullptr);
  for (size_t i = 0; i < far.size(); ++i) {
    remote_buf& b = far[i].buf;
    if (b.nLen == 0 || IsShared(b.pv)) {
      pthread_mutex_lock(&lock);
      if (b.nLen > 0) ++counts["shared"];
      pthread_mutex_unlock(&lock);
      continue;
    }
    posix_memalign(&copies[i], 128, b.nLen);  // of no more bytes than it has
    b.pv = copies[i];
    if (i < in) {
      memcpy(b.pv, args[i].buf.pv, b.nLen);
    } else {
      memset(b.pv, 0xa5, b.nLen);
    }
  }
  uint32_t as = scalars;
  if (tamper != nullptr) tamper(tamper_user, false, &as, far.data());
  const int code = o.entry(o.far, as, far.data());
  if (tamper != nullptr && code == 0) tamper(tamper_user, true, &as, far.data());
  for (size_t i = 0; i < far.size(); ++i) {
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

#ifndef FAKE_OLD  // releases in which rpcmem was a library of its own
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
