// Shared libraries of Hexagon, as far as a skeleton is one.
#ifndef FASTRPCTEST_ELF_H_
#define FASTRPCTEST_ELF_H_

#include <stdint.h>

// Loads a library and finds a function in it; the result is a code of FastRPC's, or 0. Libraries
// stay.
uint32_t elf_load(const char* file, const char* name, void** found);

// How many pieces of memory libraries have taken and not given back.
int32_t elf_pieces(void);

#endif  // FASTRPCTEST_ELF_H_
