// Opaque operators that select by order: TopK, NonMaxSuppression.
#ifndef RULES_DNN_RUNTIME_DNN_SELECT_H_
#define RULES_DNN_RUNTIME_DNN_SELECT_H_

#include <stdint.h>

#include "runtime/dnn_elements.h"
#include "runtime/dnn_index.h"

namespace dnn_opaque {

// Reports whether element p with index a precedes element q with index b in descending (largest) or
// ascending order. A NaN follows every number, and equal elements are ordered by index.
template <class T>
static bool first_of(T p, T q, int64_t a, int64_t b, bool largest) {
  if (largest ? p > q : p < q) return true;
  if (p == q) return a < b;
  return is_nan(q) && (!is_nan(p) || a < b);
}

// The number of neighbours that are tested together.
constexpr int64_t kLook = 32;

// Returns a position from j on before which no element precedes `worst`, a number of a lower index;
// it skips whole groups of kLook neighbours.
template <class T>
static int64_t next_better(const T* x, int64_t j, int64_t n, T worst, bool largest) {
  for (; j + kLook <= n; j += kLook) {
    int32_t better = 0;
    for (int64_t i = 0; i < kLook; ++i) better |= largest ? x[j + i] > worst : x[j + i] < worst;
    if (better != 0) break;
  }
  return j;
}

// The number of adjacent lines that are processed together; gen/ops/topk.go reserves k numbers of
// scratch memory for each.
constexpr int64_t kLines = 32;

// Reports whether an element of a row may precede the worst one of its line; if that is NaN, any
// element may.
template <class E>
static bool any_better(const typename E::Stored* row, const typename E::Number* worst,
                       int64_t lines, bool largest) {
  int32_t better = 0;
  for (int64_t l = 0; l < lines; ++l) {
    const typename E::Number x = E::number(row[l]);
    better |= !(largest ? x <= worst[l] : x >= worst[l]);
  }
  return better != 0;
}

// Selects in adjacent lines; the next row is `inner` elements further. The k best elements of line
// l so far are a heap at order + k * l, whose root is the worst of them.
template <class E>
static void SelectBeside(const typename E::Stored* x, int64_t* order, int64_t lines, int64_t n,
                         int64_t inner, int64_t k, bool largest) {
  typename E::Number worst[kLines];
  const auto before = [x, inner, largest](int64_t l) {
    return [x, inner, largest, l](int64_t a, int64_t b) {
      return first_of(E::number(x[a * inner + l]), E::number(x[b * inner + l]), a, b, largest);
    };
  };
  for (int64_t l = 0; l < lines; ++l) {
    for (int64_t j = 0; j < k; ++j) order[l * k + j] = j;
    heapify(order + l * k, k, before(l));
    worst[l] = E::number(x[order[l * k] * inner + l]);
  }
  for (int64_t j = k; j < n; ++j) {
    const typename E::Stored* const row = x + j * inner;
    const bool better = lines == kLines ? any_better<E>(row, worst, kLines, largest)
                                        : any_better<E>(row, worst, lines, largest);
    if (!better) continue;
    for (int64_t l = 0; l < lines; ++l) {
      int64_t* const heap = order + l * k;
      if (!first_of(E::number(row[l]), worst[l], j, heap[0], largest)) continue;
      heap[0] = j;
      sift(heap, 0, k, before(l));
      worst[l] = E::number(x[heap[0] * inner + l]);
    }
  }
  for (int64_t l = 0; l < lines; ++l) unheap(order + l * k, k, before(l));
}

// The maximum number of elements of each line that are kept sorted; heaps are faster for more.
constexpr int64_t kFew = 16;

// The number of lines that are compared at once, as lanes of four bytes.
constexpr int64_t kLanes = 16;
typedef int32_t Indices __attribute__((vector_size(4 * kLanes)));

template <class T>
struct lanes {
  typedef T Type __attribute__((vector_size(4 * kLanes)));
};

// Finds the lanes in which a number precedes one of a lower index; no comparison with NaN holds.
template <class V>
static void come_first(const V* x, const V* kept, bool largest, Indices* first) {
  *first = (*x == *x) & ~(largest ? *x <= *kept : *x >= *kept);
}

// Selects a few elements in kLanes adjacent lines by insertion: an element is inserted before the
// first one that it precedes, and moves the following ones down.
template <class T>
static void SelectFew(const T* x, int64_t* order, int64_t n, int64_t inner, int64_t k,
                      bool largest) {
  typedef typename lanes<T>::Type Values;
  if (k > kFew) return;  // callers ensure it; it shows compilers that there is room
  Values best[kFew] = {};
  Indices at[kFew] = {};
  for (int64_t j = 0; j < n; ++j) {
    Values value;
    __builtin_memcpy(&value, x + j * inner, sizeof(value));
    Indices index = Indices{} + static_cast<int32_t>(j);
    const int64_t held = dnn_min(j, k);
    if (held == k) {
      Indices some;
      come_first(&value, &best[k - 1], largest, &some);
      int64_t words[sizeof(some) / 8];
      __builtin_memcpy(words, &some, sizeof(some));
      int64_t any = 0;
      for (const int64_t w : words) any |= w;
      if (any == 0) continue;
    }
    Indices moves = {};
    Values moved = value;
    for (int64_t s = 0; s < held; ++s) {
      Indices here;
      come_first(&moved, &best[s], largest, &here);
      moves |= here;  // an element that moved down precedes all behind it, even equal ones
      const Values kept = best[s];
      const Indices kept_at = at[s];
      best[s] = moves ? moved : kept;
      at[s] = moves ? index : kept_at;
      moved = moves ? kept : moved;
      index = moves ? kept_at : index;
    }
    if (held < k) {
      best[held] = moved;
      at[held] = index;
    }
  }
  for (int64_t l = 0; l < kLanes; ++l) {
    for (int64_t s = 0; s < k; ++s) order[l * k + s] = at[s][l];
  }
}

// Selects in adjacent lines.
template <class E>
static void SelectLines(const typename E::Stored* x, int64_t* order, int64_t lines, int64_t n,
                        int64_t inner, int64_t k, bool largest) {
  if constexpr (sizeof(typename E::Stored) == 4) {
    if (lines == kLines && k <= kFew && n <= INT32_MAX) {
      for (int64_t l = 0; l < kLines; l += kLanes) {
        SelectFew(x + l, order + l * k, n, inner, k, largest);
      }
      return;
    }
  }
  SelectBeside<E>(x, order, lines, n, inner, k, largest);
}

// Selects in one contiguous line.
template <class E>
static void SelectLine(const typename E::Stored* x, int64_t* order, int64_t n, int64_t k,
                       bool largest) {
  const auto before = [x, largest](int64_t a, int64_t b) {
    return first_of(E::number(x[a]), E::number(x[b]), a, b, largest);
  };
  for (int64_t j = 0; j < k; ++j) order[j] = j;
  heapify(order, k, before);
  for (int64_t j = k; j < n;) {
    if constexpr (dnn_math::is_same<typename E::Stored, typename E::Number>::value) {
      const auto worst = x[order[0]];
      if (!is_nan(worst)) j = next_better(x, j, n, worst, largest);
    }
    for (const int64_t end = dnn_min(j + kLook, n); j < end; ++j) {
      if (!before(j, order[0])) continue;
      order[0] = j;
      sift(order, 0, k, before);
    }
  }
  unheap(order, k, before);
}

// Finds the first k elements of each line of [outer][n][inner] along the middle axis, in descending
// (largest) or ascending order, and their indices. Equal elements are ordered by index; a NaN
// follows every number. Results may be null. order has room for k numbers for each of min(inner,
// kLines) lines.
template <class E>
static void TopK(const typename E::Stored* x, typename E::Stored* values, int64_t* indices,
                 int64_t* order, int64_t outer, int64_t n, int64_t inner, int64_t k, bool largest,
                 int* bad) {
  if (k < 0 || k > n) {
    *bad = 1;
    return;
  }
  const int64_t lines = dnn_min(inner, kLines);
  for (int64_t o = 0; k > 0 && o < outer; ++o) {
    for (int64_t i = 0; i < inner; i += lines) {
      // The last group overlaps the one before it.
      const int64_t first = dnn_min(i, inner - lines);
      const typename E::Stored* const from = x + o * n * inner + first;
      if (inner == 1) {
        SelectLine<E>(from, order, n, k, largest);
      } else {
        SelectLines<E>(from, order, lines, n, inner, k, largest);
      }
      for (int64_t j = 0; j < k; ++j) {
        for (int64_t l = 0; l < lines; ++l) {
          const int64_t to = (o * k + j) * inner + first + l, at = order[l * k + j];
          if (values != nullptr) values[to] = from[at * inner + l];
          if (indices != nullptr) indices[to] = at;
        }
      }
    }
  }
}

// The minimum and maximum coordinate along each of two axes.
struct Box {
  float lo[2], hi[2];
};

// Makes a box from two corners y, x, y, x in any order, or from center x, center y, width, height.
DNN_OPAQUE_FN Box BoxOf(const float* x, bool centers) {
  Box b;
  for (int a = 0; a < 2; ++a) {
    float p = x[a], q = x[a + 2];
    if (centers) {
      const float half = q / 2;
      q = p + half;
      p = p - half;
      b.lo[a] = p;
      b.hi[a] = q;
      continue;
    }
    b.lo[a] = p > q ? q : p;
    b.hi[a] = p > q ? p : q;
  }
  return b;
}

// Returns a product that is rounded separately, even if it is part of a sum.
DNN_OPAQUE_FN float Area(float x, float y) {
  return static_cast<float>(static_cast<double>(x) * static_cast<double>(y));
}

// Reports whether the intersection of two boxes is more than `part` of their union. Boxes without
// area do not overlap.
DNN_OPAQUE_FN bool Overlap(const Box& a, const Box& b, float part) {
  float side[2];
  for (int k = 0; k < 2; ++k) {
    const float lo = b.lo[k] > a.lo[k] ? b.lo[k] : a.lo[k];
    const float hi = b.hi[k] < a.hi[k] ? b.hi[k] : a.hi[k];
    if (!(hi > lo)) return false;
    side[k] = hi - lo;
  }
  const float common = Area(side[0], side[1]);
  const float first = Area(a.hi[0] - a.lo[0], a.hi[1] - a.lo[1]);
  const float second = Area(b.hi[0] - b.lo[0], b.hi[1] - b.lo[1]);
  const float all = first + second - common;
  if (!(common > 0) || !(first > 0) || !(second > 0) || !(all > 0)) return false;
  return common / all > part;
}

// The selected boxes of one batch and class, as an array for each coordinate.
struct Selected {
  float *lo[2], *hi[2];
  int64_t count;
};

DNN_OPAQUE_FN void Select(Selected* s, const Box& b) {
  for (int a = 0; a < 2; ++a) {
    s->lo[a][s->count] = b.lo[a];
    s->hi[a][s->count] = b.hi[a];
  }
  ++s->count;
}

// Reports whether a box overlaps a selected one. Most boxes do not intersect: branch-free
// comparisons find groups that have an intersection, and only for these the area is computed. Boxes
// with a NaN coordinate have no area.
DNN_OPAQUE_FN bool OverlapsSelected(const Box& b, const Selected& s, float part) {
  const int64_t step = 128;
  for (int64_t begin = 0; begin < s.count; begin += step) {
    const int64_t n = dnn_min(step, s.count - begin);
    const float *const lo0 = s.lo[0] + begin, *const lo1 = s.lo[1] + begin;
    const float *const hi0 = s.hi[0] + begin, *const hi1 = s.hi[1] + begin;
    int32_t meet = 0;
    for (int64_t k = 0; k < n; ++k) {
      const int32_t first = (lo0[k] < b.hi[0]) & (b.lo[0] < hi0[k]);
      const int32_t second = (lo1[k] < b.hi[1]) & (b.lo[1] < hi1[k]);
      meet |= first & second;
    }
    for (int64_t k = 0; meet != 0 && k < n; ++k) {
      const Box other = {{lo0[k], lo1[k]}, {hi0[k], hi1[k]}};
      if (Overlap(b, other, part)) return true;
    }
  }
  return false;
}

// Selects, for each batch and class, at most *most boxes in descending order of their scores above
// *least, such that no box overlaps a selected one by more than *overlap. Writes rows of batch,
// class and box index. Boxes of equal score are ordered by index; boxes with a NaN score are last.
// order has room for n numbers, and corners for 4 n.
DNN_OPAQUE_FN void NonMaxSuppression(const float* boxes, const float* scores, const int64_t* most,
                                     const float* overlap, const float* least, int64_t* y,
                                     int64_t* order, float* corners, int64_t batches,
                                     int64_t classes, int64_t n, bool centers, int64_t* count,
                                     int* bad) {
  const float part = overlap != nullptr ? *overlap : 0.0f;
  const int64_t limit = most != nullptr ? *most : 0, room = *count;
  *count = 0;
  if (!(part >= 0 && part <= 1)) {
    *bad = 1;
    return;
  }
  int64_t rows = 0;
  Selected selected = {{corners, corners + n}, {corners + 2 * n, corners + 3 * n}, 0};
  for (int64_t line = 0; line < batches * classes; ++line) {
    const float* const score = scores + line * n;
    const float* const box = boxes + line / classes * n * 4;
    int64_t candidates = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (least == nullptr || score[i] > *least) order[candidates++] = i;
    }
    sort(order, candidates, [score](int64_t a, int64_t b) {
      const bool numbers = !is_nan(score[a]) && !is_nan(score[b]);
      const int c = numbers ? -compare(score[a], score[b]) : compare(score[a], score[b]);
      return c < 0 || (c == 0 && a < b);
    });
    selected.count = 0;
    for (int64_t i = 0; i < candidates && selected.count < limit; ++i) {
      const Box b = BoxOf(box + 4 * order[i], centers);
      if (OverlapsSelected(b, selected, part)) continue;
      if (rows == room) {
        *bad = 1;
        return;
      }
      y[3 * rows] = line / classes;
      y[3 * rows + 1] = line % classes;
      y[3 * rows + 2] = order[i];
      ++rows;
      Select(&selected, b);
    }
  }
  *count = rows;
}

}  // namespace dnn_opaque

#endif  // RULES_DNN_RUNTIME_DNN_SELECT_H_
