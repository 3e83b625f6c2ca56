#include "runtime/opencl/words.h"

namespace rules_dnn {
inline namespace v1 {
namespace opencl {
namespace {

struct Code {
  Int code;
  Status status;
  const char* name;
};

// Codes with a more specific status than "the driver failed". Drivers report a fault of the device
// as one of the last codes, and then reject all further commands of its queue.
constexpr Code kCodes[] = {
    {-1, Status::kNoDevice, "CL_DEVICE_NOT_FOUND"},
    {-3, Status::kUnsupportedDevice, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, Status::kDeviceMemory, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, Status::kDeviceResources, "CL_OUT_OF_RESOURCES"},
    {-6, Status::kOutOfMemory, "CL_OUT_OF_HOST_MEMORY"},
    {-10, Status::kUnsupportedDevice, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    {-11, Status::kBuildFailed, "CL_BUILD_PROGRAM_FAILURE"},
    {-38, Status::kDeviceFailed, "CL_INVALID_MEM_OBJECT"},
    {-40, Status::kDeviceMemory, "CL_INVALID_IMAGE_SIZE"},
    {-42, Status::kBuildFailed, "CL_INVALID_BINARY"},
    {-43, Status::kBuildFailed, "CL_INVALID_BUILD_OPTIONS"},
    {-45, Status::kBuildFailed, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, Status::kBuildFailed, "CL_INVALID_KERNEL_NAME"},
    {-54, Status::kDeviceResources, "CL_INVALID_WORK_GROUP_SIZE"},
    {-57, Status::kDeviceFailed, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, Status::kDeviceFailed, "CL_INVALID_EVENT"},
    {-61, Status::kDeviceMemory, "CL_INVALID_BUFFER_SIZE"},
    {-1001, Status::kNoDevice, "CL_PLATFORM_NOT_FOUND_KHR"},
    {-2, Status::kDeviceLost, "CL_DEVICE_NOT_AVAILABLE"},
    {-14, Status::kDeviceLost, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-34, Status::kDeviceLost, "CL_INVALID_CONTEXT"},
    {-36, Status::kDeviceLost, "CL_INVALID_COMMAND_QUEUE"},
    {-9999, Status::kDeviceLost, "a kernel read or wrote memory that is not its own"},
};

}  // namespace

Status Failed(Words* words, const char* function, Int code) {
  Code found = {code, Status::kDeviceFailed, "error"};
  for (const Code& c : kCodes) {
    if (c.code == code) found = c;
  }
  words->Clear();
  words->Add(function).Add(": ").Add(found.name).Add(" (").Add(int64_t{code}).Add(")");
  return found.status;
}

Status Failed(Words* words, Status status, const char* sentence) {
  words->Clear();
  words->Add(sentence);
  return status;
}

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn
