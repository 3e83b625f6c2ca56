#include "runtime/bench/machine.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/serve/buffer.h"

namespace rules_dnn::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Duration of a peak test: much longer than starting threads, and shorter than changes of clocks.
constexpr double kTestSeconds = 5e-4;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs work(i) on `threads` threads that start at the same time; returns the seconds until the last
// one ends.
double Together(int threads, const std::function<void(int)>& work) {
  std::atomic<int> waiting{threads};
  std::vector<double> seconds(static_cast<size_t>(threads));
  const auto body = [&](int i) {
    --waiting;
    while (waiting.load() > 0) std::this_thread::yield();
    const Clock::time_point start = Clock::now();
    work(i);
    seconds[static_cast<size_t>(i)] = SecondsSince(start);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(body, i);
  body(0);
  for (std::thread& t : others) t.join();
  return *std::max_element(seconds.begin(), seconds.end());
}

// Returns the highest rate that tests measure in about `seconds`.
double Greatest(double seconds, const std::function<double()>& rate) {
  double most = 0;
  const Clock::time_point start = Clock::now();
  do {
    most = std::max(most, rate());
  } while (SecondsSince(start) < seconds);
  return most;
}

// Returns the size of the largest cache of the first processor, as Linux reports it; 0 if not
// known.
int64_t LargestCache() {
  int64_t most = 0;
  for (int i = 0; i < 8; ++i) {
    char path[80];
    std::snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    std::FILE* const file = std::fopen(path, "r");
    if (file == nullptr) break;
    long long kilobytes = 0;
    if (std::fscanf(file, "%lldK", &kilobytes) == 1) {
      most = std::max(most, int64_t{kilobytes} * 1024);
    }
    std::fclose(file);
  }
  return most;
}

int64_t MemoryBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? int64_t{pages} * size : int64_t{1} << 30;
}

// Returns 256 MB, or twice the largest cache if that is more, but at most an eighth of the memory.
int64_t DefaultBytes(int64_t cache) {
  return std::min(std::max(int64_t{256} << 20, 2 * cache), MemoryBytes() / 8);
}

}  // namespace

Peak::Peak(int64_t (*multiply)(int64_t rounds), int threads)
    : multiply_(multiply), threads_(threads), rounds_(1000) {
  for (;; rounds_ *= 2) {
    const Clock::time_point start = Clock::now();
    multiply_(rounds_);
    if (SecondsSince(start) >= kTestSeconds) return;
  }
}

double Peak::Measure() const {
  std::vector<int64_t> products(static_cast<size_t>(threads_));
  return Greatest(4 * kTestSeconds, [&] {
    const double took =
        Together(threads_, [&](int i) { products[static_cast<size_t>(i)] = multiply_(rounds_); });
    double sum = 0;
    for (const int64_t n : products) sum += static_cast<double>(n);
    return 2 * sum / took / 1e9;
  });
}

double ProductRatio(const Probe& probe, const ProductProbe& product, int threads) {
  const Peak floats(probe.multiply, threads), others(product.multiply, threads);
  double as_floats = 0, as_others = 0;
  for (int i = 0; i < 10; ++i) {
    as_floats = std::max(as_floats, floats.Measure());
    as_others = std::max(as_others, others.Measure());
  }
  return as_floats > 0 ? as_others / as_floats : 0;
}

void MeasureMemory(const Probe& probe, int threads, double seconds, int64_t buffer_bytes,
                   Machine* m) {
  m->cache_bytes = LargestCache();
  m->buffer_bytes = buffer_bytes > 0 ? buffer_bytes : DefaultBytes(m->cache_bytes);
  const size_t step = 2 * kProbeBytes * static_cast<size_t>(threads);
  const size_t part =
      std::max(static_cast<size_t>(m->buffer_bytes) / step, size_t{1}) * 2 * kProbeBytes;
  std::vector<serve::Buffer> parts(static_cast<size_t>(threads));
  std::atomic<bool> enough{true};
  Together(threads, [&](int i) {
    serve::Buffer& b = parts[static_cast<size_t>(i)];
    if (b.Resize(part)) {
      std::memset(b.data(), 0, part);  // makes the system allocate the thread's pages
    } else {
      enough = false;
    }
  });
  if (!enough) return;
  const double bytes = static_cast<double>(part) * threads;
  std::vector<float> found(static_cast<size_t>(threads));
  const auto read = [&] {
    return bytes / 1e9 / Together(threads, [&](int i) {
             const size_t k = static_cast<size_t>(i);
             found[k] += probe.read(parts[k].data(), part);
           });
  };
  const auto copy = [&] {
    return bytes / 1e9 / Together(threads, [&](int i) {
             unsigned char* const p = parts[static_cast<size_t>(i)].data();
             std::memcpy(p, p + part / 2, part / 2);
           });
  };
  m->read_gbs = std::max(m->read_gbs, Greatest(seconds / 2, read));
  m->copy_gbs = std::max(m->copy_gbs, Greatest(seconds / 2, copy));
}

}  // namespace rules_dnn::bench
