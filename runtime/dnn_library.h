// Loads a shared library of the machine at run time, so that the program also starts on machines
// that lack the library.
#ifndef RULES_DNN_RUNTIME_DNN_LIBRARY_H_
#define RULES_DNN_RUNTIME_DNN_LIBRARY_H_

#include <dlfcn.h>
#include <stddef.h>

namespace rules_dnn {
inline namespace v1 {

// Opens the first library that exists and never unloads it; returns null if none exists.
template <size_t N>
void* OpenLibrary(const char* const (&names)[N]) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class Function>
bool FindFunction(void* library, const char* name, Function** out) {
  void* symbol = dlsym(library, name);
  *out = reinterpret_cast<Function*>(symbol);
  return symbol != nullptr;
}

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_LIBRARY_H_
