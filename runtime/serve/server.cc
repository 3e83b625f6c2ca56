#include "runtime/serve/server.h"

#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

namespace rules_dnn::serve {
namespace {

// Limits the length of an answer.
constexpr size_t kMaxRuns = 10 * 1000 * 1000;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

// Reads a member that is a number of at least 0, or uses the default.
std::string ReadNumber(const Json& request, const char* key, double otherwise, double* value) {
  const Json* const member = request.Find(key);
  *value = member == nullptr ? otherwise : member->number;
  if (member != nullptr && (member->kind != Json::Kind::kNumber || member->number < 0)) {
    return std::string(key) + " must be a number of at least 0";
  }
  return "";
}

std::string ReadText(const Json& value, const std::string& what, std::string* text) {
  if (value.kind != Json::Kind::kString) return what + " must be a string";
  *text = value.text;
  return "";
}

// Returns the names that a request may use, "a, b".
std::string Names(const TensorInfo* tensors, int32_t count) {
  std::string out;
  for (int32_t i = 0; i < count; ++i) out += (i > 0 ? ", " : "") + std::string(tensors[i].name);
  return out.empty() ? "none" : out;
}

}  // namespace

std::string Server::Load(const Json& request, std::string* answer) {
  double threads = 1;
  const std::string wrong = ReadNumber(request, "threads", 1, &threads);
  if (!wrong.empty()) return wrong;
  if (threads != std::floor(threads) || threads < 1 || threads > 1024) {
    return "threads must be a whole number from 1 to 1024";
  }
  DeviceChoice choice = device_;
  if (const Json* const records = request.Find("command_buffers")) {
    const std::string error = ReadText(*records, "command_buffers", &choice.command_buffers);
    if (!error.empty()) return error;
  }
  const Clock::time_point start = Clock::now();
  const std::string error = session_.Load(static_cast<int>(threads), weights_, variant_, choice);
  if (!error.empty()) return error;
  *answer = "\"ok\":true,\"version\":" + QuoteJson(session_.description().generator) +
            ",\"load_s\":" + Number(SecondsSince(start));
  return "";
}

std::string Server::Inputs(const Json& request, std::string* answer) {
  const Json* const files = request.Find("files");
  if (files == nullptr || files->kind != Json::Kind::kObject) return "files must be an object";
  const Description& d = session_.description();
  for (const auto& member : files->members) {
    bool known = false;
    for (int32_t i = 0; i < d.input_count; ++i) known = known || member.first == d.inputs[i].name;
    if (!known) {
      return "the model has no input " + member.first +
             "; its inputs: " + Names(d.inputs, d.input_count);
    }
  }
  std::vector<Array> arrays(static_cast<size_t>(d.input_count));
  for (int32_t i = 0; i < d.input_count; ++i) {
    const Json* const file = files->Find(d.inputs[i].name);
    if (file == nullptr) return std::string("there is no file for input ") + d.inputs[i].name;
    std::string path;
    std::string error =
        ReadText(*file, "the file of input " + std::string(d.inputs[i].name), &path);
    if (error.empty()) error = ReadNpy(path, &arrays[static_cast<size_t>(i)]);
    if (!error.empty()) return error;
    // .npy files hold the bits of bf16 as uint16.
    Array& array = arrays[static_cast<size_t>(i)];
    if (std::string(d.inputs[i].type) == "bf16" && array.type == "u16") array.type = "bf16";
  }
  *answer = "\"ok\":true";
  return session_.SetInputs(std::move(arrays));
}

std::string Server::Run(const Json& request, std::string* answer) {
  double seconds = 0, min_runs = 1;
  std::string error = ReadNumber(request, "seconds", 0, &seconds);
  if (error.empty()) error = ReadNumber(request, "min_runs", 1, &min_runs);
  if (!error.empty()) return error;
  if (min_runs > static_cast<double>(kMaxRuns)) return "min_runs is too large";
  std::vector<double> ms;
  const Clock::time_point start = Clock::now();
  while (static_cast<double>(ms.size()) < min_runs ||
         (SecondsSince(start) < seconds && ms.size() < kMaxRuns)) {
    const Clock::time_point begin = Clock::now();
    error = session_.Run();
    ms.push_back(SecondsSince(begin) * 1e3);
    if (!error.empty()) return error;
  }
  *answer = "\"ms\":[";
  for (size_t i = 0; i < ms.size(); ++i) *answer += (i > 0 ? "," : "") + Number(ms[i]);
  *answer += "]";
  return "";
}

namespace {

// Writes the values of blocks to files, and lists the files.
struct ValueWriter {
  std::string dir, list, error;
  std::vector<unsigned char> dense;
  int count = 0;

