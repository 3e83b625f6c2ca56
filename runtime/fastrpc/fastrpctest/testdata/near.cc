// A DSP in this process.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "fake.h"

namespace dsp {
namespace {

using Entry = int (*)(uint64_t, uint32_t, remote_arg*);
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
std::vector<Entry> entries;

}  // namespace

int Load(const std::string& file, const std::string& symbol, int* number) {
  if (access(file.c_str(), R_OK) != 0) return kNoSuchFile;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return kUnableToLoad;
  const Entry entry = reinterpret_cast<Entry>(dlsym(library, symbol.c_str()));
  if (entry == nullptr) return kNoSymbol;
  pthread_mutex_lock(&lock);
  *number = static_cast<int>(entries.size());
  entries.push_back(entry);
  pthread_mutex_unlock(&lock);
  return 0;
}

int Invoke(int library, Call* call) {
  pthread_mutex_lock(&lock);
  const Entry entry = entries[static_cast<size_t>(library)];
  pthread_mutex_unlock(&lock);
  return entry(call->handle, call->scalars, call->args.data());
}

void Forget(int library, uint64_t handle) {
  Call close = {0, 1u << 24 | 1 << 4, {{}}, {0}};
  close.args[0].h64 = handle;
  Invoke(library, &close);
}

void Die() {}

int Alive() { return 0; }

}  // namespace dsp
