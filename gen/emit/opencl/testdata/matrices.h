// What instructions of PTX mean that 32 work-items apply together, each a thread here, and what is
// compared.
#include <pthread.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define __local
#define DNN_TOGETHER
#define mad(a, b, c) ((a) * (b) + (c))

typedef unsigned uint;
typedef unsigned short ushort;

constexpr int kItems = 32;
constexpr size_t kBytes = 1 << 17;

thread_local int item;
pthread_barrier_t barrier;
alignas(128) unsigned char shared[kBytes];  // the memory that items share
uint published[kItems][6];

void Wait() { pthread_barrier_wait(&barrier); }
int get_local_id(int) { return item; }
uint place(const void* p) { return static_cast<const unsigned char*>(p) - shared; }

float dnn_f16_to_f32(ushort h) {
  _Float16 x;
  memcpy(&x, &h, sizeof(x));
  return x;
}

float Half(uint pair, int which) { return dnn_f16_to_f32(static_cast<ushort>(pair >> 16 * which)); }

// shfl.sync.idx.b32: the value of another item.
void Shuffle(uint& value, uint from) {
  published[item][0] = value;
  Wait();
  const uint got = published[from % kItems][0];
  Wait();
  value = got;
}

// ldmatrix.sync.aligned.m8n8.xN.shared.b16: items 8 * n to 8 * n + 7 have the places of the rows of
// matrix n, of 16 bytes each.
void Read(int matrices, uint at, uint* to) {
  published[item][0] = at;
  Wait();
  for (int n = 0; n < matrices; ++n) {
    const uint row = published[8 * n + item / 4][0];
    if (row % 16 != 0 || row + 16 > kBytes) {
      printf("a row at %u\n", row);
      exit(1);
    }
    memcpy(to + n, shared + row + 4 * (item % 4), 4);
  }
  Wait();
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.
void Multiply(float& d0, float& d1, float& d2, float& d3, uint a0, uint a1, uint a2, uint a3,
              uint b0, uint b1) {
  const uint own[6] = {a0, a1, a2, a3, b0, b1};
  memcpy(published[item], own, sizeof(own));
  Wait();
  float* sums[4] = {&d0, &d1, &d2, &d3};
  for (int i = 0; i < 4; ++i) {
    const int row = item / 4 + 8 * (i / 2), column = 2 * (item % 4) + i % 2;
    for (int k = 0; k < 16; ++k) {
      const uint a = published[4 * (row % 8) + k % 8 / 2][row / 8 + 2 * (k / 8)];
      const uint b = published[4 * column + k % 8 / 2][4 + k / 8];
      *sums[i] += Half(a, k % 2) * Half(b, k % 2);
    }
  }
  Wait();
}

using Tile = void (*)(const ushort*, const ushort*, float*);

// Compares a tile of items together with that of each by itself: rows of items are next to each
// other, and so are their pairs of columns.
void Compare(const char* name, Tile together, Tile alone, int sums) {
  pthread_barrier_init(&barrier, nullptr, kItems);
  for (size_t i = 0; i < kBytes / 2; ++i) {
    const _Float16 x = static_cast<_Float16>((rand() % 2001 - 1000) / 1000.0);
    memcpy(shared + 2 * i, &x, sizeof(x));
  }
  std::vector<std::thread> items;
  std::vector<float> far(kItems);
  for (int n = 0; n < kItems; ++n) {
    items.emplace_back([=, &far] {
      item = n;
      const ushort* x = reinterpret_cast<ushort*>(shared) + 8 * (n / 4);
      const ushort* w = reinterpret_cast<ushort*>(shared + kBytes / 2) + 16 * (n % 4);
      std::vector<float> a(sums), b(sums);
      for (int i = 0; i < sums; ++i) a[i] = b[i] = i * 0.01f;
      together(x, w, a.data());
      alone(x, w, b.data());
      for (int i = 0; i < sums; ++i) far[n] = std::fmax(far[n], std::fabs(a[i] - b[i]));
    });
  }
  for (std::thread& t : items) t.join();
  float most = 0;
  for (const float f : far) most = std::fmax(most, f);
  printf("%s: %g%s\n", name, most, most < 1e-3f ? " ok" : "");
}
