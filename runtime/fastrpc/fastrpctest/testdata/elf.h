// Loads shared libraries of Hexagon, with the features that skeletons need.
#ifndef FASTRPCTEST_ELF_H_
#define FASTRPCTEST_ELF_H_

#include <stdint.h>

// Loads a library and finds a function in it; returns a FastRPC code, or 0. Libraries are never
// unloaded.
uint32_t elf_load(const char* file, const char* name, void** found);

// Returns the number of allocations that libraries hold.
int32_t elf_pieces(void);

#endif  // FASTRPCTEST_ELF_H_
