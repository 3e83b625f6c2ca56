// Element types of the opaque operators: their representation in memory and their numbers.
#ifndef RULES_DNN_RUNTIME_DNN_ELEMENTS_H_
#define RULES_DNN_RUNTIME_DNN_ELEMENTS_H_

#include <stdint.h>

#include "runtime/dnn_math.h"

#define DNN_OPAQUE_FN __attribute__((unused)) static

namespace dnn_opaque {

// An element type: stored as Stored, compared and computed as Number.
template <class T>
struct plain {
  typedef T Stored;
  typedef T Number;
  static Number number(Stored x) { return x; }
  static Stored stored(Number x) { return x; }
};

struct f16 {
  typedef uint16_t Stored;
  typedef float Number;
  static Number number(Stored x) { return dnn_math::f16_to_f32(x); }
  static Stored stored(Number x) { return dnn_math::f32_to_f16(x); }
};

struct bf16 {
  typedef uint16_t Stored;
  typedef float Number;
  static Number number(Stored x) { return dnn_math::bf16_to_f32(x); }
  static Stored stored(Number x) { return dnn_math::f32_to_bf16(x); }
};

typedef plain<bool> boolean;
typedef plain<int8_t> i8;
typedef plain<int16_t> i16;
typedef plain<int32_t> i32;
typedef plain<int64_t> i64;
typedef plain<uint8_t> u8;
typedef plain<uint16_t> u16;
typedef plain<uint32_t> u32;
typedef plain<uint64_t> u64;
typedef plain<float> f32;
typedef plain<double> f64;

// The type in which computations with a number type are exact: int64_t for integers, double for
// floats.
template <class T>
struct wide {
  typedef int64_t Type;
};

template <>
struct wide<float> {
  typedef double Type;
};

template <>
struct wide<double> {
  typedef double Type;
};

DNN_OPAQUE_FN bool is_nan(float x) { return x != x; }
DNN_OPAQUE_FN bool is_nan(double x) { return x != x; }
template <class T>
static bool is_nan(T) {
  return false;
}

// Returns -1, 0 or 1 if a is before, equal to or after b. A NaN is after every number and equals
// any NaN.
template <class T>
static int compare(T a, T b) {
  if (a < b) return -1;
  if (b < a) return 1;
  if (a == b) return 0;
  return static_cast<int>(is_nan(a)) - static_cast<int>(is_nan(b));
}

// Stores the number of results. *count is the capacity on entry; if it is too small, sets *bad to 1
// and returns false.
DNN_OPAQUE_FN bool Fits(int64_t found, int64_t* count, int* bad) {
  if (found > *count) {
    *bad = 1;
    return false;
  }
  *count = found;
  return true;
}

// Heapsort of numbers, in place. `before` is a strict order: it reports whether its first argument
// comes first.
template <class Before>
static void sift(int64_t* heap, int64_t at, int64_t n, const Before& before) {
  const int64_t x = heap[at];
  for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && before(heap[child], heap[child + 1])) ++child;
    if (!before(x, heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = x;
}

// Turns n numbers into a heap whose root is the last number in the order.
template <class Before>
static void heapify(int64_t* x, int64_t n, const Before& before) {
  for (int64_t i = n / 2; i-- > 0;) sift(x, i, n, before);
}

// Sorts a heap.
template <class Before>
static void unheap(int64_t* x, int64_t n, const Before& before) {
  for (int64_t last = n - 1; last > 0; --last) {
    const int64_t top = x[0];
    x[0] = x[last];
    x[last] = top;
    sift(x, 0, last, before);
  }
}

template <class Before>
static void sort(int64_t* x, int64_t n, const Before& before) {
  heapify(x, n, before);
  unheap(x, n, before);
}

}  // namespace dnn_opaque

#endif  // RULES_DNN_RUNTIME_DNN_ELEMENTS_H_
