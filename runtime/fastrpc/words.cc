#include "runtime/fastrpc/words.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {
namespace {

struct Known {
  Code code;
  Status status;
  const char* name;
  const char* meaning;
};

// Codes with a more specific status than "the transport failed".
constexpr Known kKnown[] = {
    {0x02, Status::kDeviceMemory, "AEE_ENOMEMORY", "no memory"},
    {0x06, Status::kNoSkeleton, "AEE_EUNABLETOLOAD", "the DSP cannot load the library"},
    {0x0e, Status::kDeviceFailed, "AEE_EBADPARM", "the skeleton rejects the call as malformed"},
    {0x14, Status::kNoDsp, "AEE_EUNSUPPORTED", "the DSP does not support it"},
    {0x27, Status::kDeviceLost, "AEE_ENOSUCH", "the process on the DSP has ended"},
    {0x2c, Status::kDeviceLost, "AEE_EINVHANDLE", "the DSP does not know the handle"},
    {0x30, Status::kDeviceLost, "AEE_ECPUEXCEPTION", "the process on the DSP had an exception"},
    {0x34, Status::kDeviceLost, "AEE_EINVALIDPROCESS", "the process on the DSP has ended"},
    {0x35, Status::kNoSkeleton, "AEE_EINVALIDFILENAME", "the DSP finds no such file"},
    {0x36, Status::kNoSkeleton, "AEE_EINVALIDDIGESTSIZE", "the library's signature is wrong"},
    {0x38, Status::kNoSkeleton, "AEE_EINVALIDSIGNATURE", "the library's signature is wrong"},
    {0x39, Status::kNoDsp, "AEE_EINVALIDDOMAIN", "the machine has no such DSP"},
    {0x3b, Status::kNoDsp, "AEE_EINVALIDDEVICE", "the driver's device cannot be opened"},
    {0x3e, Status::kNoSkeleton, "AEE_ENOSUCHMOD", "the DSP has no such library"},
    {0x42, Status::kNoSkeleton, "AEE_ENOSUCHSYMBOL", "the library lacks the skeleton's function"},
    {0x43, Status::kNoDsp, "AEE_ENOSUCHDEVICE", "the driver's device does not exist"},
    {0x45, Status::kNoSkeleton, "AEE_ENOSUCHFILE",
     "the DSP finds no such file in the folders of DSP_LIBRARY_PATH and its own"},
    {0x4b, Status::kNoDsp, "AEE_EBADDOMAIN", "the machine has no such DSP"},
    {0x52, Status::kNoSkeleton, "AEE_EBADELF", "the file is not a library for this DSP"},
    {0x57, Status::kNoDsp, "AEE_EFOPEN", "the driver's device cannot be opened"},
    {0x66, Status::kDeviceMemory, "AEE_EIONMAP", "memory cannot be mapped"},
    {0x67, Status::kDeviceMemory, "AEE_EIONALLOC", "no shared memory is left"},
    {0x68, Status::kDeviceMemory, "AEE_ENORPCMEMORY", "no shared memory is left"},
    {0x72, Status::kNoDsp, "AEE_ECONNREFUSED", "the DSP accepts no calls"},
    {0x81, Status::kNoSkeleton, "AEE_EUNSIGNEDMOD",
     "the DSP requires a signed library, because the process is not unsigned"},
    {0x8a, Status::kNoDsp, "AEE_ENOSESSION", "the DSP has no session left"},
    {104, Status::kDeviceLost, "AEE_ECONNRESET", "the DSP was restarted"},
    {0x201, Status::kNoSkeleton, "AEE_EFILE", "the DSP cannot read the file"},
};

void AddHex(Words* words, uint32_t value) {
  char digits[8];
  int n = 0;
  do {
    digits[n++] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  words->Add("0x");
  while (n > 0) words->Add(&digits[--n], 1);
}

}  // namespace

Status Failed(Words* words, const char* function, Code code) {
  const uint32_t bits = static_cast<uint32_t>(code);
  const bool dsp = (bits & 0xfffffc00) == kDspErrors;
  Known found = {code, Status::kDeviceFailed, "an error", "the call failed"};
  for (const Known& k : kKnown) {
    if (static_cast<uint32_t>(k.code) == (dsp ? bits - kDspErrors : bits)) found = k;
  }
  words->Clear();
  words->Add(function).Add(": ").Add(found.meaning).Add(" (").Add(found.name).Add(", ");
  AddHex(words, bits);
  words->Add(")");
  return found.status;
}

Status Failed(Words* words, Status status, const char* sentence) {
  words->Clear();
  words->Add(sentence);
  return status;
}

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn
