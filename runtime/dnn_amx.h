// Matrix products in the tile registers of Intel's AMX (Intel's instruction set reference and
// optimisation manual). Tests define DNN_AMX_PORTABLE: it replaces the instructions by functions of
// equal effect that run on any processor, and that trap where the instructions would fault.
#ifndef RULES_DNN_RUNTIME_DNN_AMX_H_
#define RULES_DNN_RUNTIME_DNN_AMX_H_

#include <stdint.h>

// The operand of ldtilecfg: bytes per row and number of rows for each tile register. Palette 1 has
// eight registers of 16 rows of 64 bytes.
struct alignas(64) dnn_amx_shape {
  uint8_t palette, first_row;
  uint8_t reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
};

#if defined(DNN_AMX_PORTABLE)

namespace {  // each library has its own

// The state of a thread's tile registers.
struct dnn_amx {
  static constexpr int kRegisters = 8, kRows = 16, kBytes = 64;

  void use(const dnn_amx_shape* s) {
    if (shape == s) return;
    shape = s;
    if (s->palette != 1 || s->first_row != 0) __builtin_trap();
    for (int t = 0; t < 16; ++t) {
      const bool none = s->rows[t] == 0 && s->bytes[t] == 0;
      const bool some = t < kRegisters && s->rows[t] != 0 && s->rows[t] <= kRows &&
                        s->bytes[t] != 0 && s->bytes[t] <= kBytes && s->bytes[t] % 4 == 0;
      if (!none && !some) __builtin_trap();
    }
    __builtin_memset(tile, 0, sizeof(tile));
  }

  // A register must be configured before it is used.
  void need(int t) const {
    if (shape == nullptr || shape->rows[t] == 0) __builtin_trap();
  }

  // A load and a tilezero set everything beyond the shape to zero.
  void load(int t, const void* p, int64_t stride) {
    need(t);
    __builtin_memset(tile[t], 0, sizeof(tile[t]));
    for (int r = 0; r < shape->rows[t]; ++r) {
      __builtin_memcpy(tile[t][r], static_cast<const char*>(p) + r * stride, shape->bytes[t]);
    }
  }

  void store(int t, void* p, int64_t stride) const {
    need(t);
    for (int r = 0; r < shape->rows[t]; ++r) {
      __builtin_memcpy(static_cast<char*>(p) + r * stride, tile[t][r], shape->bytes[t]);
    }
  }

  // The three registers of an instruction must be different and have matching shapes.
  void check(int acc, int x, int w) const {
    need(acc), need(x), need(w);
    const dnn_amx_shape& s = *shape;
    if (s.rows[acc] != s.rows[x] || s.bytes[acc] != s.bytes[w] || s.bytes[x] != 4 * s.rows[w] ||
        acc == x || acc == w || x == w) {
      __builtin_trap();
    }
  }

  // For each row of x and each lane of w, adds the products of four neighbouring bytes from each
  // row of w to a 32-bit sum.
  template <typename X, typename W>
  void multiply(int acc, int x, int w) {
    check(acc, x, w);
    const dnn_amx_shape& s = *shape;
    for (int r = 0; r < s.rows[acc]; ++r) {
      for (int k = 0; k < s.rows[w]; ++k) {
        for (int lane = 0; lane < s.bytes[acc] / 4; ++lane) {
          uint32_t sum;
          __builtin_memcpy(&sum, tile[acc][r] + 4 * lane, 4);
          for (int i = 0; i < 4; ++i) {
            sum += static_cast<uint32_t>(static_cast<X>(tile[x][r][4 * k + i]) *
                                         static_cast<W>(tile[w][k][4 * lane + i]));
          }
          __builtin_memcpy(tile[acc][r] + 4 * lane, &sum, 4);
        }
      }
    }
  }

  // Converts a bf16 to f32; denormal numbers become zeros.
  static float wide(const uint8_t* p) {
    uint16_t half;
    __builtin_memcpy(&half, p, 2);
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    float x;
    __builtin_memcpy(&x, &bits, 4);
    return flushed(x);
  }

  static float flushed(float x) {
    return __builtin_fabsf(x) < __FLT_MIN__ ? __builtin_copysignf(0, x) : x;
  }

  // Adds two numbers of up to 24 significant bits and rounds to f32; a denormal result becomes
  // zero. The sum in double may be inexact, but then it is not near a tie of f32. The hardware
  // rounds tiny results before it checks whether they are denormal.
  static float sum(double x, double y) {
    const double s = x + y;
    if (__builtin_fabs(s) < __FLT_MIN__ &&
        __builtin_fabsf(static_cast<float>(s * 0x1p100)) < 0x1p-26f) {
      return static_cast<float>(__builtin_copysign(0, s));
    }
    return static_cast<float>(s);
  }

