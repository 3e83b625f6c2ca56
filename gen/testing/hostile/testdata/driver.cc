// Runs compiled models for tests, each request in a process of its own: requests on standard input,
// what became of them on standard output (build_test.go says how both are written). Memory around
// buffers must survive.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/dnn_model.h"

const rules_dnn::Description* Find(int64_t program);

namespace {

using rules_dnn::Description;
using rules_dnn::Status;

constexpr size_t kGuard = 128;
constexpr rlim_t kSeconds = 20;  // of the processor, for one request

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(3);
}

bool Read(void* to, size_t bytes) { return bytes == 0 || fread(to, bytes, 1, stdin) == 1; }

int64_t Number() {
  int64_t x = 0;
  if (!Read(&x, sizeof(x))) Fail("the request is too short");
  return x;
}

std::string Text() {
  std::string s(static_cast<size_t>(Number()), '\0');
  if (!Read(&s[0], s.size())) Fail("the request is too short");
  return s;
}

// Memory of a size that is aligned for all types, with a pattern around it.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes), size_((bytes + 3 * kGuard - 1) / kGuard * kGuard) {
    memory_ = static_cast<uint8_t*>(aligned_alloc(kGuard, size_));
    if (memory_ == nullptr) Fail("no memory");
    memset(memory_, 0xa5, size_);
  }
  Buffer(Buffer&& other) noexcept
      : bytes_(other.bytes_), size_(other.size_), memory_(other.memory_) {
    other.memory_ = nullptr;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { free(memory_); }
  uint8_t* data() const { return memory_ + kGuard; }
  size_t bytes() const { return bytes_; }
  void Check() const {
    for (size_t i = 0; i < size_; ++i) {
      const bool inside = i >= kGuard && i < kGuard + bytes_;
      if (!inside && memory_[i] != 0xa5) Fail("something wrote beside a buffer");
    }
  }

 private:
  size_t bytes_, size_;
  uint8_t* memory_;
};

struct Request {
  int64_t program, keep_denormals;
  std::string weights;
  std::vector<std::string> names;  // of symbols
  std::vector<int64_t> values;
  std::vector<std::string> inputs;
};

Request ReadRequest(int64_t program) {
  Request r;
  r.program = program;
  r.keep_denormals = Number();
  r.weights = Text();
  for (int64_t n = Number(); n > 0; --n) {
    r.names.push_back(Text());
    r.values.push_back(Number());
  }
  for (int64_t n = Number(); n > 0; --n) r.inputs.push_back(Text());
  return r;
}

void Put(FILE* to, int64_t x) { fwrite(&x, sizeof(x), 1, to); }

void PutText(FILE* to, const char* text, size_t length) {
  Put(to, static_cast<int64_t>(length));
  fwrite(text, 1, length, to);
}

std::vector<int64_t> Symbols(const Description* d, const Request& r) {
  std::vector<int64_t> sym(static_cast<size_t>(d->symbol_count) + 1);
  for (int32_t i = 0; i < d->given_count; ++i) {
    for (size_t k = 0; k < r.names.size(); ++k) {
      if (r.names[k] == d->symbols[i].name) sym[static_cast<size_t>(i)] = r.values[k];
    }
  }
  return sym;
}

