#include "runtime/dnn_observe.h"

#include "runtime/dnn_context.h"
#include "runtime/dnn_system.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

// Maximum rank of a value.
constexpr int32_t kMaxRank = 64;

// Returns the offset of an index's element, in elements.
int64_t Offset(const Value& v, const int64_t* index) {
  int64_t offset = 0;
  for (int32_t i = 0; i < v.part_count; ++i) {
    const ValuePart& p = v.parts[i];
    const int64_t at = index[p.axis] / p.within;
    offset = offset * p.extent + (p.size > 0 ? at % p.size : at);
  }
  return offset;
}

// Advances to the next index in row-major order.
void Next(const Value& v, int64_t* index) {
  for (int32_t axis = v.rank - 1; axis >= 0; --axis) {
    if (++index[axis] < v.dims[axis]) return;
    index[axis] = 0;
  }
}

}  // namespace

Status ObserveValues(Context* context, const ValueObserver& observer) {
  if (context == nullptr) return Status::kNullArgument;
  context->runtime.value_observer = observer;
  return Status::kOk;
}

Status ValueRowMajor(const Value* value, void* to, size_t bytes) {
  if (value == nullptr) return Status::kNullArgument;
  const Value& v = *value;
  if (v.rank < 0 || v.rank > kMaxRank) return Status::kTooLarge;
  int64_t count = 1;
  for (int32_t axis = 0; axis < v.rank; ++axis) count *= v.dims[axis];
  const size_t size = static_cast<size_t>(v.element_bytes);
  if (bytes != static_cast<size_t>(count) * size) return Status::kBufferSize;
  if (count == 0) return Status::kOk;
  if (v.data == nullptr || to == nullptr) return Status::kNullArgument;
  int64_t index[kMaxRank] = {};
  uint8_t* out = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < count; ++i, out += size, Next(v, index)) {
    const uint8_t* const from = static_cast<const uint8_t*>(v.data);
    memcpy(out, from + static_cast<size_t>(Offset(v, index)) * size, size);
  }
  return Status::kOk;
}

bool Observes(const Ctx* c) { return c->rt->value_observer.tell != nullptr; }

void TellObserver(const Ctx* c, const ValueBlock& block, const Value* values, int32_t count) {
  c->rt->value_observer.tell(c->rt->value_observer, &block, values, count);
}

}  // namespace v1
}  // namespace rules_dnn
