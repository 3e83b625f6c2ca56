// A shared library of the machine, found when a program runs: a program for machines that may lack
// it links nothing of it.
#ifndef RULES_DNN_RUNTIME_DNN_LIBRARY_H_
#define RULES_DNN_RUNTIME_DNN_LIBRARY_H_

#include <dlfcn.h>
#include <stddef.h>

namespace rules_dnn {
inline namespace v1 {

// The first library that there is, which stays loaded; null: there is none.
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
