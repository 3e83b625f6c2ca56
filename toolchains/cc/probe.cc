// What a C++ toolchain must be able to build: repository.bzl tries it for each target.
#include <cstdio>
#include <string>

int main() { return std::puts(std::string("ok").c_str()) < 0; }
