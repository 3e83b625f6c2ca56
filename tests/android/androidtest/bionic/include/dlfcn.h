#ifndef BIONIC_DLFCN_H_
#define BIONIC_DLFCN_H_

#ifdef __cplusplus
extern "C" {
#endif

#define RTLD_LOCAL 0
#define RTLD_NOW 2

void* dlopen(const char* file, int flags);
void* dlsym(void* library, const char* name);
int dlclose(void* library);
char* dlerror(void);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_DLFCN_H_
