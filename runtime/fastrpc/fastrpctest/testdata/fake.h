// FastRPC's types as the fake library has them, and the DSP behind it: near.cc has one in this
// process, and emulated.cc one in another, under qemu-hexagon.
//
// The declarations are the fake's own: what the runtime declares is held against them.
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
constexpr int kReset = 104;  // the process is gone

// A call: arguments as they are told, and how many bytes each buffer has indeed.
struct Call {
  uint64_t handle;
  uint32_t scalars;
  std::vector<remote_arg> args;
  std::vector<size_t> room;
};

// Loads a library and finds a function in it: a code, and a number of its own.
int Load(const std::string& file, const std::string& symbol, int* library);

// Calls that function: what it returns, or kReset.
int Invoke(int library, Call* call);

// The process ends. Sessions that it had are told one by one first.
void Forget(int library, uint64_t handle);
void Die();

// How many pieces of memory libraries have there.
int Alive();

}  // namespace dsp

#endif  // FASTRPCTEST_FAKE_H_
