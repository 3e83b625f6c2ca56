#include "runtime/opencl/loader.h"

#include <dlfcn.h>

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

namespace {

// Where systems keep it: Linux by its soname, Android without a version and partly by path only.
constexpr const char* kLibraries[] = {
    "libOpenCL.so.1",
    "libOpenCL.so",
    "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/vendor/lib/libOpenCL.so",
};

void* Open() {
  for (const char* name : kLibraries) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class Function>
bool Find(void* library, const char* name, Function** out) {
  void* symbol = dlsym(library, name);
  *out = reinterpret_cast<Function*>(symbol);
  return symbol != nullptr;
}

}  // namespace

bool Load(Api* api, const char** error) {
  void* library = Open();
  if (library == nullptr) {
    *error = "no OpenCL library on this machine (libOpenCL.so.1)";
    return false;
  }
#define RULES_DNN_OPENCL_FIND(name, result, params)         \
  if (!Find(library, "cl" #name, &api->name)) {             \
    *error = "the OpenCL library has no function cl" #name; \
    return false;                                           \
  }
  RULES_DNN_OPENCL_FUNCTIONS(RULES_DNN_OPENCL_FIND)
#undef RULES_DNN_OPENCL_FIND
  return true;
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
