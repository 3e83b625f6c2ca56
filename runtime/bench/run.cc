#include "runtime/bench/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/bench/inputs.h"
#include "runtime/bench/machine.h"
#include "runtime/serve/session.h"

namespace rules_dnn::bench {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// An upper bound of runs whose times are kept, to limit memory.
constexpr size_t kMostRuns = 50 * 1000;

// Observes the blocks of one run.
struct Observation {
  explicit Observation(const Profile& profile)
      : p(&profile), ms(static_cast<size_t>(profile.block_count)), blocks(ms.size()) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      blocks[i].number = static_cast<int32_t>(i);
      blocks[i].name = p->blocks[i].name;
      blocks[i].kernel = p->blocks[i].kernel;
      blocks[i].device = p->blocks[i].device;
      blocks[i].product = p->blocks[i].product;
    }
    times = {nullptr, Took, this};
    counts = {Launched, nullptr, this};
  }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  static void Time(void* self, const Ctx*, int32_t block, bool done) {
    Observation* const o = static_cast<Observation*>(self);
    if (done) {
      o->ms[static_cast<size_t>(block)] += MsSince(o->start);
    } else {
      o->start = Clock::now();
    }
  }

  // Adds the counts of one call; symbols may have other values in the next call.
  static void Count(void* self, const Ctx* c, int32_t block, bool done) {
    if (!done) return;
    const Observation* const o = static_cast<Observation*>(self);
    const BlockInfo& info = o->p->blocks[block];
    Block& b = static_cast<Observation*>(self)->blocks[static_cast<size_t>(block)];
    ++b.calls;
    Add(BlockSize(o->p, info.flops, c->sym), &b.flops);
    Add(BlockSize(o->p, info.products, c->sym), &b.products);
    Add(BlockSize(o->p, info.bytes, c->sym), &b.bytes);
  }

  // For launches: a kernel's time is that on the device.
  static void Took(void* self, int32_t block, double ms) {
    static_cast<Observation*>(self)->ms[static_cast<size_t>(block)] += ms;
  }
  static void Launched(void* self, const Ctx* c, int32_t block) { Count(self, c, block, true); }

  // A sum stays unknown after one unknown term.
  static void Add(int64_t more, double* sum) {
    *sum = more < 0 || *sum < 0 ? -1 : *sum + static_cast<double>(more);
  }

  const Profile* p;
  Clock::time_point start;
  std::vector<double> ms;
  std::vector<Block> blocks;
  LaunchObserver times, counts;
};

// The machine's current peak. It is measured again if the last measurement is old, which takes at
// most a tenth of the time.
class PeakNow {
 public:
  PeakNow(const Peak& peak, bool again) : peak_(peak), again_(again) { Measure(); }

  double Gflops() {
    if (again_ && MsSince(at_) > 20) Measure();
    return seen_.back();
  }

  void Tell(Machine* m) const {
    m->gflops = Median(seen_);
    m->gflops_least = *std::min_element(seen_.begin(), seen_.end());
    m->gflops_most = *std::max_element(seen_.begin(), seen_.end());
  }

 private:
  void Measure() {
    seen_.push_back(peak_.Measure());
    at_ = Clock::now();
  }

  const Peak& peak_;
  const bool again_;
  Clock::time_point at_;
  std::vector<double> seen_;
};

// Times of runs, and the machine's peak at each run.
struct Series {
  std::vector<double> ms, gflops;

  // Runs once and stores the time.
  std::string Run(serve::Session* session, PeakNow* now) {
    gflops.push_back(now->Gflops());
    const Clock::time_point start = Clock::now();
    const std::string error = session->Run();
    ms.push_back(MsSince(start));
    return error;
  }
};

// Returns the median of the operations that the machine can compute in `ms` at `gflops`.
double PeakFlops(const std::vector<double>& ms, const std::vector<double>& gflops) {
  std::vector<double> flops(ms.size());
  for (size_t i = 0; i < ms.size(); ++i) flops[i] = ms[i] * gflops[i] * 1e6;
  return Median(std::move(flops));
}

// Alternates runs with and without clocks around the blocks, so that disturbances affect both.
std::string TimeRuns(serve::Session* session, const Options& o, PeakNow* now, Observation* seen,
                     Report* report) {
  Series plain, observed;
  std::vector<std::vector<double>> blocks(seen->ms.size());
  const Clock::time_point start = Clock::now();
  std::string error;
  while (error.empty() && (plain.ms.size() < static_cast<size_t>(o.runs) ||
                           (MsSince(start) < o.seconds * 1e3 && plain.ms.size() < kMostRuns))) {
    error = plain.Run(session, now);
    std::fill(seen->ms.begin(), seen->ms.end(), 0.0);
    session->Observe(Observation::Time, seen);
    if (error.empty()) error = session->ObserveLaunches(&seen->times);
    if (error.empty()) error = observed.Run(session, now);
    session->Observe(nullptr, nullptr);
    const std::string ended = session->ObserveLaunches(nullptr);
    if (error.empty()) error = ended;
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i].push_back(seen->ms[i]);
  }
  const double there = report->device.gflops;
  report->peak_flops =
      report->device.there() ? Median(plain.ms) * there * 1e6 : PeakFlops(plain.ms, plain.gflops);
  report->times = Summarise(std::move(plain.ms));
  report->observed = Summarise(std::move(observed.ms));
  for (size_t i = 0; error.empty() && i < blocks.size(); ++i) {
    Block& b = seen->blocks[i];
    b.peak_ratio = report->machine.Ratio(b.product);
    b.peak_flops = b.device ? Median(blocks[i]) * there * 1e6
                            : PeakFlops(blocks[i], observed.gflops) * b.peak_ratio;
    seen->blocks[i].times = Summarise(std::move(blocks[i]));
  }
  return error;
}

std::string MeasureDevice(const Profile& profile, DeviceModel* model, double seconds,
                          Device* device) {
  DevicePeaks peaks;
  profile.device_peaks(model, seconds, &peaks);
  if (peaks.error[0] != 0) return std::string("measuring the device: ") + peaks.error;
  device->name = peaks.name[0] == 0 ? "a device without a name" : peaks.name;
  device->gflops = peaks.gflops;
  device->read_gbs = peaks.read_gbs;
  device->copy_gbs = peaks.copy_gbs;
  return "";
}

int64_t PeakBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return usage.ru_maxrss;
#else
  return int64_t{usage.ru_maxrss} * 1024;
#endif
}

const Profile& OfVariant(const Profile& profiles, int32_t variant) {
  return *static_cast<const Profile*>(profiles.variants[variant]());
}

}  // namespace

std::string RunBenchmark(const Description& d, const Profile& profiles, const Options& o,
                         const std::string& weights, Report* report) {
  serve::Session session(&d);
  const std::vector<int64_t> symbols = SymbolValues(d, o);
  std::vector<serve::Array> inputs;
  std::string error = MakeInputs(d, o, symbols, &inputs);
  if (error.empty()) error = session.Load(o.threads, weights, o.variant, o.device);
  if (error.empty()) error = session.SetInputs(std::move(inputs), symbols);
  if (!error.empty()) return error;
  report->model = d.name;
  report->generator = d.generator;
  const Profile& profile = OfVariant(profiles, session.variant());
  report->chip = d.variants[session.variant()].name;
  for (int32_t i = 0; i < d.variant_count; ++i) report->variants.push_back(d.variants[i].name);
  report->threads = o.threads;
  report->warmup = o.warmup;
  report->least_mflop = o.least_mflop;
  for (int32_t i = 0; i < d.given_count; ++i) {
    report->symbols.emplace_back(d.symbols[i].name, symbols[static_cast<size_t>(i)]);
  }
  Observation seen(profile);
  session.Observe(Observation::Count, &seen);
  error = session.ObserveLaunches(&seen.counts);
  if (!error.empty()) return error;
  error = session.Run();
  session.Observe(nullptr, nullptr);
  session.ObserveLaunches(nullptr);
  if (!error.empty()) {
    return error + "; choose values that the model allows: --input=NAME=FILE.npy, or --integers=N";
  }
  report->arena_bytes = session.arena_bytes();
  report->weights_bytes = d.weights_bytes;
  report->peak_bytes = PeakBytes();  // before the probe allocates memory
  Machine* const machine = &report->machine;
  machine->vector_bytes = profile.probe.vector_bytes;
  MeasureMemory(profile.probe, o.threads, o.probe_seconds / 2, o.probe_bytes, machine);
  for (int32_t i = 0; i < profile.product_count; ++i) {
    const ProductProbe& product = profile.products[i];
    machine->products.emplace_back(product.name, ProductRatio(profile.probe, product, o.threads));
  }
  if (profile.device_peaks != nullptr && session.device() != nullptr) {
    error = MeasureDevice(profile, session.device(), o.probe_seconds, &report->device);
  }
  for (int i = 0; i < o.warmup && error.empty(); ++i) error = session.Run();
  const Peak peak(profile.probe.multiply, o.threads);
  PeakNow now(peak, o.probe_seconds > 0);
  if (error.empty()) error = TimeRuns(&session, o, &now, &seen, report);
  if (!error.empty()) return error;
  now.Tell(machine);
  MeasureMemory(profile.probe, o.threads, o.probe_seconds / 2, o.probe_bytes, machine);
  report->blocks = std::move(seen.blocks);
  // Blocks in branches that this run did not take.
  report->blocks.erase(std::remove_if(report->blocks.begin(), report->blocks.end(),
                                      [](const Block& b) { return b.calls == 0; }),
                       report->blocks.end());
  return "";
}

}  // namespace rules_dnn::bench