// Status and explanation, then the results of a run.
void Serve(const Request& r, FILE* to) {
  const Description* const d = Find(r.program);
  if (d == nullptr) Fail("no such program");
  Buffer weights(r.weights.size());
  memcpy(weights.data(), r.weights.data(), r.weights.size());
  rules_dnn::Options options = {};
  options.size = sizeof(options);
  options.weights = weights.data();
  options.weights_bytes = weights.bytes();
  options.keep_denormals = static_cast<int32_t>(r.keep_denormals);
  rules_dnn::Model* model = nullptr;
  rules_dnn::Context* context = nullptr;
  if (rules_dnn::ModelCreate(d, &options, &model) != Status::kOk) Fail("no model");
  if (rules_dnn::ContextCreate(model, &context) != Status::kOk) Fail("no context");
  const std::vector<int64_t> sym = Symbols(d, r);
  std::vector<char> text(4096);
  const Status dims = rules_dnn::CheckDims(d, sym.data());
  std::vector<Buffer> in, out;
  std::vector<const void*> in_data;
  std::vector<void*> out_data;
  bool fits = true;
  if (r.inputs.size() != static_cast<size_t>(d->input_count)) Fail("another number of inputs");
  for (int32_t i = 0; i < d->input_count; ++i) {
    const std::string& x = r.inputs[static_cast<size_t>(i)];
    const int64_t want = rules_dnn::TensorBytes(d, d->inputs + i, sym.data());
    fits = fits && want == static_cast<int64_t>(x.size());
    in.emplace_back(x.size());
    memcpy(in.back().data(), x.data(), x.size());
    in_data.push_back(in.back().data());
  }
  for (int32_t i = 0; i < d->output_count; ++i) {
    const int64_t bytes =
        dims == Status::kOk ? rules_dnn::TensorBytes(d, d->outputs + i, sym.data()) : 0;
    if (bytes < 0) Fail("no size of an output");
    out.emplace_back(static_cast<size_t>(bytes));
    out_data.push_back(out.back().data());
  }
  if (dims == Status::kOk &&
      !fits) {  // two symbols of the model became one, so that no dims say what was given
    Put(to, static_cast<int64_t>(Status::kBufferSize));
    PutText(to, "", 0);
    return;
  }
  const Status status = rules_dnn::Run(context, sym.data(), in_data.data(), out_data.data());
  if (dims != Status::kOk && status != dims) Fail("a run and CheckDims give other statuses");
  Put(to, static_cast<int64_t>(status));
  const size_t length = rules_dnn::ExplainRun(context, text.data(), text.size());
  PutText(to, text.data(), length < text.size() ? length : text.size() - 1);
  for (int32_t i = 0; i < d->output_count && status == Status::kOk; ++i) {
    const size_t rank = static_cast<size_t>(d->outputs[i].rank);
    std::vector<int64_t> shape(rank + 1);
    if (rules_dnn::ResultShape(context, d->outputs + i, shape.data()) != Status::kOk)
      Fail("no shape of a result");
    Put(to, static_cast<int64_t>(rank));
    fwrite(shape.data(), sizeof(shape[0]), rank, to);
    PutText(to, reinterpret_cast<const char*>(out[static_cast<size_t>(i)].data()),
            out[static_cast<size_t>(i)].bytes());
  }
  for (const Buffer& b : in) b.Check();
  for (const Buffer& b : out) b.Check();
  weights.Check();
  rules_dnn::ContextDestroy(context);
  rules_dnn::ModelDestroy(model);
}

void Copy(FILE* from) {
  const long length = (fseek(from, 0, SEEK_END), ftell(from));
  std::vector<char> all(static_cast<size_t>(length) + 1);
  rewind(from);
  if (length > 0 && fread(all.data(), static_cast<size_t>(length), 1, from) != 1) Fail("no result");
  PutText(stdout, all.data(), static_cast<size_t>(length));
  fclose(from);
}

// Writes how the process of a request ended, its result, and what it said.
void Isolate(const Request& r) {
  FILE* const result = tmpfile();
  FILE* const said = tmpfile();
  if (result == nullptr || said == nullptr) Fail("no temporary file");
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) Fail("no process");
  if (child == 0) {
    const rlimit seconds = {kSeconds, kSeconds};
    setrlimit(RLIMIT_CPU, &seconds);
    dup2(fileno(said), 2);
    Serve(r, result);
    fflush(result);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) Fail("no end of a process");
  Put(stdout, WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
  Copy(result);
  Copy(said);
}

}  // namespace

int main() {
  int64_t program = 0;
  while (Read(&program, sizeof(program))) Isolate(ReadRequest(program));
  return 0;
}
