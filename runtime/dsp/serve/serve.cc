// A program that serves one model on a DSP under an emulator. The caller writes requests to its
// standard input and reads the answers from its standard output. Numbers have 64 bits; a text and a
// tensor's bytes are preceded by their length; a request begins with a number that is ignored.
//
// First it describes the model: the counts of symbols that the caller sets, of inputs, outputs and
// blocks; the symbols' names; the inputs' names; each output's name, type and rank; and each
// block's name and kernel. A request has the symbols' values and each input's bytes. The answer has
// the status and its description. If the status is 0, each output's dimensions and bytes follow.
// Then come the packets, instructions and vector instructions that each block executed.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "runtime/dnn_memory.h"
#include "runtime/dnn_model.h"
#include "runtime/dnn_profile.h"

extern "C" const void* dnn_served_model(void);
extern "C" const void* dnn_served_profile(void);

namespace {

using rules_dnn::Description;
using rules_dnn::Profile;
using rules_dnn::Status;

constexpr int kCounters = 3;
constexpr int kMaxRank = 32;

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

// Fails with the name of a tensor.
[[noreturn]] void Fail(const char* name, const char* what) {
  fprintf(stderr, "%s\n", name);
  Fail(what);
}

void Write(const void* from, size_t bytes) {
  if (fwrite(from, 1, bytes, stdout) != bytes) Fail("cannot write the answer");
}

void WriteNumber(int64_t x) { Write(&x, sizeof(x)); }

void WriteText(const char* s) {
  WriteNumber(static_cast<int64_t>(strlen(s)));
  Write(s, strlen(s));
}

bool Read(void* to, size_t bytes) { return fread(to, 1, bytes, stdin) == bytes; }

// Counts of executed instructions by block.
struct Counts {
  uint32_t begin[kCounters];
  int64_t (*blocks)[kCounters];
};

void Observe(void* user, const rules_dnn::Ctx*, int32_t block, bool done) {
  Counts* const c = static_cast<Counts*>(user);
  if (!done) return driver_counters(c->begin);
  uint32_t now[kCounters];
  driver_counters(now);
  for (int i = 0; i < kCounters; ++i) c->blocks[block][i] += now[i] - c->begin[i];
}

struct Session {
  const Description* d;
  const Profile* profile;
  rules_dnn::Context* context;
  int64_t sym[rules_dnn::kMaxSymbols];
  void** buffers;  // inputs, then outputs
  Counts counts;
};

void* Take(int64_t bytes) {
  void* const memory =
      bytes < 0 ? nullptr
                : rules_dnn::AllocateMemory(static_cast<size_t>(bytes) + 1, rules_dnn::kAlignment);
  if (memory == nullptr) Fail("no memory");
  return memory;
}

void Tell(const Description* d, const Profile* p) {
  const int32_t counts[] = {d->given_count, d->input_count, d->output_count, p->block_count};
  for (const int32_t n : counts) WriteNumber(n);
  for (int32_t i = 0; i < d->given_count; ++i) WriteText(d->symbols[i].name);
  for (int32_t i = 0; i < d->input_count; ++i) WriteText(d->inputs[i].name);
  for (int32_t i = 0; i < d->output_count; ++i) {
    WriteText(d->outputs[i].name);
    WriteText(d->outputs[i].type);
    WriteNumber(d->outputs[i].rank);
  }
  for (int32_t i = 0; i < p->block_count; ++i) {
    WriteText(p->blocks[i].name);
    WriteText(p->blocks[i].kernel);
  }
}

// Reads the inputs and allocates the outputs; returns false at the end of the requests.
bool ReadRequest(Session* s) {
  const Description* const d = s->d;
  const size_t given = static_cast<size_t>(d->given_count) * sizeof(int64_t);
  int64_t go = 0;
  if (!Read(&go, sizeof(go))) return false;
  if (!Read(s->sym, given)) Fail("the request ends early");
  for (int32_t i = 0; i < d->input_count; ++i) {
    int64_t bytes = 0;
    if (!Read(&bytes, sizeof(bytes))) Fail("the request ends early");
    if (bytes != rules_dnn::TensorBytes(d, &d->inputs[i], s->sym))
      Fail(d->inputs[i].name, "the request has a different number of bytes for this input");
    s->buffers[i] = Take(bytes);
    if (!Read(s->buffers[i], static_cast<size_t>(bytes))) Fail("the request ends early");
  }
  for (int32_t i = 0; i < d->output_count; ++i) {
    s->buffers[d->input_count + i] = Take(rules_dnn::TensorBytes(d, &d->outputs[i], s->sym));
  }
  return true;
}

void WriteOutputs(const Session& s) {
  const Description* const d = s.d;
  for (int32_t i = 0; i < d->output_count; ++i) {
    const rules_dnn::TensorInfo& t = d->outputs[i];
    int64_t shape[kMaxRank], bytes = t.element_bytes;
    if (t.rank > kMaxRank || rules_dnn::ResultShape(s.context, &t, shape) != Status::kOk) {
      Fail(t.name, "after the run, this output has no shape or too many dimensions");
    }
    for (int32_t k = 0; k < t.rank; ++k) {
      WriteNumber(shape[k]);
      bytes *= shape[k];
    }
    WriteNumber(bytes);
    Write(s.buffers[d->input_count + i], static_cast<size_t>(bytes));
  }
}

void Answer(Session* s) {
  const Description* const d = s->d;
  const void* const* const in = s->buffers;
  void** const out = s->buffers + d->input_count;
  for (int32_t i = 0; i < s->profile->block_count; ++i) {
    for (int k = 0; k < kCounters; ++k) s->counts.blocks[i][k] = 0;
  }
  const Status status = rules_dnn::Run(s->context, s->sym, in, out);
  char words[400];
  words[0] = 0;
  rules_dnn::ExplainRun(s->context, words, sizeof(words));
  WriteNumber(static_cast<int64_t>(status));
  WriteText(words);
  if (status == Status::kOk) WriteOutputs(*s);
  for (int32_t i = 0; i < s->profile->block_count; ++i) {
    for (int k = 0; k < kCounters; ++k) WriteNumber(s->counts.blocks[i][k]);
  }
}

}  // namespace

int main() {
  static Session s;
  s.d = static_cast<const Description*>(dnn_served_model());
  s.profile = static_cast<const Profile*>(dnn_served_profile());
  const int64_t block = sizeof(s.counts.blocks[0]);
  s.counts.blocks = static_cast<int64_t(*)[kCounters]>(Take(s.profile->block_count * block));
  const int64_t buffers = s.d->input_count + s.d->output_count;
  s.buffers = static_cast<void**>(Take(buffers * static_cast<int64_t>(sizeof(void*))));
  rules_dnn::Model* model = nullptr;
  Status status = rules_dnn::ModelCreate(s.d, nullptr, &model);
  if (status == Status::kOk) status = rules_dnn::ContextCreate(model, &s.context);
  if (status != Status::kOk) Fail(rules_dnn::StatusMessage(status));
  rules_dnn::Observe(s.context, Observe, &s.counts);
  Tell(s.d, s.profile);
  while (ReadRequest(&s)) {
    Answer(&s);
    for (int64_t i = buffers; i-- > 0;) rules_dnn::FreeMemory(s.buffers[i]);
  }
  rules_dnn::ContextDestroy(s.context);
  rules_dnn::ModelDestroy(model);
  return 0;
}
