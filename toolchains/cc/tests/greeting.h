// A library in C and C++ to try a toolchain on.
#pragma once

#include <string>

extern "C" int twice(int n);

// The processor for which this was compiled.
std::string processor();
