#include "runtime/fastrpc/far.h"

#include "runtime/dnn_memory.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {
namespace {

// A spin lock for short accesses to the lists; a DSP's C library may lack mutexes.
class Lock {
 public:
  Lock() {
    while (__atomic_exchange_n(&taken_, 1, __ATOMIC_ACQUIRE) != 0) {
    }
  }
  ~Lock() { __atomic_store_n(&taken_, 0, __ATOMIC_RELEASE); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  static int32_t taken_;
};
int32_t Lock::taken_ = 0;

FarSession* sessions = nullptr;
Handle last_handle = 0;

FarSession* Find(Handle handle) {
  FarSession* s = sessions;
  while (s != nullptr && s->handle != handle) s = s->next;
  return s;
}

}  // namespace

FarSession* NewSession() {
  FarSession* const s = static_cast<FarSession*>(malloc(sizeof(FarSession)));
  if (s == nullptr) return nullptr;
  const Lock lock;
  *s = {sessions, ++last_handle, 0, nullptr};
  sessions = s;
  return s;
}

FarSession* Remove(Handle handle) {
  const Lock lock;
  FarSession** at = &sessions;
  while (*at != nullptr && (*at)->handle != handle) at = &(*at)->next;
  FarSession* const s = *at;
  if (s == nullptr) return nullptr;
  for (const FarContext* c = s->contexts; c != nullptr; c = c->next) {
    if (c->busy) return nullptr;
  }
  *at = s->next;
  return s;
}

bool Add(Handle handle, FarContext* c) {
  const Lock lock;
  FarSession* const s = Find(handle);
  if (s == nullptr) return false;
  c->number = ++s->last;
  c->next = s->contexts;
  s->contexts = c;
  return true;
}

FarContext* Borrow(Handle handle, uint64_t number) {
  const Lock lock;
  const FarSession* const s = Find(handle);
  FarContext* c = s == nullptr ? nullptr : s->contexts;
  while (c != nullptr && c->number != number) c = c->next;
  if (c == nullptr || c->busy) return nullptr;
  c->busy = true;
  return c;
}

void GiveBack(FarContext* c) {
  const Lock lock;
  c->busy = false;
}

void Destroy(FarContext* c) {
  ContextDestroy(c->context);
  free(c);
}

void Take(Handle handle, const FarContext* c) {
  const Lock lock;
  FarContext** at = &Find(handle)->contexts;
  while (*at != c) at = &(*at)->next;
  *at = c->next;
}

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn
