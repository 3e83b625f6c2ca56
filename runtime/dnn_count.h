// Opaque operators that count: NonZero, Compress, TfIdf, Bind, Steps, Fractions.
#ifndef RULES_DNN_RUNTIME_DNN_COUNT_H_
#define RULES_DNN_RUNTIME_DNN_COUNT_H_

#include <stdint.h>

#include "runtime/dnn_elements.h"
#include "runtime/dnn_index.h"

namespace dnn_opaque {

// Writes the indices of the nonzero elements, a row for each of `rank` axes.
template <class E>
static void NonZero(const typename E::Stored* x, int64_t* y, const int64_t* dims, int64_t rank,
                    int64_t* count, int* bad) {
  int64_t elements = 1, found = 0;
  for (int64_t d = 0; d < rank; ++d) elements *= dims[d];
  for (int64_t i = 0; i < elements; ++i) found += E::number(x[i]) != 0;
  if (!Fits(found, count, bad) || y == nullptr) return;
  for (int64_t i = 0, k = 0; i < elements; ++i) {
    if (E::number(x[i]) == 0) continue;
    int64_t rest = i;
    for (int64_t d = rank; d-- > 0;) {
      y[d * found + k] = rest % dims[d];
      rest /= dims[d];
    }
    ++k;
  }
}

// Copies the slices of [outer][n][inner] along the middle axis whose condition is true; ignores
// conditions beyond n.
template <class E>
static void Compress(const typename E::Stored* x, const bool* condition, typename E::Stored* y,
                     int64_t outer, int64_t n, int64_t inner, int64_t conditions, int64_t* count,
                     int* bad) {
  const int64_t most = dnn_min(n, conditions);
  int64_t kept = 0;
  for (int64_t i = 0; i < most; ++i) kept += condition[i];
  if (!Fits(kept, count, bad) || y == nullptr) return;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < most; ++i) {
      if (!condition[i]) continue;
      for (int64_t k = 0; k < inner; ++k) *y++ = x[(o * n + i) * inner + k];
    }
  }
}

// Returns the number of pairs of start and distance at which a row of n numbers contains a gram of
// `size` numbers. A gram of one number has only one distance.
template <class E>
static int64_t Occurrences(const typename E::Stored* row, const int64_t* gram, int64_t n,
                           int64_t size, int64_t skips) {
  int64_t found = 0;
  for (int64_t step = 1; step <= (size == 1 ? 0 : skips) + 1; ++step) {
    for (int64_t at = 0; at + (size - 1) * step < n; ++at) {
      bool same = true;
      for (int64_t k = 0; same && k < size; ++k) same = row[at + k * step] == gram[k];
      found += same;
    }
    if ((size - 1) * step >= n) break;
  }
  return found;
}

// Counts the pool's grams in each row. The grams of `size` numbers are
// pool[starts[size-1]:starts[size]], for sizes up to `sizes`. Only grams of `least` to `most`
// numbers count.
template <class E>
static void TfIdf(const typename E::Stored* x, const int64_t* pool, const int64_t* starts,
                  const int64_t* columns, const float* weights, float* y, int64_t* counts,
                  int64_t rows, int64_t n, int64_t sizes, int64_t least, int64_t most,
                  int64_t skips, int64_t width, bool frequencies, int*) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) counts[c] = 0;
    int64_t gram = 0;
    for (int64_t size = 1; size <= sizes; ++size) {
      for (int64_t at = starts[size - 1]; at + size <= starts[size]; at += size, ++gram) {
        if (size < least || size > most) continue;
        counts[columns[gram]] += Occurrences<E>(x + r * n, pool + at, n, size, skips);
      }
    }
    for (int64_t c = 0; c < width; ++c) {
      const int64_t times = frequencies ? counts[c] : dnn_min(counts[c], 1);
      y[r * width + c] = static_cast<float>(times) * (weights != nullptr ? weights[c] : 1.0f);
    }
  }
}

// Binds computed symbols to `count` of n integers, those at `elements`. Each must be at least its
// value in `lows` and at most the symbol's previous value; otherwise it is clamped and *bad is set.
// If y is not null, it receives a copy of all n integers.
template <class E>
static void Bind(const typename E::Stored* x, typename E::Stored* y, int64_t* const* computed,
                 const int64_t* elements, const int64_t* lows, int64_t count, int64_t n, int* bad) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = static_cast<int64_t>(x[elements[i]]);
    *computed[i] = dnn_bounded(number, lows[i], *computed[i], bad);
  }
  for (int64_t i = 0; y != nullptr && i < n; ++i) y[i] = x[i];
}

// Counts the floats start, start + delta, ... before limit.
DNN_OPAQUE_FN bool CountSteps(double start, double limit, double delta, int64_t most, int64_t* y) {
  double room = limit - start, step = delta;
  // The difference of finite ends may overflow; the difference of their halves does not.
  if (room - room != 0 && start - start == 0 && limit - limit == 0) {
    room = limit / 2 - start / 2, step = delta / 2;
  }
  const double n = room / step;
  if (delta == 0 || n != n || n > static_cast<double>(most)) return false;
  *y = n > 0 ? static_cast<int64_t>(n) : 0;
  *y += static_cast<double>(*y) < n;
  return true;
}

// The same for integers, whose differences need 64 unsigned bits.
DNN_OPAQUE_FN bool CountSteps(int64_t start, int64_t limit, int64_t delta, int64_t most,
                              int64_t* y) {
  if (delta == 0) return false;
  *y = 0;
  const bool down = delta < 0;
  if (down ? start <= limit : start >= limit) return true;
  const uint64_t a = static_cast<uint64_t>(start), b = static_cast<uint64_t>(limit);
  const uint64_t step = static_cast<uint64_t>(delta);
  const uint64_t n = ((down ? a - b : b - a) - 1) / (down ? 0 - step : step);
  if (n >= static_cast<uint64_t>(most)) return false;
  *y = static_cast<int64_t>(n) + 1;
  return true;
}

// Computes the length of a Range, at most `most`, and stores it to y unless y is null.
template <class E>
static void Steps(const typename E::Stored* start, const typename E::Stored* limit,
                  const typename E::Stored* delta, int64_t* y, int64_t most, int* bad) {
  typedef typename wide<typename E::Number>::Type T;
  int64_t n = 0;
  if (!CountSteps(static_cast<T>(E::number(*start)), static_cast<T>(E::number(*limit)),
                  static_cast<T>(E::number(*delta)), most, &n)) {
    *bad = 1;
  }
  if (y != nullptr) *y = n;
}

// Finds the simplest fraction strictly between low/of and high/of.
DNN_OPAQUE_FN void Simplest(int64_t low, int64_t high, int64_t of, int64_t* num, int64_t* den) {
  int64_t parts[64];  // of the continued fraction of a number of 50 bits
  int n = 0;
  int64_t a = low, b = of, c = high, d = of;
  for (;;) {
    const int64_t whole = a / b;
    if ((whole + 1) * d < c) {
      parts[n++] = whole + 1;
      break;
    }
    parts[n++] = whole;
    const int64_t rest = c - whole * d, next = a - whole * b;
    a = d, c = b, b = rest, d = next;
    if (d == 0) {
      parts[n++] = a / b + 1;
      break;
    }
  }
  *num = 1, *den = 0;
  while (n-- > 0) {
    const int64_t above = parts[n] * *num + *den;
    *den = *num;
    *num = above;
  }
}

// Writes, for n scales, the simplest fractions that round to them: first all numerators, then all
// denominators.
DNN_OPAQUE_FN void Fractions(const float* scales, int64_t* y, int64_t n, int* bad) {
  const double one = 137438953472.0;  // midpoints of adjacent scales are multiples of 1 / one
  for (int64_t i = 0; i < n; ++i) {
    float scale = scales[i];
    if (!(scale >= 1.0f / 4096 && scale <= 4096.0f)) {
      *bad = 1;
      scale = 1;
    }
    // The bit patterns of positive floats are ordered like the floats.
    uint32_t bits;
    __builtin_memcpy(&bits, &scale, sizeof bits);
    const uint32_t below = bits - 1, above = bits + 1;
    float less, more;
    __builtin_memcpy(&less, &below, sizeof less);
    __builtin_memcpy(&more, &above, sizeof more);
    int64_t num, den;
    Simplest(static_cast<int64_t>((static_cast<double>(scale) + less) / 2 * one),
             static_cast<int64_t>((static_cast<double>(scale) + more) / 2 * one),
             static_cast<int64_t>(one), &num, &den);
    if (y == nullptr) continue;
    y[i] = num;
    y[n + i] = den;
  }
}

}  // namespace dnn_opaque

#endif  // RULES_DNN_RUNTIME_DNN_COUNT_H_
