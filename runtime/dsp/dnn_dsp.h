// Shared declarations of this folder.
#ifndef RULES_DNN_RUNTIME_DSP_DNN_DSP_H_
#define RULES_DNN_RUNTIME_DSP_DNN_DSP_H_

#include <stddef.h>

// A function that another one of the same name overrides, and that a shared library does not
// export.
#define DNN_DSP_WEAK __attribute__((weak, visibility("hidden")))

void* memcpy(void* to, const void* from, size_t bytes);

#endif  // RULES_DNN_RUNTIME_DSP_DNN_DSP_H_
