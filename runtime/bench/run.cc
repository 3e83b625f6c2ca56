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

// Times of runs that nobody would read one by one only fill memory.
constexpr size_t kMostRuns = 50 * 1000;

// What is seen of the blocks of one run.
struct Observation {
  explicit Observation(const Profile& profile)
      : p(&profile), ms(static_cast<size_t>(profile.block_count)), blocks(ms.size()) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      blocks[i].number = static_cast<int32_t>(i);
      blocks[i].name = p->blocks[i].name;
      blocks[i].kernel = p->blocks[i].kernel;
    }
  }

  static void Time(void* self, const Ctx*, int32_t block, bool done) {
    Observation* const o = static_cast<Observation*>(self);
    if (done) {
      o->ms[static_cast<size_t>(block)] += MsSince(o->start);
    } else {
      o->start = Clock::now();
    }
  }

  // Adds up what a call amounts to; the symbols may have other values in the next one.
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

  // What is not known once is not known.
  static void Add(int64_t more, double* sum) {
    *sum = more < 0 || *sum < 0 ? -1 : *sum + static_cast<double>(more);
  }

  const Profile* p;
  Clock::time_point start;
  std::vector<double> ms;
  std::vector<Block> blocks;
};

// One run and its time.
std::string TimedRun(serve::Session* session, std::vector<double>* ms) {
  const Clock::time_point start = Clock::now();
  const std::string error = session->Run();
  ms->push_back(MsSince(start));
  return error;
}

// Runs with and without clocks around the blocks take turns, so that what disturbs one disturbs
// the other.
std::string TimeRuns(serve::Session* session, const Options& o, Observation* seen, Report* report) {
  std::vector<double> plain, observed;
  std::vector<std::vector<double>> blocks(seen->ms.size());
  const Clock::time_point start = Clock::now();
  std::string error;
  while (error.empty() && (plain.size() < static_cast<size_t>(o.runs) ||
                           (MsSince(start) < o.seconds * 1e3 && plain.size() < kMostRuns))) {
    error = TimedRun(session, &plain);
    std::fill(seen->ms.begin(), seen->ms.end(), 0.0);
    session->Observe(Observation::Time, seen);
    if (error.empty()) error = TimedRun(session, &observed);
    session->Observe(nullptr, nullptr);
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i].push_back(seen->ms[i]);
  }
  report->times = Summarise(std::move(plain));
  report->observed = Summarise(std::move(observed));
  for (size_t i = 0; i < blocks.size(); ++i) {
    seen->blocks[i].times = Summarise(std::move(blocks[i]));
  }
  return error;
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

}  // namespace

std::string RunBenchmark(const Description& d, const Profile& profile, const Options& o,
                         const std::string& weights, Report* report) {
  serve::Session session(&d);
  const std::vector<int64_t> symbols = SymbolValues(d, o);
  std::vector<serve::Array> inputs;
  std::string error = MakeInputs(d, o, symbols, &inputs);
  if (error.empty()) error = session.Load(o.threads, weights);
  if (error.empty()) error = session.SetInputs(std::move(inputs), symbols);
  if (!error.empty()) return error;
  report->model = d.name;
  report->generator = d.generator;
  report->chip = profile.chip;
  report->threads = o.threads;
  report->warmup = o.warmup;
  for (int32_t i = 0; i < d.given_count; ++i) {
    report->symbols.emplace_back(d.symbols[i].name, symbols[static_cast<size_t>(i)]);
  }
  Observation seen(profile);
  session.Observe(Observation::Count, &seen);
  error = session.Run();
  session.Observe(nullptr, nullptr);
  if (!error.empty()) {
    return error + "; give values that the model allows: --input=NAME=FILE.npy, or --integers=N";
  }
  report->arena_bytes = session.arena_bytes();
  report->weights_bytes = d.weights_bytes;
  report->peak_bytes = PeakBytes();  // before the probe takes more
  Measure(profile.probe, o.threads, o.probe_seconds / 2, o.probe_bytes, &report->machine);
  for (int i = 0; i < o.warmup && error.empty(); ++i) error = session.Run();
  if (error.empty()) error = TimeRuns(&session, o, &seen, report);
  if (!error.empty()) return error;
  Measure(profile.probe, o.threads, o.probe_seconds / 2, o.probe_bytes, &report->machine);
  report->blocks = std::move(seen.blocks);
  // Branches that this run did not take.
  report->blocks.erase(std::remove_if(report->blocks.begin(), report->blocks.end(),
                                      [](const Block& b) { return b.calls == 0; }),
                       report->blocks.end());
  return "";
}

}  // namespace rules_dnn::bench