  void Write(const ValueBlock& block, const Value& value) {
    if (value.data == nullptr || !error.empty())
      return;  // values of a device are reported again after their transfer
    const std::vector<int64_t> shape(value.dims, value.dims + value.rank);
    size_t bytes = static_cast<size_t>(value.element_bytes);
    for (const int64_t dim : shape) bytes *= static_cast<size_t>(dim);
    dense.resize(bytes);
    const std::string path = dir + "/value_" + std::to_string(count++) + ".npy";
    const Status status = ValueRowMajor(&value, dense.data(), bytes);
    error = status == Status::kOk ? WriteNpy(path, value.type, shape, dense.data())
                                  : std::string(value.name) + ": " + StatusMessage(status);
    list += (list.empty() ? "" : ",") + ("{\"name\":" + QuoteJson(value.name)) +
            ",\"nodes\":" + QuoteJson(block.nodes) + ",\"kernel\":" + QuoteJson(block.kernel) +
            ",\"file\":" + QuoteJson(path) + "}";
  }

  static void Tell(const ValueObserver& observer, const ValueBlock* block, const Value* values,
                   int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      static_cast<ValueWriter*>(observer.user)->Write(*block, values[i]);
    }
  }
};

}  // namespace

std::string Server::Values(const Json& request, std::string* answer) {
  const Json* const member = request.Find("dir");
  if (member == nullptr) return "dir is missing";
  ValueWriter writer;
  std::string error = ReadText(*member, "dir", &writer.dir);
  if (error.empty()) error = session_.ObserveValues({ValueWriter::Tell, nullptr, &writer});
  if (error.empty()) error = session_.Run();
  if (error.empty()) error = session_.ObserveValues({});
  if (error.empty()) error = writer.error;
  if (error.empty() && writer.count == 0) {
    error = "no block reports its values; compile the model with --observe";
  }
  *answer = "\"values\":[" + writer.list + "]";
  return error;
}

std::string Server::Outputs(const Json& request, std::string* answer) {
  const Json* const member = request.Find("dir");
  std::string dir;
  if (member == nullptr) return "dir is missing";
  std::string error = ReadText(*member, "dir", &dir);
  if (!error.empty()) return error;
  const Description& d = session_.description();
  *answer = "\"files\":{";
  for (int32_t i = 0; i < d.output_count; ++i) {
    std::vector<int64_t> shape;
    const void* data = nullptr;
    const std::string path = dir + "/ours_" + std::to_string(i) + ".npy";
    error = session_.GetOutput(i, &shape, &data);
    if (error.empty()) error = WriteNpy(path, d.outputs[i].type, shape, data);
    if (!error.empty()) return error;
    *answer += (i > 0 ? "," : "") + QuoteJson(d.outputs[i].name) + ":" + QuoteJson(path);
  }
  *answer += "}";
  return "";
}

std::string Server::Info(const Json&, std::string* answer) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  const int64_t peak = usage.ru_maxrss;
#else
  const int64_t peak = int64_t{usage.ru_maxrss} * 1024;
#endif
  *answer = "\"peak_bytes\":" + std::to_string(peak) +
            ",\"arena_bytes\":" + std::to_string(session_.arena_bytes()) +
            ",\"weights_bytes\":" + std::to_string(session_.description().weights_bytes);
  return "";
}

std::string Server::Answer(const std::string& line) {
  static constexpr struct {
    const char* name;
    std::string (Server::*method)(const Json&, std::string*);
  } kCommands[] = {{"load", &Server::Load},       {"inputs", &Server::Inputs},
                   {"run", &Server::Run},         {"values", &Server::Values},
                   {"outputs", &Server::Outputs}, {"info", &Server::Info}};
  Json request;
  std::string answer, command;
  std::string error = ParseJson(line, &request);
  if (error.empty()) {
    const Json* const cmd = request.Find("cmd");
    error = cmd == nullptr ? "cmd is missing" : ReadText(*cmd, "cmd", &command);
  }
  if (error.empty()) {
    error = "unknown command " + command + "; commands: load inputs run values outputs info";
    for (const auto& row : kCommands) {
      if (command == row.name) error = (this->*row.method)(request, &answer);
    }
  }
  return error.empty() ? "{" + answer + "}" : "{\"error\":" + QuoteJson(error) + "}";
}

}  // namespace rules_dnn::serve
