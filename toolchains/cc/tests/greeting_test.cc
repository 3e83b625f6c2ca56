// Checks that libraries and exceptions work, and that the processor is the target's.
#include "toolchains/cc/tests/greeting.h"

#include <sys/utsname.h>

#include <cstdio>
#include <stdexcept>
#include <string>

static_assert(__cplusplus >= 202002L, "the target's own -std flag does not come last");

namespace {

bool Throws() {
  try {
    throw std::runtime_error(processor());
  } catch (const std::runtime_error& error) {
    return error.what() == processor();
  }
}

// Returns the kernel's name of the processor. Under emulation, it is the emulated processor.
std::string Machine() {
  utsname name;
  return uname(&name) == 0 ? name.machine : "";
}

}  // namespace

int main() {
  std::printf("compiled for %s, runs on %s\n", processor().c_str(), Machine().c_str());
  return twice(21) == 42 && Throws() && Machine() == processor() ? 0 : 1;
}
