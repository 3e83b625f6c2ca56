#include "runtime/dnn_sizes.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

constexpr uint64_t kMaxBytes = SIZE_MAX / 2;

int64_t Negative(Status status) { return -int64_t{static_cast<int32_t>(status)}; }

int64_t Eval(const Description* d, const Size& size, const int64_t* sym, int* bad) {
  if (size.expr >= 0) return d->expr(sym, size.expr, bad);
  if (size.symbol < 0) return size.offset;
  return dnn_add_checked(dnn_mul_checked(size.scale, sym[size.symbol], bad), size.offset, bad);
}

bool Holds(Relation relation, int64_t a, int64_t b) {
  switch (relation) {
    case Relation::kEqual:
      return a == b;
    case Relation::kBroadcast:
      return a == b || (a == 1 && b >= 0) || (b == 1 && a >= 0);
    case Relation::kAtLeast:
      return a >= b;
  }
  return false;
}

}  // namespace

Status BindSymbols(const Description* d, const int64_t* sym, Symbols* out) {
  if (sym == nullptr && d->given_count > 0) return Status::kNullArgument;
  for (int32_t i = 0; i < d->symbol_count; ++i) {
    const SymbolInfo& s = d->symbols[i];
    int bad = 0;
    int64_t value = s.computed ? Eval(d, s.max, out->value, &bad) : sym[i];
    if (bad) return Status::kTooLarge;
    if (s.computed) {
      value = dnn_max(s.lo, dnn_min(value, s.hi));
    } else if (value < s.lo || value > s.hi) {
      return Status::kBadDims;
    }
    out->value[i] = value;
  }
  Status status = Status::kOk;
  for (int32_t i = 0; i < d->check_count && status == Status::kOk; ++i) {
    int64_t a = 0, b = 0;
    status = EvalCheck(d, d->checks[i], out->value, &a, &b);
  }
  return status;
}

Status EvalCheck(const Description* d, const CheckInfo& check, const int64_t* sym, int64_t* a,
                 int64_t* b) {
  int bad = 0;
  *a = Eval(d, check.a.size, sym, &bad);
  *b = Eval(d, check.b.size, sym, &bad);
  if (bad) return Status::kTooLarge;
  return Holds(check.relation, *a, *b) ? Status::kOk : Status::kBadDims;
}

Status EvalSize(const Description* d, const Size& size, const int64_t* sym, int64_t* out) {
  int bad = 0;
  const int64_t value = Eval(d, size, sym, &bad);
  if (bad || (value > 0 && static_cast<uint64_t>(value) > kMaxBytes)) return Status::kTooLarge;
  if (value < 0) return Status::kBadDims;
  *out = value;
  return Status::kOk;
}

Status EvalShape(const Description* d, const TensorInfo& t, const int64_t* sym, int64_t* shape) {
  for (int32_t i = 0; i < t.rank; ++i) {
    const Status status = EvalSize(d, t.dims[i].size, sym, &shape[i]);
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

Status EvalBytes(const Description* d, const TensorInfo& t, const int64_t* sym, int64_t* bytes) {
  int64_t total = t.element_bytes;
  for (int32_t i = 0; i < t.rank; ++i) {
    int64_t dim = 0;
    const Status status = EvalSize(d, t.dims[i].size, sym, &dim);
    if (status != Status::kOk) return status;
    int bad = 0;
    total = dnn_mul_checked(total, dim, &bad);
    if (bad || static_cast<uint64_t>(total) > kMaxBytes) return Status::kTooLarge;
  }
  *bytes = total;
  return Status::kOk;
}

Status EvalArena(const Description* d, const int64_t* sym, int64_t* bytes) {
  *bytes = 0;
  for (int32_t i = 0; i < d->arena_count; ++i) {
    int64_t end = 0;
    const Status status = EvalSize(d, d->arena[i], sym, &end);
    if (status != Status::kOk) return status;
    *bytes = dnn_max(*bytes, end);
  }
  return Status::kOk;
}

namespace {

// Binds the symbols and evaluates all sizes. All queries about dimensions use it, so that either
// all succeed or all fail for the same reason.
Status BindAll(const Description* d, const int64_t* sym, Symbols* all, int64_t* arena) {
  Status status = BindSymbols(d, sym, all);
  int64_t bytes = 0;
  for (int32_t i = 0; i < d->input_count && status == Status::kOk; ++i) {
    status = EvalBytes(d, d->inputs[i], all->value, &bytes);
  }
  for (int32_t i = 0; i < d->output_count && status == Status::kOk; ++i) {
    status = EvalBytes(d, d->outputs[i], all->value, &bytes);
  }
  return status == Status::kOk ? EvalArena(d, all->value, arena) : status;
}

}  // namespace

Status CheckDims(const Description* d, const int64_t* sym) {
  Symbols all;
  int64_t arena = 0;
  return BindAll(d, sym, &all, &arena);
}

int64_t ArenaBytes(const Description* d, const int64_t* sym) {
  Symbols all;
  int64_t bytes = 0;
  const Status status = BindAll(d, sym, &all, &bytes);
  return status == Status::kOk ? bytes : Negative(status);
}

int64_t TensorBytes(const Description* d, const TensorInfo* tensor, const int64_t* sym) {
  Symbols all;
  int64_t bytes = 0;
  Status status = BindAll(d, sym, &all, &bytes);
  if (status == Status::kOk) status = EvalBytes(d, *tensor, all.value, &bytes);
  return status == Status::kOk ? bytes : Negative(status);
}

Status TensorShape(const Description* d, const TensorInfo* tensor, const int64_t* sym,
                   int64_t* shape) {
  if (shape == nullptr && tensor->rank > 0) return Status::kNullArgument;
  Symbols all;
  int64_t arena = 0;
  const Status status = BindAll(d, sym, &all, &arena);
  return status == Status::kOk ? EvalShape(d, *tensor, all.value, shape) : status;
}

Status CheckSizes(const Description* d, const int64_t* sym, const size_t* in_bytes,
                  const size_t* out_bytes) {
  if (in_bytes == nullptr && d->input_count > 0) return Status::kNullArgument;
  if (out_bytes == nullptr && d->output_count > 0) return Status::kNullArgument;
  Symbols all;
  int64_t arena = 0;
  Status status = BindAll(d, sym, &all, &arena);
  for (int32_t i = 0; i < d->input_count && status == Status::kOk; ++i) {
    int64_t bytes = 0;
    status = EvalBytes(d, d->inputs[i], all.value, &bytes);
    if (status == Status::kOk && in_bytes[i] != static_cast<size_t>(bytes)) {
      return Status::kBufferSize;
    }
  }
  for (int32_t i = 0; i < d->output_count && status == Status::kOk; ++i) {
    int64_t bytes = 0;
    status = EvalBytes(d, d->outputs[i], all.value, &bytes);
    if (status == Status::kOk && out_bytes[i] < static_cast<size_t>(bytes)) {
      return Status::kBufferSize;
    }
  }
  return status;
}

}  // namespace v1
}  // namespace rules_dnn
