#include "runtime/fastrpc/loader.h"

#include <string.h>

#include "runtime/dnn_library.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {
namespace {

// Library names of systems. An application for Android 12 or later must also declare the library in
// its manifest (uses-native-library), otherwise the system hides it.
constexpr const char* kLibraries[] = {
    "libcdsprpc.so",
    "libcdsprpc.so.1",
    "/vendor/lib64/libcdsprpc.so",
    "/system/vendor/lib64/libcdsprpc.so",
    "/vendor/lib/libcdsprpc.so",
};

}  // namespace

bool Load(Api* api, const char** error) {
  memset(api, 0, sizeof(*api));
  void* library = OpenLibrary(kLibraries);
  if (library == nullptr) {
    *error = "no FastRPC library on this machine (libcdsprpc.so)";
    return false;
  }
#define RULES_DNN_FASTRPC_FIND(member, name, result, params) \
  if (!FindFunction(library, #name, &api->member)) {         \
    *error = "the FastRPC library has no function " #name;   \
    return false;                                            \
  }
  RULES_DNN_FASTRPC_FUNCTIONS(RULES_DNN_FASTRPC_FIND)
#undef RULES_DNN_FASTRPC_FIND
#define RULES_DNN_FASTRPC_LOOK(member, name, result, params) \
  FindFunction(library, #name, &api->member);
  RULES_DNN_FASTRPC_OPTIONAL(RULES_DNN_FASTRPC_LOOK)
#undef RULES_DNN_FASTRPC_LOOK
  return true;
}

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn
