// The fake library's FastRPC types, and its DSP: near.cc implements it in this process, emulated.cc
// in another one under qemu-hexagon.
//
// The declarations are independent of the runtime's, so that the compiler can compare them.
#ifndef FASTRPCTEST_FAKE_H_
#define FASTRPCTEST_FAKE_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

struct remote_buf {
  void* pv;
  size_t nLen;
};

union remote_arg {
  remote_buf buf;
  uint32_t h;
  uint64_t h64;
  struct {
    int32_t fd;
    uint32_t offset;
  } dma;
};

namespace dsp {

constexpr int kNoSuchFile = static_cast<int>(0x80000445);
constexpr int kUnableToLoad = static_cast<int>(0x80000406);
constexpr int kNoSymbol = static_cast<int>(0x80000442);
constexpr int kReset = 104;  // the process has ended

// A call: the stated arguments, and the real size of each buffer.
struct Call {
  uint64_t handle;
  uint32_t scalars;
  std::vector<remote_arg> args;
  std::vector<size_t> room;
};

// Loads a library and finds a function in it; returns a code and stores the library's number.
int Load(const std::string& file, const std::string& symbol, int* library);

// Calls that function; returns its result, or kReset.
int Invoke(int library, Call* call);

// Forget tells a library that one of its sessions has ended; Die ends the process.
void Forget(int library, uint64_t handle);
void Die();

// Returns the number of allocations that libraries hold there.
int Alive();

}  // namespace dsp

#endif  // FASTRPCTEST_FAKE_H_
