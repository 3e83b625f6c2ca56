#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "runtime/bench/report.h"

namespace rules_dnn::bench {
namespace {

__attribute__((format(printf, 1, 2))) std::string Format(const char* format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  return text;
}

// Formats a number in a column of `width` characters; - if it is not known.
std::string Cell(double value, int width, int digits) {
  return value < 0 ? Format(" %*s", width, "-") : Format(" %*.*f", width, digits, value);
}

std::string Percent(double share) { return Cell(share < 0 ? -1 : share * 100, 6, 1); }

// Replaces control characters of a name, which could move a terminal's cursor.
std::string Printable(std::string name) {
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return name;
}

// Lists the chips that the model has kernels for, if there are several.
std::string Variants(const Report& r) {
  if (r.variants.size() < 2) return "";
  std::string out;
  for (const std::string& name : r.variants) out += (out.empty() ? "" : ", ") + Printable(name);
  return " (of the variants " + out + ")";
}

std::string Summary(const Report& r) {
  std::string out = Printable(r.model) + ", made by " + r.generator + " for " + Printable(r.chip) +
                    Variants(r) + Format(": %d thread%s", r.threads, r.threads > 1 ? "s" : "");
  for (const auto& s : r.symbols) {
    out += ", " + Printable(s.first) + "=" + std::to_string(s.second);
  }
  const Times& t = r.times;
  const Block all = r.Whole();
  const Rates rates = r.Of(all);
  out += Format("\n\ntime     median %.4g ms of %d runs, after %d to warm up\n", t.median, t.runs,
                r.warmup);
  out += Format(
      "         minimum %.4g; percentiles 5: %.4g, 25: %.4g, 75: %.4g, 90: %.4g, 95: %.4g, "
      "99: %.4g; maximum %.4g\n",
      t.least, t.p5, t.p25, t.p75, t.p90, t.p95, t.p99, t.most);
  out += Format(
      "machine  %.4g GFLOP/s in products and sums of vectors of %d bytes, %.4g to %.4g between "
      "runs; memory of %.4g MB read at %.4g GB/s, copied at %.4g GB/s\n",
      r.machine.gflops, r.machine.vector_bytes, r.machine.gflops_least, r.machine.gflops_most,
      static_cast<double>(r.machine.buffer_bytes) / 1e6, r.machine.read_gbs, r.machine.copy_gbs);
  for (const auto& p : r.machine.products) {
    out += Format("         products by %s: %.3g times the rate of floats, %.4g GOP/s\n",
                  Printable(p.first).c_str(), p.second, p.second * r.machine.gflops);
  }
  const Device& d = r.device;
  if (d.there()) {
    out += "device   " + Printable(d.name) +
           Format(
               ": %.4g GFLOP/s in products and sums, memory read at %.4g GB/s, copied at %.4g "
               "GB/s; its kernels %.4g ms by the driver's clocks\n",
               d.gflops, d.read_gbs, d.copy_gbs, r.DeviceMs());
  }
  out += Format("network  %.4g GFLOP, %.4g GFLOP/s", all.flops / 1e9, rates.gflops);
  if (rates.of_peak >= 0) out += Format(", %.1f %% of the peak", rates.of_peak * 100);
  if (rates.of_fma_peak >= 0) {
    out += Format("; %.4g GFLOP by micro-kernels, %.1f %%", 2 * all.products / 1e9,
                  rates.of_fma_peak * 100);
  }
  out +=
      Format("\nmemory   arena %.4g MB, weights %.4g MB, process peak %.4g MB\n",
             static_cast<double>(r.arena_bytes) / 1e6, static_cast<double>(r.weights_bytes) / 1e6,
             static_cast<double>(r.peak_bytes) / 1e6);
  out += Format("blocks   %.4g ms in all; a run with a clock around each block takes %.4g ms\n\n",
                r.BlocksMs(), r.observed.median);
  return out;
}

// Summarises the share of the peak of all blocks that are shown.
std::string FmaLine(const Report& r) {
  const FmaShare s = r.ShownFmaShare();
  if (s.blocks == 0) return "";
  std::string out = Format("\n%d blocks with micro-kernels", s.blocks);
  if (r.least_mflop > 0) out += Format(", of at least %.6g MFLOP", r.least_mflop);
  return out + Format(": FMA %% %.1f together; minimum %.1f, block %d\n", s.together * 100,
                      s.least * 100, static_cast<int>(s.least_block));
}

}  // namespace

std::string TextReport(const Report& r, bool longest_first, int top) {
  std::string out = Summary(r);
  std::vector<size_t> order;
  for (size_t i = 0; i < r.blocks.size(); ++i) {
    if (r.Shows(r.blocks[i])) order.push_back(i);
  }
  if (longest_first) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return r.blocks[a].times.median > r.blocks[b].times.median;
    });
  }
  if (top > 0 && order.size() > static_cast<size_t>(top)) order.resize(static_cast<size_t>(top));
  out +=
      "    #        ms  time %     MFLOP  GFLOP/s  peak %   FMA %        MB     GB/s  "
      " mem %  FLOP/B  limit  roof %  block\n";
  for (const size_t i : order) {
    const Block& b = r.blocks[i];
    const Rates x = r.Of(b);
    out += Format("%5d", static_cast<int>(i)) + Cell(b.times.median, 9, 4) + Percent(x.share) +
           " " + Cell(b.flops < 0 ? -1 : b.flops / 1e6, 9, 2) + Cell(x.gflops, 8, 2) + " " +
           Percent(x.of_peak) + " " + Percent(x.of_fma_peak) +
           Cell(b.bytes < 0 ? -1 : b.bytes / 1e6, 9, 3) + Cell(x.gbs, 8, 2) + " " +
           Percent(x.of_bandwidth) + Cell(x.intensity, 7, 2) +
           (x.limit < 0      ? "      -"
            : x.memory_bound ? "    mem"
                             : "    FMA") +
           " " + Percent(x.of_limit) + "  " + Printable(b.name) + " (" + Printable(b.kernel) +
           (b.device ? ", on the device" : "") + ")\n";
  }
  return out + FmaLine(r) +
         "\nms: median over runs. MFLOP, MB: operations of the network; operands and results, each "
         "once. peak %: GFLOP/s divided by the machine's peak at the clock of the same run, for "
         "the "
         "block's kind of products.\nFMA %: products that micro-kernels computed, divided by the "
         "peak; Winograd computes fewer than the network has. mem %: GB/s divided by the machine's "
         "memory bandwidth; caches can make it exceed 100.\nroof %: GFLOP/s divided by the limit, "
         "memory or FMA, at this FLOP/B.\n" +
         (r.device.there() ? "Blocks on the device are compared with its own peaks.\n" : "");
}

}  // namespace rules_dnn::bench
