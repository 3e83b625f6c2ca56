#include "toolchains/cc/tests/greeting.h"

std::string processor() {
#if defined(__aarch64__)
  return "aarch64";
#elif defined(__x86_64__)
  return "x86_64";
#else
#error "no toolchain is for this processor"
#endif
}
