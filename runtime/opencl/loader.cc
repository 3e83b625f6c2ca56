#include "runtime/opencl/loader.h"

#include "runtime/dnn_library.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

namespace {

// Library names of systems: Linux uses the soname; Android has no version and sometimes requires a
// path.
constexpr const char* kLibraries[] = {
    "libOpenCL.so.1",
    "libOpenCL.so",
    "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/vendor/lib/libOpenCL.so",
};

}  // namespace

bool Load(Api* api, const char** error) {
  void* library = OpenLibrary(kLibraries);
  if (library == nullptr) {
    *error = "no OpenCL library on this machine (libOpenCL.so.1)";
    return false;
  }
#define RULES_DNN_OPENCL_FIND(name, result, params)         \
  if (!FindFunction(library, "cl" #name, &api->name)) {     \
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
