// Prints a report of synthetic figures: as text, JSON or a page.
#include <cstdio>
#include <string>

#include "runtime/bench/report.h"

namespace {

rules_dnn::bench::Block MakeBlock(const char* name, const char* kernel, double flops,
                                  double products, double bytes, double ms) {
  rules_dnn::bench::Block b;
  b.name = name;
  b.kernel = kernel;
  b.calls = 1;
  b.flops = flops;
  b.products = products;
  b.bytes = bytes;
  b.times = rules_dnn::bench::Summarise({ms * 3, ms, ms * 0.5, ms * 2, ms * 0.75});
  b.peak_flops = ms * 1e8;  // at 100 GFLOP/s
  return b;
}

}  // namespace

int main(int, char** argv) {
  rules_dnn::bench::Report r;
  r.model = "nets/</script><script>throw 1</script>";
  r.generator = "rules_dnn test";
  r.chip = "a <b>chip</b>";
  r.variants = {r.chip};
  r.symbols = {{"N", 2}, {"</script>", 3}};
  r.threads = 2;
  r.warmup = 3;
  r.times = rules_dnn::bench::Summarise({11, 10, 12, 14});
  r.observed = rules_dnn::bench::Summarise({12});
  r.arena_bytes = 2000000;
  r.weights_bytes = 4000000;
  r.peak_bytes = 9000000;
  r.machine.vector_bytes = 32;
  r.peak_flops = 1.15e9;
  r.machine.gflops = 100;
  r.machine.gflops_least = 96;
  r.machine.gflops_most = 102;
  r.machine.read_gbs = 10;
  r.machine.copy_gbs = 8;
  r.machine.buffer_bytes = 256000000;
  r.machine.cache_bytes = 32000000;
  r.blocks = {
      MakeBlock("Conv \"a\" + Relu \"b\"", "contraction", 2e8, 1.1e8, 1e6, 2.5),
      MakeBlock("Conv \"</script><img src=x onerror=throw(2)>&amp;\"", "window", 4e6, 1.8e6, 4e6,
                1.0),
      MakeBlock("Gather \"only \xc3\xa9 moves\x1b[2J\xff\"", "generic", 0, 0, 3e6, 0.25),
      MakeBlock("TopK \"not known\"", "opaque", -1, 0, 1e6, 5),
      MakeBlock("Gemm \"g\"", "contraction", 3e8, 1.5e8, 2e7, 3.25),
  };
  const std::string form = argv[1];
  if (form == "large") r.least_mflop = 150;
  if (form == "device") {  // its peaks are ten times the processor's
    r.device.name = "a GPU";
    r.device.gflops = 1000;
    r.device.read_gbs = 100;
    r.device.copy_gbs = 80;
    r.peak_flops = 11.5e9;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      r.blocks[i].device = true;
      r.blocks[i].peak_flops *= 10;
    }
  }
  if (form == "bytes") {  // the machine multiplies four times as many of these
    r.machine.products = {{"vpdpbusd_u8i8x16", 4}};
    r.blocks[4].product = 1;
    r.blocks[4].peak_ratio = 4;
    r.blocks[4].peak_flops *= 4;
    r.blocks[0].product = -1;  // the peak of these products is not known
    r.blocks[0].peak_ratio = 0;
    r.blocks[0].peak_flops = 0;
  }
  const std::string text = form == "text"     ? TextReport(r, false, 0)
                           : form == "bytes"  ? TextReport(r, false, 0)
                           : form == "device" ? TextReport(r, false, 0)
                           : form == "large"  ? TextReport(r, false, 0)
                           : form == "time"   ? TextReport(r, true, 2)
                           : form == "json"   ? JsonReport(r)
                                              : HtmlReport(r);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
