#include <cmath>
#include <cstdio>

#include "runtime/bench/report.h"
#include "runtime/serve/json.h"

namespace rules_dnn::bench {
namespace {

using serve::QuoteJson;

std::string Number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

std::string Known(double value) { return value < 0 ? "null" : Number(value); }

// Collects "key": value members, separated by commas.
class Object {
 public:
  explicit Object(const char* indent) : indent_(indent) {}

  Object& Add(const char* key, const std::string& value) {
    text_ += (text_.empty() ? "" : ",") + indent_ + QuoteJson(key) + ": " + value;
    return *this;
  }
  Object& Known(const char* key, double value) { return Add(key, bench::Known(value)); }

  std::string Text() const { return "{" + text_ + "}"; }

 private:
  std::string indent_, text_;
};

std::string TimesJson(const Times& t) {
  return Object(" ")
      .Add("runs", std::to_string(t.runs))
      .Add("median", Number(t.median))
      .Add("mean", Number(t.mean))
      .Add("least", Number(t.least))
      .Add("p5", Number(t.p5))
      .Add("p25", Number(t.p25))
      .Add("p75", Number(t.p75))
      .Add("p90", Number(t.p90))
      .Add("p95", Number(t.p95))
      .Add("p99", Number(t.p99))
      .Add("most", Number(t.most))
      .Text();
}

std::string ProductName(const Report& r, const Block& b) {
  const size_t i = static_cast<size_t>(b.product) - 1;
  if (b.product > 0 && i < r.machine.products.size()) return r.machine.products[i].first;
  return b.product == 0 ? "f32" : "other";
}

std::string BlockJson(const Report& r, const Block& b) {
  const Rates x = r.Of(b);
  return Object(" ")
      .Add("name", QuoteJson(b.name))
      .Add("kernel", QuoteJson(b.kernel))
      .Known("block", b.number)
      .Add("device", b.device ? "true" : "false")
      .Add("calls", std::to_string(b.calls))
      .Add("ms", TimesJson(b.times))
      .Known("share", x.share)
      .Known("flops", b.flops)
      .Known("products", b.products)
      .Known("bytes", b.bytes)
      .Add("peak_flops", Number(b.peak_flops))
      .Add("product", QuoteJson(ProductName(r, b)))
      .Add("peak_ratio", Number(b.peak_ratio))
      .Known("gflops", x.gflops)
      .Known("gbs", x.gbs)
      .Known("of_peak", x.of_peak)
      .Known("of_fma_peak", x.of_fma_peak)
      .Known("of_bandwidth", x.of_bandwidth)
      .Known("intensity", x.intensity)
      .Add("bound", x.limit < 0 ? "null" : QuoteJson(x.memory_bound ? "memory" : "fma"))
      .Known("limit", x.limit)
      .Known("of_limit", x.of_limit)
      .Text();
}

std::string MachineJson(const Machine& m) {
  std::string products;
  for (const auto& p : m.products) {
    products += (products.empty() ? "" : ", ") + QuoteJson(p.first) + ": " + Number(p.second);
  }
  return Object(" ")
      .Add("vector_bytes", std::to_string(m.vector_bytes))
      .Add("gflops", Number(m.gflops))
      .Add("gflops_least", Number(m.gflops_least))
      .Add("gflops_most", Number(m.gflops_most))
      .Add("read_gbs", Number(m.read_gbs))
      .Add("copy_gbs", Number(m.copy_gbs))
      .Add("gbs", Number(m.gbs()))
      .Add("buffer_bytes", std::to_string(m.buffer_bytes))
      .Add("cache_bytes", std::to_string(m.cache_bytes))
      .Add("products", "{" + products + "}")
      .Text();
}

std::string DeviceJson(const Report& r) {
  const Device& d = r.device;
  if (!d.there()) return "null";
  return Object(" ")
      .Add("name", QuoteJson(d.name))
      .Add("gflops", Number(d.gflops))
      .Add("read_gbs", Number(d.read_gbs))
      .Add("copy_gbs", Number(d.copy_gbs))
      .Add("gbs", Number(d.gbs()))
      .Add("kernels_ms", Number(r.DeviceMs()))
      .Text();
}

std::string SymbolsJson(const Report& r) {
  std::string out;
  for (const auto& s : r.symbols) {
    out += (out.empty() ? "" : ", ") + QuoteJson(s.first) + ": " + std::to_string(s.second);
  }
  return "{" + out + "}";
}

std::string VariantsJson(const Report& r) {
  std::string out;
  for (const std::string& name : r.variants) out += (out.empty() ? "" : ", ") + QuoteJson(name);
  return "[" + out + "]";
}

}  // namespace

std::string JsonReport(const Report& r) {
  std::string blocks;
  for (const Block& b : r.blocks) blocks += (blocks.empty() ? "\n  " : ",\n  ") + BlockJson(r, b);
  return Object("\n ")
             .Add("model", QuoteJson(r.model))
             .Add("generator", QuoteJson(r.generator))
             .Add("chip", QuoteJson(r.chip))
             .Add("variants", VariantsJson(r))
             .Add("threads", std::to_string(r.threads))
             .Add("symbols", SymbolsJson(r))
             .Add("warmup", std::to_string(r.warmup))
             .Add("ms", TimesJson(r.times))
             .Add("observed_ms", TimesJson(r.observed))
             .Add("blocks_ms", Number(r.BlocksMs()))
             .Add("machine", MachineJson(r.machine))
             .Add("device", DeviceJson(r))
             .Add("arena_bytes", std::to_string(r.arena_bytes))
             .Add("weights_bytes", std::to_string(r.weights_bytes))
             .Add("peak_bytes", std::to_string(r.peak_bytes))
             .Add("whole", BlockJson(r, r.Whole()))
             .Add("least_mflop", Number(r.least_mflop))
             .Add("blocks", "[" + blocks + "]")
             .Text() +
         "\n";
}

}  // namespace rules_dnn::bench
