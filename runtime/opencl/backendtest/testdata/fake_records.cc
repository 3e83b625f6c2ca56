// The fake library's cl_khr_command_buffer. $FAKE_RECORDS is the version that devices list,
// $FAKE_CAN and $FAKE_WANTS are capabilities and required queue properties of command buffers, and
// $FAKE_WITHOUT is a missing function.
#include <stdio.h>

#include "fake.h"
#include "runtime/opencl/recorder.h"

namespace {

using Record = cl::CommandBuffer;

struct Listed {
  cl::Uint version;
  char name[64];
};

cl::Uint Version() {
  unsigned major = 0, minor = 0, last = 0;
  sscanf(Env("FAKE_RECORDS", "").c_str(), "%u.%u.%u", &major, &minor, &last);
  return major << 22 | minor << 12 | last;
}

}  // namespace

extern "C" {

Record clCreateCommandBufferKHR(cl::Uint n, const cl::Queue* queues, const cl::Bits* properties,
                                cl::Int* code) {
  if (n != 1) abort();
  const bool flagged = properties != nullptr;
  if (flagged && (properties[0] != 0x1293 || properties[1] != 1 || properties[2] != 0)) abort();
  // Devices without this capability, and later versions, do not know the flag.
  const bool knows = (Version() & 0xfff) < 8 && Env("FAKE_CAN", "4") == "4";
  const cl::Int result = Call("clCreateCommandBufferKHR");
  const Record r = Make<Record>('b', flagged && !knows ? -30 : result, code);
  if (r == nullptr) return r;
  Get(r, 'b')->of = Get(queues[0], 'q');
  Get(r, 'b')->overlaps = flagged || (Version() & 0xfff) >= 8;
  return r;
}
cl::Int clReleaseCommandBufferKHR(Record r) {
  Call("clReleaseCommandBufferKHR");
  return Drop(r, 'b');
}
cl::Int clCommandNDRangeKernelKHR(Record r, cl::Queue q, const cl::Bits* properties, cl::Kernel k,
                                  cl::Uint dims, const size_t* offset, const size_t* global,
                                  const size_t* local, cl::Uint points, const cl::Uint*,
                                  cl::Uint* point, void** handle) {
  Object* const o = Get(r, 'b');
  if (q != nullptr || properties != nullptr || dims != 3 || offset != nullptr || points != 0 ||
      handle != nullptr || o->finalized) {
    abort();
  }
  const cl::Int code = Call("clCommandNDRangeKernelKHR");
  if (code != 0) return code;
  o->launches.push_back({k, Get(k, 'k')->args, global[0], local[0]});
  if (point != nullptr) *point = static_cast<cl::Uint>(o->launches.size() - 1);
  return 0;
}
cl::Int clFinalizeCommandBufferKHR(Record r) {
  const cl::Int code = Call("clFinalizeCommandBufferKHR");
  Get(r, 'b')->finalized = code == 0;
  return code;
}
// It crashes without an event, as PoCL did.
cl::Int clEnqueueCommandBufferKHR(cl::Uint n, cl::Queue* queues, Record r, cl::Uint,
                                  const cl::Event*, cl::Event* event) {
  Object* const o = Get(r, 'b');
  if (n != 0 || queues != nullptr || event == nullptr || !o->finalized) abort();
  const cl::Int code = Call("clEnqueueCommandBufferKHR");
  Dawdle("FAKE_REPLAY_US");
  if (code != 0) return code;
  if (o->running && !o->overlaps) abort();
  o->running = true;
  for (const Launched& l : o->launches) {
    const cl::Int computed = Compute(l);
    if (computed != 0) return computed;
  }
  *event = Make<cl::Event>('e', 0, nullptr);
  return 0;
}

}  // extern "C"

bool RecordingInfo(cl::Uint what, size_t capacity, void* to, size_t* size, cl::Int* code) {
  const bool lists = getenv("FAKE_RECORDS") != nullptr;
  const Listed all[] = {{1 << 22, "cl_khr_fp64"},
                        {Version(), "cl_khr_command_buffer"},
                        {9 << 12, "cl_khr_command_buffer_multi_device"}};
  const cl::Bits can = static_cast<cl::Bits>(atoi(Env("FAKE_CAN", "4").c_str()));
  const cl::Bits wants = static_cast<cl::Bits>(atoi(Env("FAKE_WANTS", "0").c_str()));
  switch (what) {
    case 0x1060:  // a number of OpenCL 3.0
      *code = lists ? Give(all, sizeof(all), capacity, to, size) : -30;
      return true;
    case 0x12a9:
      *code = lists ? Give(&can, sizeof(can), capacity, to, size) : -30;
      return true;
    case 0x12aa:
      *code = lists ? Give(&wants, sizeof(wants), capacity, to, size) : -30;
      return true;
  }
  return false;
}

void* RecordingFunction(const std::string& name) {
  const std::map<std::string, void*> all = {
      {"clCreateCommandBufferKHR", reinterpret_cast<void*>(clCreateCommandBufferKHR)},
      {"clReleaseCommandBufferKHR", reinterpret_cast<void*>(clReleaseCommandBufferKHR)},
      {"clCommandNDRangeKernelKHR", reinterpret_cast<void*>(clCommandNDRangeKernelKHR)},
      {"clFinalizeCommandBufferKHR", reinterpret_cast<void*>(clFinalizeCommandBufferKHR)},
      {"clEnqueueCommandBufferKHR", reinterpret_cast<void*>(clEnqueueCommandBufferKHR)},
  };
  const auto found = all.find(name);
  if (found == all.end() || name == Env("FAKE_WITHOUT", "")) return nullptr;
  return found->second;
}
