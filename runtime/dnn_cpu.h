// Detects processor features beyond the architecture's baseline.
#ifndef RULES_DNN_RUNTIME_DNN_CPU_H_
#define RULES_DNN_RUNTIME_DNN_CPU_H_

#include <stdint.h>

namespace rules_dnn {
inline namespace v1 {

// Reports whether the processor has a feature. It accepts the names of the Linux kernel and of the
// compiler: avx2 fma avx512f ... on x86, asimddp i8mm ... on arm64. For an unknown name it returns
// false.
bool CpuHas(const char* feature);

inline bool CpuHasAll(const char* const* features, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (!CpuHas(features[i])) return false;
  }
  return true;
}

// While an object exists with wanted == true, the thread's floating-point arithmetic treats
// denormal operands and results as zeros: on many processors they cost a hundred cycles each.
// Denormal f16 numbers keep their values, since they are normal as float.
class DenormalsAsZero {
 public:
  explicit DenormalsAsZero(bool wanted) : before_(Read()) {
    if (wanted) Write(before_ | kMode);
  }
  ~DenormalsAsZero() { Write(before_); }
  DenormalsAsZero(const DenormalsAsZero&) = delete;
  DenormalsAsZero& operator=(const DenormalsAsZero&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kMode = 0x8040;  // flush to zero, denormals are zeros
  static uint64_t Read() { return __builtin_ia32_stmxcsr(); }
  static void Write(uint64_t mode) { __builtin_ia32_ldmxcsr(static_cast<uint32_t>(mode)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kMode = uint64_t{1} << 24;  // FZ
  static uint64_t Read() {
    uint64_t mode;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void Write(uint64_t mode) { __asm__ __volatile__("msr fpcr, %0" : : "r"(mode)); }
#else
  static constexpr uint64_t kMode = 0;
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
#endif

  const uint64_t before_;
};

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_CPU_H_
