// A minimal C++ program. repository.bzl builds it for each target to test the toolchain.
#include <cstdio>
#include <string>

int main() { return std::puts(std::string("ok").c_str()) < 0; }
