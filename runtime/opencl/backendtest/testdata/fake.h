// Shared parts of the fake OpenCL library: its objects, and the call that has to fail.
#ifndef RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_FAKE_H_
#define RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_FAKE_H_

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/opencl/loader.h"

namespace cl = rules_dnn::opencl;

// A launch with its arguments.
struct Launched {
  void* kernel;
  std::vector<std::vector<uint8_t>> args;
  size_t items, group;
};

struct Object {
  char kind;
  int references;
  std::vector<uint8_t> bytes;
  std::vector<std::vector<uint8_t>> args;
  void* of = nullptr;  // the context of a queue or of memory
  bool image = false, clocks = false;
  bool built = false;
  std::vector<Launched> launches = {};       // recorded launches of a command buffer
  bool finalized = false, overlaps = false;  // of a command buffer
  bool running = false;                      // started, and its queue has not been waited for since
};

inline std::set<Object*> alive;
inline std::map<std::string, int> calls;
inline std::string failing;
inline int nth = 0;
inline cl::Int failure = 0;

// Counts a call and returns its code.
inline cl::Int Call(const char* name) {
  const int n = ++calls[name];
  return name == failing && (n == nth || nth == 0) ? failure : 0;
}

template <class T>
T Make(char kind, cl::Int code, cl::Int* out) {
  if (out != nullptr) *out = code;
  if (code != 0) return nullptr;
  Object* const o = new Object{kind, 1, {}, {}};
  alive.insert(o);
  return reinterpret_cast<T>(o);
}

template <class T>
Object* Get(T x, char kind) {
  Object* const o = reinterpret_cast<Object*>(x);
  if (alive.count(o) == 0 || o->kind != kind) abort();
  return o;
}

// Reports whether a command buffer still uses an object.
inline bool Recorded(const Object* o) {
  for (const Object* b : alive) {
    if (b->kind == 'b' && b->of == o) return true;
    for (const Launched& l : b->launches) {
      if (l.kernel == o) return true;
      for (const std::vector<uint8_t>& a : l.args) {
        if (a.size() == sizeof(o) && memcmp(a.data(), &o, sizeof(o)) == 0) return true;
      }
    }
  }
  return false;
}

template <class T>
cl::Int Drop(T x, char kind) {
  Object* const o = Get(x, kind);
  if (--o->references == 0) {
    alive.erase(o);
    if (Recorded(o)) abort();
    delete o;
  }
  return 0;
}

inline cl::Int Give(const void* from, size_t n, size_t capacity, void* to, size_t* size) {
  if (size != nullptr) *size = n;
  if (to == nullptr) return 0;
  if (capacity < n) return -30;
  memcpy(to, from, n);
  return 0;
}

inline std::string Env(const char* name, const char* otherwise) {
  const char* s = getenv(name);
  return s == nullptr ? otherwise : s;
}

// Sleeps for the microseconds that an environment variable states.
inline void Dawdle(const char* name) {
  usleep(static_cast<useconds_t>(atoi(Env(name, "0").c_str())));
}

// Runs a kernel; returns an error code if the launch is not valid.
cl::Int Compute(const Launched& l);

// Ends all commands of a queue.
inline void Wait(const void* queue) {
  for (Object* o : alive) {
    if (o->kind == 'b' && o->of == queue) o->running = false;
  }
}

// RecordingInfo answers a device's queries about command buffers. RecordingFunction returns a
// function for them; null if its name is unknown.
bool RecordingInfo(cl::Uint what, size_t capacity, void* to, size_t* size, cl::Int* code);
void* RecordingFunction(const std::string& name);

#endif  // RULES_DNN_RUNTIME_OPENCL_BACKENDTEST_FAKE_H_
