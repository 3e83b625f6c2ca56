// Loads OpenCL at run time, so that a program also starts on machines without it.
//
// The declarations are the part of OpenCL 1.2 that a host of generated kernels needs, in a separate
// namespace. No vendor header is needed, and one may be included, too.
#ifndef RULES_DNN_RUNTIME_OPENCL_LOADER_H_
#define RULES_DNN_RUNTIME_OPENCL_LOADER_H_

#include <stddef.h>
#include <stdint.h>

namespace rules_dnn {
inline namespace v1 {
namespace opencl {

using Int = int32_t;
using Uint = uint32_t;
using Bits = uint64_t;
using Platform = struct PlatformObject*;
using Device = struct DeviceObject*;
using Context = struct ContextObject*;
using Queue = struct QueueObject*;
using Memory = struct MemoryObject*;
using Program = struct ProgramObject*;
using Kernel = struct KernelObject*;
using Event = struct EventObject*;

struct ImageFormat {
  Uint order;
  Uint type;
};

struct ImageDesc {
  Uint type;
  size_t width, height, depth, array_size, row_pitch, slice_pitch;
  Uint mip_levels, samples;
  Memory buffer;
};

// Constants of the specification.
constexpr Int kSuccess = 0;
constexpr Int kInvalidContext = -34, kInvalidMemory = -38, kInvalidWaitList = -57,
              kInvalidEvent = -58;
constexpr Bits kAllDevices = 0xffffffff;
constexpr Bits kGpus = 4;
constexpr Uint kPlatformVersion = 0x0901, kPlatformName = 0x0902;
constexpr Uint kDeviceName = 0x102b, kDeviceVersion = 0x102f, kDeviceExtensions = 0x1030;
constexpr Uint kDriverVersion = 0x102d, kDevicePlatform = 0x1031;
constexpr Uint kDeviceAvailable = 0x1027, kDeviceCompiler = 0x1028;
constexpr Uint kContextDevices = 0x1081;
constexpr Uint kQueueContext = 0x1090, kQueueDevice = 0x1091, kQueueProperties = 0x1093;
constexpr Bits kOutOfOrder = 1, kProfiling = 2;
constexpr Uint kEventStart = 0x1282, kEventEnd = 0x1283;
constexpr Uint kBinarySizes = 0x1165, kBinaries = 0x1166;
constexpr Uint kDeviceImages = 0x1016, kDeviceMaxGroup = 0x1004, kDeviceSingleConfig = 0x101b;
constexpr Uint kDeviceMaxAlloc = 0x1010, kDeviceUnits = 0x1002;
constexpr Uint kDeviceImageWidth = 0x1011, kDeviceImageHeight = 0x1012;
constexpr Bits kCorrectDivide = 1 << 7;
constexpr Uint kBuildLog = 0x1183;
constexpr Uint kKernelArgs = 0x1191;
constexpr Uint kMemoryType = 0x1100, kMemorySize = 0x1102, kMemoryContext = 0x1106;
constexpr Uint kBuffer = 0x10f0;
constexpr Bits kReadWrite = 1, kCopyHost = 32;
constexpr Uint kRgba = 0x10b5, kFloat = 0x10de, kImage2D = 0x10f1;

using Notify = void (*)(const char*, const void*, size_t, void*);
using Built = void (*)(Program, void*);

// The functions, each with its result and parameters; callbacks are not used.
#define RULES_DNN_OPENCL_FUNCTIONS(F)                                                              \
  F(GetPlatformIDs, Int, (Uint, Platform*, Uint*))                                                 \
  F(GetPlatformInfo, Int, (Platform, Uint, size_t, void*, size_t*))                                \
  F(GetExtensionFunctionAddressForPlatform, void*, (Platform, const char*))                        \
  F(GetDeviceIDs, Int, (Platform, Bits, Uint, Device*, Uint*))                                     \
  F(GetDeviceInfo, Int, (Device, Uint, size_t, void*, size_t*))                                    \
  F(CreateContext, Context, (const intptr_t*, Uint, const Device*, Notify, void*, Int*))           \
  F(GetContextInfo, Int, (Context, Uint, size_t, void*, size_t*))                                  \
  F(RetainContext, Int, (Context))                                                                 \
  F(ReleaseContext, Int, (Context))                                                                \
  F(CreateCommandQueue, Queue, (Context, Device, Bits, Int*))                                      \
  F(GetCommandQueueInfo, Int, (Queue, Uint, size_t, void*, size_t*))                               \
  F(RetainCommandQueue, Int, (Queue))                                                              \
  F(ReleaseCommandQueue, Int, (Queue))                                                             \
  F(CreateProgramWithSource, Program, (Context, Uint, const char**, const size_t*, Int*))          \
  F(CreateProgramWithBinary, Program,                                                              \
    (Context, Uint, const Device*, const size_t*, const uint8_t**, Int*, Int*))                    \
  F(GetProgramInfo, Int, (Program, Uint, size_t, void*, size_t*))                                  \
  F(BuildProgram, Int, (Program, Uint, const Device*, const char*, Built, void*))                  \
  F(GetProgramBuildInfo, Int, (Program, Device, Uint, size_t, void*, size_t*))                     \
  F(ReleaseProgram, Int, (Program))                                                                \
  F(CreateKernel, Kernel, (Program, const char*, Int*))                                            \
  F(GetKernelInfo, Int, (Kernel, Uint, size_t, void*, size_t*))                                    \
  F(SetKernelArg, Int, (Kernel, Uint, size_t, const void*))                                        \
  F(ReleaseKernel, Int, (Kernel))                                                                  \
  F(CreateBuffer, Memory, (Context, Bits, size_t, void*, Int*))                                    \
  F(CreateImage, Memory, (Context, Bits, const ImageFormat*, const ImageDesc*, void*, Int*))       \
  F(GetMemObjectInfo, Int, (Memory, Uint, size_t, void*, size_t*))                                 \
  F(ReleaseMemObject, Int, (Memory))                                                               \
  F(GetEventProfilingInfo, Int, (Event, Uint, size_t, void*, size_t*))                             \
  F(ReleaseEvent, Int, (Event))                                                                    \
  F(EnqueueReadBuffer, Int,                                                                        \
    (Queue, Memory, Uint, size_t, size_t, void*, Uint, const Event*, Event*))                      \
  F(EnqueueWriteBuffer, Int,                                                                       \
    (Queue, Memory, Uint, size_t, size_t, const void*, Uint, const Event*, Event*))                \
  F(EnqueueCopyBuffer, Int,                                                                        \
    (Queue, Memory, Memory, size_t, size_t, size_t, Uint, const Event*, Event*))                   \
  F(EnqueueBarrierWithWaitList, Int, (Queue, Uint, const Event*, Event*))                          \
  F(EnqueueMarkerWithWaitList, Int, (Queue, Uint, const Event*, Event*))                           \
  F(EnqueueReadImage, Int,                                                                         \
    (Queue, Memory, Uint, const size_t*, const size_t*, size_t, size_t, void*, Uint, const Event*, \
     Event*))                                                                                      \
  F(EnqueueNDRangeKernel, Int,                                                                     \
    (Queue, Kernel, Uint, const size_t*, const size_t*, const size_t*, Uint, const Event*,         \
     Event*))                                                                                      \
  F(Flush, Int, (Queue))                                                                           \
  F(Finish, Int, (Queue))

struct Api {
#define RULES_DNN_OPENCL_MEMBER(name, result, params) result(*name) params;
  RULES_DNN_OPENCL_FUNCTIONS(RULES_DNN_OPENCL_MEMBER)
#undef RULES_DNN_OPENCL_MEMBER
};

// Fills api from the machine's OpenCL library, which stays loaded. If it fails, returns false and
// sets *error to a description of what is missing.
bool Load(Api* api, const char** error);

}  // namespace opencl
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_OPENCL_LOADER_H_
