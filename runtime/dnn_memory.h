// Allocation of the memory that runs stream through.
#ifndef RULES_DNN_RUNTIME_DNN_MEMORY_H_
#define RULES_DNN_RUNTIME_DNN_MEMORY_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/dnn_system.h"
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace rules_dnn {
inline namespace v1 {

// Size of a large page on x86-64, and on 64-bit ARM with 4 KB pages.
constexpr size_t kLargePage = size_t{2} << 20;

// Allocates like posix_memalign; returns null if memory is exhausted. Release with FreeMemory().
// Requests large pages from the system: a run reads arena and weights from end to end, and one TLB
// entry for a large page replaces 512 others. The last page is large if more than half of it is
// used.
inline void* AllocateMemory(size_t bytes, size_t alignment) {
  void* memory = nullptr;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes > kLargePage / 2 && bytes <= SIZE_MAX / 2) {
    const size_t large = (bytes + kLargePage / 2 - 1) / kLargePage * kLargePage;
    const size_t all = large > bytes ? large : bytes;
    const size_t at = alignment > kLargePage ? alignment : kLargePage;
    if (posix_memalign(&memory, at, all) != 0) return nullptr;
    (void)madvise(memory, large, MADV_HUGEPAGE);  // only advice: small pages work, too
    return memory;
  }
#endif
#ifdef RULES_DNN_BARE
  // The pointer that malloc returned is stored before the memory.
  if (bytes > SIZE_MAX / 2) return nullptr;
  void* const whole = malloc(bytes + alignment + sizeof(void*));
  if (whole == nullptr) return nullptr;
  const uintptr_t least = reinterpret_cast<uintptr_t>(whole) + sizeof(void*);
  memory = reinterpret_cast<void*>((least + alignment - 1) / alignment * alignment);
  static_cast<void**>(memory)[-1] = whole;
  return memory;
#else
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
#endif
}

inline void FreeMemory(void* memory) {
#ifdef RULES_DNN_BARE
  if (memory != nullptr) memory = static_cast<void**>(memory)[-1];
#endif
  free(memory);
}

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_MEMORY_H_
