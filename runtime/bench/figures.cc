#include "runtime/bench/figures.h"

#include <algorithm>
#include <cmath>

namespace rules_dnn::bench {
namespace {

// Interpolates between neighbours, so that the median of two numbers is their mean.
double Percentile(const std::vector<double>& sorted, double p) {
  const double at = p / 100 * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - std::floor(at));
}

void AddKnown(double value, double* sum) { *sum += std::max(value, 0.0); }

}  // namespace

Times Summarise(std::vector<double> ms) {
  Times t;
  if (ms.empty()) return t;
  std::sort(ms.begin(), ms.end());
  t.runs = static_cast<int>(ms.size());
  t.least = ms.front();
  t.most = ms.back();
  for (const double x : ms) t.mean += x / static_cast<double>(ms.size());
  t.p5 = Percentile(ms, 5);
  t.p25 = Percentile(ms, 25);
  t.median = Percentile(ms, 50);
  t.p75 = Percentile(ms, 75);
  t.p90 = Percentile(ms, 90);
  t.p95 = Percentile(ms, 95);
  t.p99 = Percentile(ms, 99);
  return t;
}

double Median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  return Percentile(numbers, 50);
}

double Machine::Ratio(int32_t product) const {
  if (product == 0) return 1;
  const size_t i = static_cast<size_t>(product) - 1;
  return product > 0 && i < products.size() ? products[i].second : 0;
}

double Report::BlocksMs() const {
  double sum = 0;
  for (const Block& b : blocks) sum += b.times.median;
  return sum;
}

double Report::DeviceMs() const {
  double sum = 0;
  for (const Block& b : blocks) sum += b.device ? b.times.median : 0;
  return sum;
}

Block Report::Whole() const {
  Block all;
  all.name = model;
  all.times = times;
  all.device = device.there();
  bool known = true;
  double as_floats = 0,
         most = 0;  // operations in products of floats, and the peak in the same time
  for (const Block& b : blocks) {
    all.calls += b.calls;
    AddKnown(b.flops, &all.flops);
    AddKnown(b.products, &all.products);
    AddKnown(b.bytes, &all.bytes);
    const double work = std::max({b.flops, 2 * b.products, 0.0});
    most += work;
    as_floats += b.peak_ratio > 0 ? work / b.peak_ratio : 0;
    known = known && (b.peak_ratio > 0 || work == 0);
  }
  if (as_floats > 0) all.peak_ratio = most / as_floats;
  if (!known) all.peak_ratio = 0;
  all.peak_flops = peak_flops * all.peak_ratio;
  return all;
}

Rates Report::Of(const Block& b) const {
  Rates r;
  const double seconds = b.times.median / 1e3;
  if (BlocksMs() > 0) r.share = b.times.median / BlocksMs();
  if (!(seconds > 0)) return r;
  if (b.flops >= 0) r.gflops = b.flops / seconds / 1e9;
  if (b.bytes >= 0) r.gbs = b.bytes / seconds / 1e9;
  const double most_gbs = b.device ? device.gbs() : machine.gbs();
  const double most_gflops = b.device ? device.gflops : machine.gflops * b.peak_ratio;
  if (most_gbs > 0 && r.gbs >= 0) r.of_bandwidth = r.gbs / most_gbs;
  if (!(most_gflops > 0) || !(b.peak_flops > 0)) return r;
  if (b.flops >= 0) r.of_peak = b.flops / b.peak_flops;
  if (b.products > 0) r.of_fma_peak = 2 * b.products / b.peak_flops;
  if (b.flops >= 0 && b.bytes > 0 && most_gbs > 0) {
    r.intensity = b.flops / b.bytes;
    r.memory_bound = r.intensity * most_gbs < most_gflops;
    r.limit = r.memory_bound ? r.intensity * most_gbs : most_gflops;
    if (r.limit > 0) r.of_limit = r.memory_bound ? r.gflops / r.limit : r.of_peak;
  }
  return r;
}

bool Report::Shows(const Block& b) const { return std::max(b.flops, 0.0) >= least_mflop * 1e6; }

FmaShare Report::ShownFmaShare() const {
  FmaShare s;
  double computed = 0, possible = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const double share = Of(blocks[i]).of_fma_peak;
    if (!Shows(blocks[i]) || share < 0) continue;
    computed += 2 * blocks[i].products;
    possible += blocks[i].peak_flops;
    if (s.blocks++ > 0 && s.least <= share) continue;
    s.least = share;
    s.least_block = i;
  }
  if (possible > 0) s.together = computed / possible;
  return s;
}

}  // namespace rules_dnn::bench
