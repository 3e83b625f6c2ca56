// Checks of a run's buffers: null, size, alignment and overlap.
#include "runtime/dnn_context.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

const TensorInfo& Tensor(const Description* d, int32_t i) {
  return i < d->input_count ? d->inputs[i] : d->outputs[i - d->input_count];
}

Status CheckBuffer(const Context* c, const Buffer& b, int64_t bytes, const TensorInfo& t) {
  const uintptr_t alignment =
      static_cast<uintptr_t>(dnn_max(t.element_bytes, static_cast<int64_t>(kBufferAlignment)));
  if (b.memory != nullptr) {
    if (b.offset % alignment != 0) return Status::kMisaligned;
    return c->ctx.device->backend->check(c->ctx.device, b, bytes);
  }
  if (b.host == nullptr) return bytes == 0 ? Status::kOk : Status::kNullArgument;
  return reinterpret_cast<uintptr_t>(b.host) % alignment == 0 ? Status::kOk : Status::kMisaligned;
}

bool Overlap(const Buffer& a, int64_t a_bytes, const Buffer& b, int64_t b_bytes) {
  if (a_bytes == 0 || b_bytes == 0 || a.memory != b.memory) return false;
  const bool host = a.memory == nullptr;
  const uintptr_t x = host ? reinterpret_cast<uintptr_t>(a.host) : a.offset;
  const uintptr_t y = host ? reinterpret_cast<uintptr_t>(b.host) : b.offset;
  return x < y ? y - x < static_cast<uintptr_t>(a_bytes) : x - y < static_cast<uintptr_t>(b_bytes);
}

}  // namespace

Status Blame(Context* c, int32_t buffer, Status status) {
  const Description* const d = c->model->description;
  c->role = buffer < d->input_count ? "input " : "output ";
  c->refused = Tensor(d, buffer).name;
  return status;
}

// An output must not overlap another buffer; inputs may overlap each other.
Status CheckBuffers(Context* c) {
  const Description* const d = c->model->description;
  const int64_t* const bytes = c->buffer_bytes;
  for (int32_t i = 0; i < d->input_count + d->output_count; ++i) {
    Status status = CheckBuffer(c, c->buffers[i], bytes[i], Tensor(d, i));
    for (int32_t k = 0; i >= d->input_count && k < i && status == Status::kOk; ++k) {
      if (Overlap(c->buffers[i], bytes[i], c->buffers[k], bytes[k])) status = Status::kOverlap;
    }
    if (status != Status::kOk) return Blame(c, i, status);
  }
  return Status::kOk;
}

}  // namespace v1
}  // namespace rules_dnn
