#include "runtime/dnn_cpu.h"

#include "runtime/dnn_system.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace rules_dnn {
inline namespace v1 {

#if defined(__x86_64__) || defined(__i386__)

namespace {

// AVX-VNNI and AVX512-BF16 are bits of leaf 7, sub-leaf 1, which __builtin_cpu_supports does not
// know in all compilers. The system saves their registers if it saves those of AVX2 and AVX-512.
bool HasMore(int bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> bit & 1) != 0;
}

#if defined(DNN_AMX_PORTABLE)
bool HasAmx(int) { return true; }  // runtime/dnn_amx.h emulates the instructions
#elif defined(__x86_64__) && defined(__linux__)
// A process must request permission to use AMX (Linux, Documentation/arch/x86/xstate.rst), so that
// threads that do not use it need no memory for 8 KiB of registers. A request by one thread holds
// for the whole process.
bool HasAmx(int bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 27 & 1) == 0) return false;  // xgetbv
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d >> 24 & 1) == 0 || (d >> bit & 1) == 0) {
    return false;
  }
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTiles = 3 << 17;  // the tile configuration and the tile data
  if ((low & kTiles) != kTiles) return false;
  constexpr int64_t kArchPrctl = 158, kRequestPermission = 0x1023, kTileData = 18;
  int64_t result;
  __asm__ __volatile__("syscall"
                       : "=a"(result)
                       : "a"(kArchPrctl), "D"(kRequestPermission), "S"(kTileData)
                       : "rcx", "r11", "memory");
  return result == 0;
}
#else
bool HasAmx(int) { return false; }  // no known way to request permission on other systems
#endif

}  // namespace

bool CpuHas(const char* feature) {
#define RULES_DNN_FEATURE(name) \
  if (strcmp(feature, name) == 0) return __builtin_cpu_supports(name) != 0
  __builtin_cpu_init();
  RULES_DNN_FEATURE("sse4.1");
  RULES_DNN_FEATURE("sse4.2");
  RULES_DNN_FEATURE("avx");
  RULES_DNN_FEATURE("avx2");
  RULES_DNN_FEATURE("bmi2");
  RULES_DNN_FEATURE("fma");
  RULES_DNN_FEATURE("avx512f");
  RULES_DNN_FEATURE("avx512bw");
  RULES_DNN_FEATURE("avx512cd");
  RULES_DNN_FEATURE("avx512dq");
  RULES_DNN_FEATURE("avx512vl");
  RULES_DNN_FEATURE("avx512vnni");
#undef RULES_DNN_FEATURE
  if (strcmp(feature, "f16c") == 0) {  // not all compilers know the name; AVX implies its registers
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1);
  }
  if (strcmp(feature, "avxvnni") == 0) return __builtin_cpu_supports("avx2") && HasMore(4);
  if (strcmp(feature, "avx512bf16") == 0) return __builtin_cpu_supports("avx512f") && HasMore(5);
  if (strcmp(feature, "amx_bf16") == 0) return HasAmx(22);
  if (strcmp(feature, "amx_tile") == 0) return HasAmx(24);
  if (strcmp(feature, "amx_int8") == 0) return HasAmx(25);
  return false;
}

#elif defined(__aarch64__) && defined(__linux__)

namespace {

// Bits of Linux's hwcap words, which are part of the kernel's ABI.
struct Feature {
  const char* name;
  unsigned long word;
  int bit;
};

constexpr Feature kFeatures[] = {
    {"asimd", AT_HWCAP, 1},    {"fphp", AT_HWCAP, 9},   {"asimdhp", AT_HWCAP, 10},
    {"asimddp", AT_HWCAP, 20}, {"sve", AT_HWCAP, 22},   {"asimdfhm", AT_HWCAP, 23},
    {"sve2", AT_HWCAP2, 1},    {"i8mm", AT_HWCAP2, 13}, {"bf16", AT_HWCAP2, 14},
};

}  // namespace

bool CpuHas(const char* feature) {
  for (const Feature& f : kFeatures) {
    if (strcmp(feature, f.name) == 0) return (getauxval(f.word) >> f.bit) & 1;
  }
  return false;
}

#elif defined(__aarch64__) && defined(__APPLE__)

namespace {

// Maps Linux's names to Arm's. On a system that does not know a key, sysctlbyname fails.
struct Feature {
  const char* name;
  const char* key;
};

constexpr Feature kFeatures[] = {
    {"asimd", "hw.optional.AdvSIMD"},         {"fphp", "hw.optional.arm.FEAT_FP16"},
    {"asimdhp", "hw.optional.arm.FEAT_FP16"}, {"asimddp", "hw.optional.arm.FEAT_DotProd"},
    {"asimdfhm", "hw.optional.arm.FEAT_FHM"}, {"i8mm", "hw.optional.arm.FEAT_I8MM"},
    {"bf16", "hw.optional.arm.FEAT_BF16"},
};

}  // namespace

bool CpuHas(const char* feature) {
  for (const Feature& f : kFeatures) {
    if (strcmp(feature, f.name) != 0) continue;
    int has = 0;
    size_t size = sizeof(has);
    return sysctlbyname(f.key, &has, &size, nullptr, 0) == 0 && has != 0;
  }
  return false;
}

#else

bool CpuHas(const char* feature) {
  (void)feature;
  return false;
}

#endif

}  // namespace v1
}  // namespace rules_dnn
