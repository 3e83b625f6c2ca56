// What the sources of this folder share.
#ifndef RULES_DNN_RUNTIME_DSP_DNN_DSP_H_
#define RULES_DNN_RUNTIME_DSP_DNN_DSP_H_

#include <stddef.h>

// A function that gives way to another one of its name, and that a shared library does not show.
#define DNN_DSP_WEAK __attribute__((weak, visibility("hidden")))

void* memcpy(void* to, const void* from, size_t bytes);

#endif  // RULES_DNN_RUNTIME_DSP_DNN_DSP_H_
