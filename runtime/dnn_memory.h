// Memory that runs go through.
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

// What large pages have on x86-64, and on 64-bit ARM with pages of 4 KB.
constexpr size_t kLargePage = size_t{2} << 20;

// As posix_memalign; FreeMemory() releases it, null where there is none. What fills large pages
// lies in such if the system gives them to who asks: a run goes through arena and weights from one
// end to the other, and a processor finds as much through one entry of its TLB as else through 512.
// The last page is a large one where more than half of it is asked for.
inline void* AllocateMemory(size_t bytes, size_t alignment) {
  void* memory = nullptr;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes > kLargePage / 2 && bytes <= SIZE_MAX / 2) {
    const size_t large = (bytes + kLargePage / 2 - 1) / kLargePage * kLargePage;
    const size_t all = large > bytes ? large : bytes;
    const size_t at = alignment > kLargePage ? alignment : kLargePage;
    if (posix_memalign(&memory, at, all) != 0) return nullptr;
    (void)madvise(memory, large, MADV_HUGEPAGE);  // an advice: small pages do, too
    return memory;
  }
#endif
#ifdef RULES_DNN_BARE
  // What malloc gave stands before the memory.
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
