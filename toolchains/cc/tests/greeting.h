// A library in C and C++ for tests of toolchains.
#pragma once

#include <string>

extern "C" int twice(int n);

// Returns the processor that greeting.cc was compiled for.
std::string processor();
