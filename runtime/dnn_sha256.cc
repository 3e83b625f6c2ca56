#include "runtime/dnn_system.h"
#include "runtime/dnn_weights.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

constexpr size_t kBlock = 64;

constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t Rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

uint32_t BigEndian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

// Computes one round; the caller renames the eight words instead of moving them.
DNN_ALWAYS_INLINE void Round(uint32_t a, uint32_t b, uint32_t c, uint32_t* d, uint32_t e,
                             uint32_t f, uint32_t g, uint32_t* h, uint32_t word) {
  const uint32_t t =
      *h + (Rotate(e, 6) ^ Rotate(e, 11) ^ Rotate(e, 25)) + (g ^ (e & (f ^ g))) + word;
  *d += t;
  *h = t + (Rotate(a, 2) ^ Rotate(a, 13) ^ Rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

// Returns word i + n of a block's 64; w holds the last 16.
DNN_ALWAYS_INLINE uint32_t Word(uint32_t* w, int i, int n) {
  if (i == 0) return w[n];
  const uint32_t x = w[(n + 1) % 16], y = w[(n + 14) % 16];
  return w[n] += (Rotate(x, 7) ^ Rotate(x, 18) ^ x >> 3) + w[(n + 9) % 16] +
                 (Rotate(y, 17) ^ Rotate(y, 19) ^ y >> 10);
}

void Blocks(const uint8_t* data, size_t count, uint32_t state[8]) {
  for (; count > 0; --count, data += kBlock) {
    uint32_t w[16];
    for (int i = 0; i < 16; ++i) w[i] = BigEndian(data + 4 * i);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i += 16) {
      const uint32_t* const k = kRounds + i;
      Round(a, b, c, &d, e, f, g, &h, k[0] + Word(w, i, 0));
      Round(h, a, b, &c, d, e, f, &g, k[1] + Word(w, i, 1));
      Round(g, h, a, &b, c, d, e, &f, k[2] + Word(w, i, 2));
      Round(f, g, h, &a, b, c, d, &e, k[3] + Word(w, i, 3));
      Round(e, f, g, &h, a, b, c, &d, k[4] + Word(w, i, 4));
      Round(d, e, f, &g, h, a, b, &c, k[5] + Word(w, i, 5));
      Round(c, d, e, &f, g, h, a, &b, k[6] + Word(w, i, 6));
      Round(b, c, d, &e, f, g, h, &a, k[7] + Word(w, i, 7));
      Round(a, b, c, &d, e, f, g, &h, k[8] + Word(w, i, 8));
      Round(h, a, b, &c, d, e, f, &g, k[9] + Word(w, i, 9));
      Round(g, h, a, &b, c, d, e, &f, k[10] + Word(w, i, 10));
      Round(f, g, h, &a, b, c, d, &e, k[11] + Word(w, i, 11));
      Round(e, f, g, &h, a, b, c, &d, k[12] + Word(w, i, 12));
      Round(d, e, f, &g, h, a, b, &c, k[13] + Word(w, i, 13));
      Round(c, d, e, &f, g, h, a, &b, k[14] + Word(w, i, 14));
      Round(b, c, d, &e, f, g, h, &a, k[15] + Word(w, i, 15));
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state[i] += sums[i];
  }
}

}  // namespace

void Sha256(const uint8_t* data, size_t bytes, uint8_t hash[32]) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  Blocks(data, bytes / kBlock, state);
  // Append a one bit, zeros, and the number of bits at the end of a block.
  uint8_t end[2 * kBlock] = {};
  const size_t rest = bytes % kBlock, count = rest < kBlock - 8 ? 1 : 2;
  if (rest > 0) memcpy(end, data + (bytes - rest), rest);
  end[rest] = 0x80;
  const uint64_t bits = static_cast<uint64_t>(bytes) * 8;
  for (size_t i = 0; i < 8; ++i) {
    end[count * kBlock - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  }
  Blocks(end, count, state);
  for (size_t i = 0; i < 32; ++i)
    hash[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
}

}  // namespace v1
}  // namespace rules_dnn
