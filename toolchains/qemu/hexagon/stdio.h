// The part of stdio.h that programs under the emulator need.
#ifndef RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STDIO_H_
#define RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STDIO_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dnn_qemu_file FILE;  // the pointer is a file descriptor
#define stdin ((FILE*)0)
#define stdout ((FILE*)1)
#define stderr ((FILE*)2)

size_t fread(void* to, size_t size, size_t n, FILE* f);
size_t fwrite(const void* from, size_t size, size_t n, FILE* f);
int fprintf(FILE* f, const char* format, const char* text);  // the format is "%s\n"

#ifdef __cplusplus
}
#endif

#endif  // RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_STDIO_H_
