#include "runtime/fastrpc/memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/dnn_memory.h"
#include "runtime/fastrpc/wire.h"
#include "runtime/fastrpc/words.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {
namespace {

// An allocation that the application holds.
struct Piece {
  Piece* next;
  void* memory;
  size_t bytes;
  void (*release)(void*);  // rpcmem_free; null: FreeMemory
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Piece* pieces = nullptr;

}  // namespace

Status TakeShared(const Api& api, uint64_t bytes, void** memory, Words* words) {
  *memory = nullptr;
  if (bytes > INT32_MAX) {
    return Failed(words, Status::kDeviceMemory,
                  "rpcmem_alloc: an allocation must be smaller than 2 GiB");
  }
  void* const taken = api.Allocate(kSystemHeap, kCached, static_cast<int32_t>(bytes));
  if (taken == nullptr) {
    words->Clear();
    words->Add("rpcmem_alloc: no shared memory is left (").Add(static_cast<int64_t>(bytes));
    words->Add(" bytes)");
    return Status::kDeviceMemory;
  }
  if (api.ToFile(taken) < 0) {  // the driver would silently copy it
    api.Free(taken);
    return Failed(words, Status::kDeviceMemory,
                  "rpcmem_to_fd: the driver does not know the memory");
  }
  *memory = taken;
  return Status::kOk;
}

Status AllocateOwn(const Api* api, size_t bytes, void** memory) {
  const bool shared = api != nullptr && api->shares();
  const size_t some = bytes > 0 ? bytes : 1;
  Piece* const piece = static_cast<Piece*>(malloc(sizeof(Piece)));
  if (piece == nullptr) return Status::kOutOfMemory;
  Words words(nullptr, 0);
  Status status = Status::kOk;
  if (shared) {
    status = TakeShared(*api, some, memory, &words);
  } else {
    *memory = AllocateMemory(some, kAlignment);
    if (*memory == nullptr) status = Status::kOutOfMemory;
  }
  if (status != Status::kOk) {
    free(piece);
    return status;
  }
  pthread_mutex_lock(&lock);
  *piece = {pieces, *memory, some, shared ? api->Free : nullptr};
  pieces = piece;
  pthread_mutex_unlock(&lock);
  return Status::kOk;
}

void ReleaseOwn(void* memory) {
  pthread_mutex_lock(&lock);
  Piece** at = &pieces;
  while (*at != nullptr && (*at)->memory != memory) at = &(*at)->next;
  Piece* const piece = *at;
  if (piece != nullptr) *at = piece->next;
  pthread_mutex_unlock(&lock);
  if (piece == nullptr) return;  // null, or not allocated here
  piece->release != nullptr ? piece->release(memory) : FreeMemory(memory);
  free(piece);
}

bool IsShared(const Api& api, const void* at, size_t bytes) {
  const uintptr_t from = reinterpret_cast<uintptr_t>(at);
  if (!api.shares() || from % kLine != 0) return false;
  bool found = false;
  pthread_mutex_lock(&lock);
  for (const Piece* p = pieces; p != nullptr && !found; p = p->next) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(p->memory);
    found = p->release != nullptr && from >= begin && from - begin <= p->bytes &&
            bytes <= p->bytes - (from - begin);
  }
  pthread_mutex_unlock(&lock);
  return found || api.ToFile(const_cast<void*>(at)) >= 0;
}

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn
