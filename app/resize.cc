#include <algorithm>
#include <cstddef>

#include "app/image.h"

namespace app {
namespace {

// The source pixels that one result pixel covers along an axis, with their weights.
struct Span {
  int first = 0;
  std::vector<double> weights;  // sum 1
};

std::vector<Span> Spans(int from, int to) {
  std::vector<Span> spans(static_cast<size_t>(to));
  const double step = static_cast<double>(from) / to;
  for (int i = 0; i < to; ++i) {
    const double begin = i * step, end = std::min<double>(from, (i + 1) * step);
    Span& span = spans[static_cast<size_t>(i)];
    span.first = std::min(static_cast<int>(begin), from - 1);
    for (int k = span.first; k < from && k < end; ++k) {
      const double covered = std::min<double>(end, k + 1) - std::max<double>(begin, k);
      span.weights.push_back(covered / (end - begin));
    }
  }
  return spans;
}

}  // namespace

std::vector<float> Resize(const Image& image, int size) {
  const std::vector<Span> columns = Spans(image.width, size), rows = Spans(image.height, size);
  std::vector<float> out;
  out.reserve(static_cast<size_t>(size) * static_cast<size_t>(size) * 3);
  for (const Span& row : rows) {
    for (const Span& column : columns) {
      double sum[3] = {};
      for (size_t y = 0; y < row.weights.size(); ++y) {
        const size_t line = (static_cast<size_t>(row.first) + y) * static_cast<size_t>(image.width);
        for (size_t x = 0; x < column.weights.size(); ++x) {
          const uint8_t* const p = &image.rgb[(line + static_cast<size_t>(column.first) + x) * 3];
          for (int c = 0; c < 3; ++c) sum[c] += p[c] * row.weights[y] * column.weights[x];
        }
      }
      for (const double s : sum) out.push_back(static_cast<float>(s));
    }
  }
  return out;
}

}  // namespace app