  // For each row of x and each lane of w, adds the products of bf16 pairs from each row of w to an
  // f32 sum. The first products of all pairs are summed separately from the second ones; then both
  // sums are added.
  void multiply_pairs(int acc, int x, int w) {
    check(acc, x, w);
    const dnn_amx_shape& s = *shape;
    for (int r = 0; r < s.rows[acc]; ++r) {
      for (int lane = 0; lane < s.bytes[acc] / 4; ++lane) {
        float pair[2] = {0, 0}, all;
        for (int k = 0; k < s.rows[w]; ++k) {
          for (int i = 0; i < 2; ++i) {
            const double product = static_cast<double>(wide(tile[x][r] + 4 * k + 2 * i)) *
                                   static_cast<double>(wide(tile[w][k] + 4 * lane + 2 * i));
            pair[i] = sum(product, pair[i]);
          }
        }
        __builtin_memcpy(&all, tile[acc][r] + 4 * lane, 4);
        all = sum(flushed(all), sum(pair[0], pair[1]));
        __builtin_memcpy(tile[acc][r] + 4 * lane, &all, 4);
      }
    }
  }

  const dnn_amx_shape* shape = nullptr;
  uint8_t tile[kRegisters][kRows][kBytes];
};

}  // namespace

template <int kTile>
static inline void dnn_amx_zero(dnn_amx* t) {
  t->need(kTile);
  __builtin_memset(t->tile[kTile], 0, sizeof(t->tile[kTile]));
}

template <int kTile>
static inline void dnn_amx_load(dnn_amx* t, const void* p, int64_t stride) {
  t->load(kTile, p, stride);
}

template <int kTile>
static inline void dnn_amx_store(dnn_amx* t, void* p, int64_t stride) {
  t->store(kTile, p, stride);
}

#define DNN_AMX_PRODUCT(name, ...)                \
  template <int kAcc, int kX, int kW>             \
  static inline void dnn_amx_##name(dnn_amx* t) { \
    t->__VA_ARGS__(kAcc, kX, kW);                 \
  }

#elif defined(__AMX_TILE__)

namespace {  // each library has its own

// Tracks the shapes of a thread's tile registers. It loads them when a micro-kernel uses other
// shapes than the previous one. Its destructor releases the registers, so that the application's
// code finds them unused.
struct dnn_amx {
  dnn_amx() = default;
  dnn_amx(const dnn_amx&) = delete;
  dnn_amx& operator=(const dnn_amx&) = delete;
  ~dnn_amx() {
    if (shape != nullptr) __asm__ __volatile__("tilerelease" ::: "memory");
  }

  void use(const dnn_amx_shape* s) {
    if (shape == s) return;
    shape = s;
    __asm__ __volatile__("ldtilecfg %0" : : "m"(*s) : "memory");
  }

  const dnn_amx_shape* shape = nullptr;
};

}  // namespace

// Compilers do not use tile registers themselves. All of these statements are volatile, so that
// they keep their order.
template <int kTile>
static inline void dnn_amx_zero(dnn_amx*) {
  __asm__ __volatile__("tilezero %%tmm%c0" : : "i"(kTile));
}

template <int kTile>
static inline void dnn_amx_load(dnn_amx*, const void* p, int64_t stride) {
  __asm__ __volatile__("tileloadd (%0,%1,1), %%tmm%c2"
                       :
                       : "r"(p), "r"(stride), "i"(kTile)
                       : "memory");
}

template <int kTile>
static inline void dnn_amx_store(dnn_amx*, void* p, int64_t stride) {
  __asm__ __volatile__("tilestored %%tmm%c2, (%0,%1,1)"
                       :
                       : "r"(p), "r"(stride), "i"(kTile)
                       : "memory");
}

#define DNN_AMX_PRODUCT(name, ...)                                                               \
  template <int kAcc, int kX, int kW>                                                            \
  static inline void dnn_amx_##name(dnn_amx*) {                                                  \
    __asm__ __volatile__(#name " %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kAcc), "i"(kX), "i"(kW)); \
  }

#endif

#if defined(DNN_AMX_PRODUCT)
DNN_AMX_PRODUCT(tdpbssd, multiply<int8_t, int8_t>)
DNN_AMX_PRODUCT(tdpbsud, multiply<int8_t, uint8_t>)
DNN_AMX_PRODUCT(tdpbusd, multiply<uint8_t, int8_t>)
DNN_AMX_PRODUCT(tdpbuud, multiply<uint8_t, uint8_t>)
DNN_AMX_PRODUCT(tdpbf16ps, multiply_pairs)
#undef DNN_AMX_PRODUCT

// Loads fewer rows than the register has, or fewer bytes of each row, and sets the others to zero.
template <int kTile, int kRows, int kBytes>
static inline void dnn_amx_load_part(dnn_amx* t, const void* p, int64_t stride) {
  alignas(64) char part[16 * 64] = {};
  for (int r = 0; r < kRows; ++r) {
    __builtin_memcpy(part + 64 * r, static_cast<const char*>(p) + r * stride, kBytes);
  }
  dnn_amx_load<kTile>(t, part, 64);
}
#endif

#endif  // RULES_DNN_RUNTIME_DNN_AMX_H_
