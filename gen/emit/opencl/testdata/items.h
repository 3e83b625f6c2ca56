// OpenCL C as C++, where each work-item of a group is a thread, and what PTX's shfl.sync means.
#include <pthread.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define __NV_CL_C_VERSION 120
#define __kernel
#define __global
#define __local static
#define restrict __restrict
#define reqd_work_group_size(x, y, z)
#define CLK_LOCAL_MEM_FENCE 0

typedef unsigned uint;
typedef unsigned long ulong;
typedef unsigned char uchar;
typedef unsigned short ushort;

constexpr int kWarp = 32, kMost = 1024;

thread_local int own_item, own_group;
pthread_barrier_t all, warps[kMost / kWarp];
float published[kMost];

int get_local_id(int) { return own_item; }
int get_group_id(int) { return own_group; }
void barrier(int) { pthread_barrier_wait(&all); }

template <class To, class From>
To Bits(From x) {
  To y;
  static_assert(sizeof(x) == sizeof(y), "other bits");
  memcpy(&y, &x, sizeof(y));
  return y;
}
float as_float(uint x) { return Bits<float>(x); }
uint as_uint(float x) { return Bits<uint>(x); }
float rsqrt(float x) { return 1.0f / std::sqrt(x); }

// shfl.sync.idx.b32 of all items of a warp: the value of the one of a number in it.
float Shuffle(float x, uint from) {
  pthread_barrier_t* const warp = &warps[own_item / kWarp];
  published[own_item] = x;
  pthread_barrier_wait(warp);
  const float got = published[own_item / kWarp * kWarp + from];
  pthread_barrier_wait(warp);
  return got;
}

// Runs groups one after the other.
template <class Kernel>
void Groups(int groups, int items, Kernel kernel) {
  pthread_barrier_init(&all, nullptr, static_cast<uint>(items));
  for (pthread_barrier_t& warp : warps) pthread_barrier_init(&warp, nullptr, kWarp);
  for (int g = 0; g < groups; ++g) {
    std::vector<std::thread> threads;
    for (int n = 0; n < items; ++n) {
      threads.emplace_back([=] {
        own_item = n;
        own_group = g;
        kernel();
      });
    }
    for (std::thread& t : threads) t.join();
  }
}

std::vector<float> Random(size_t n) {
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(rand() % 20001 - 10000) / 2500.0f;
  return out;
}

// Compares what items exchange with what they share in memory, bit for bit.
void Compare(const std::vector<float>& together, const std::vector<float>& alone) {
  bool some = false;
  for (const float x : alone) some = some || x != 0;
  const bool same = memcmp(together.data(), alone.data(), alone.size() * sizeof(float)) == 0;
  printf("%s\n", some && same ? "ok" : "not the same");
}
