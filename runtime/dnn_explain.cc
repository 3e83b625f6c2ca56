// Sentences about dimensions that a model rejects, and about runs that failed.
#include "runtime/dnn_context.h"
#include "runtime/dnn_sizes.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

// Collects text; drops what exceeds the capacity, but counts its length.
class Writer {
 public:
  Writer(char* text, size_t capacity) : text_(text), capacity_(text == nullptr ? 0 : capacity) {
    if (capacity_ > 0) text_[0] = 0;
  }

  void Add(const char* s) {
    for (; *s != 0; ++s) {
      if (length_ + 1 < capacity_) {
        text_[length_] = *s;
        text_[length_ + 1] = 0;
      }
      ++length_;
    }
  }

  void Add(int64_t value) {
    char digits[24];
    char* at = digits + sizeof(digits);
    *--at = 0;
    uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    do {
      *--at = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (value < 0) *--at = '-';
    Add(at);
  }

  // Adds a value, preceded by its expression if it has one.
  void AddDim(const Dim& dim, int64_t value) {
    if (dim.size.symbol >= 0 || dim.size.expr >= 0) {
      Add(dim.text);
      Add(" is ");
    }
    Add(value);
  }

  size_t length() const { return length_; }

 private:
  char* text_;
  size_t capacity_;
  size_t length_ = 0;
};

// Explains the first symbol that is out of its bounds.
bool ExplainSymbols(const Description* d, const int64_t* sym, Writer* w) {
  for (int32_t i = 0; i < d->given_count; ++i) {
    const SymbolInfo& s = d->symbols[i];
    if (sym[i] >= s.lo && sym[i] <= s.hi) continue;
    w->Add("the dimension ");
    w->Add(s.name);
    w->Add(" is ");
    w->Add(sym[i]);
    w->Add("; it must be ");
    w->Add(s.lo);
    w->Add(" to ");
    w->Add(s.hi);
    return true;
  }
  return false;
}

// Explains the first check that fails; the symbols are within their bounds.
bool ExplainChecks(const Description* d, const int64_t* sym, Writer* w) {
  for (int32_t i = 0; i < d->check_count; ++i) {
    const CheckInfo& check = d->checks[i];
    int64_t a = 0, b = 0;
    const Status status = EvalCheck(d, check, sym, &a, &b);
    if (status == Status::kOk) continue;
    w->Add(check.what);
    w->Add(": ");
    if (status == Status::kBadDims) {
      w->AddDim(check.a, a);
      w->Add(" and ");
      w->AddDim(check.b, b);
    } else {
      w->Add(StatusMessage(status));
    }
    return true;
  }
  return false;
}

}  // namespace

size_t ExplainDims(const Description* d, const int64_t* sym, char* text, size_t capacity) {
  Writer w(text, capacity);
  const Status status = CheckDims(d, sym);
  if (status == Status::kOk) return 0;
  const bool explained =
      status != Status::kNullArgument && (ExplainSymbols(d, sym, &w) || ExplainChecks(d, sym, &w));
  if (!explained) w.Add(StatusMessage(status));
  return w.length();
}

size_t ExplainRun(const Context* c, char* text, size_t capacity) {
  Writer w(text, capacity);
  const Status status = c == nullptr ? Status::kNullArgument : c->status;
  if (status == Status::kOk) return 0;
  const RemoteContext* const remote = c == nullptr ? nullptr : c->remote;
  if (remote != nullptr && remote->whole && remote->words[0] != 0) {
    w.Add(remote->words);
    return w.length();
  }
  if (c != nullptr && c->refused != nullptr) {
    w.Add(c->role);
    w.Add(c->refused);
    w.Add(": ");
  } else if (status == Status::kBadDims || status == Status::kTooLarge) {
    const size_t length = ExplainDims(c->model->description, c->sym, text, capacity);
    if (length > 0) return length;
  }
  w.Add(StatusMessage(status));
  if (c != nullptr && c->ctx.device != nullptr && status >= Status::kNoOpenCl) {
    w.Add(": ");
    w.Add(c->ctx.device->words);
  }
  if (remote != nullptr && remote->words[0] != 0) {
    w.Add(": ");
    w.Add(remote->words);
  }
  return w.length();
}

}  // namespace v1
}  // namespace rules_dnn
