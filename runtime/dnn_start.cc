// Asynchronous runs: Start and Wait.
#include "runtime/dnn_context.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

size_t RoundUp(int64_t n) {
  return (static_cast<size_t>(n) + kAlignment - 1) / kAlignment * kAlignment;
}

// Reports whether a buffer is in the device's memory and steps on the processor read or write it.
bool Staged(const Context* c, int32_t i) {
  const Description* const d = c->model->description;
  const DeviceInfo& info = *d->device;
  if (c->buffers[i].memory == nullptr) return false;
  return i < d->input_count ? info.host_inputs[i] != 0 : info.host_outputs[i - d->input_count] != 0;
}

// Allocates memory for the host copies of staged buffers; it only grows.
Status TakeStaged(Context* c, int32_t count) {
  size_t bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (Staged(c, i)) bytes += RoundUp(c->buffer_bytes[i]);
  }
  if (bytes <= c->staged_bytes) return Status::kOk;
  const Options& o = *c->runtime.options;
  if (c->staged != nullptr) o.release(o.allocator_user, c->staged, c->staged_bytes);
  c->staged_bytes = 0;
  c->staged = o.allocate(o.allocator_user, bytes, kAlignment);
  if (c->staged == nullptr) return Status::kOutOfMemory;
  c->staged_bytes = bytes;
  return Status::kOk;
}

// Sets the pointers to inputs and outputs; for a staged buffer it points to the host copy.
Status Place(Context* c) {
  const Description* const d = c->model->description;
  const int32_t count = d->input_count + d->output_count;
  Status status = TakeStaged(c, count);
  uint8_t* at = static_cast<uint8_t*>(c->staged);
  for (int32_t i = 0; i < count && status == Status::kOk; ++i) {
    c->pointers[i] = c->buffers[i].host;
    if (!Staged(c, i)) continue;
    c->pointers[i] = at;
    at += RoundUp(c->buffer_bytes[i]);
    if (i >= d->input_count) continue;
    status = c->ctx.device->backend->fetch(c->ctx.device, c->pointers[i], c->buffers[i],
                                           c->buffer_bytes[i]);
    if (status != Status::kOk) return Blame(c, i, status);
  }
  return status;
}

// Writes the host copies of staged outputs back to the device.
Status StoreStaged(Context* c) {
  const Description* const d = c->model->description;
  for (int32_t i = d->input_count; i < d->input_count + d->output_count; ++i) {
    if (!Staged(c, i)) continue;
    const Status status = c->ctx.device->backend->store(c->ctx.device, c->buffers[i],
                                                        c->pointers[i], c->buffer_bytes[i]);
    if (status != Status::kOk) return Blame(c, i, status);
  }
  return Status::kOk;
}

Status TakeBuffers(Context* c, const Buffer* in, const Buffer* out) {
  const Description* const d = c->model->description;
  if (in == nullptr && d->input_count > 0) return Status::kNullArgument;
  if (out == nullptr && d->output_count > 0) return Status::kNullArgument;
  for (int32_t i = 0; i < d->input_count; ++i) c->buffers[i] = in[i];
  for (int32_t i = 0; i < d->output_count; ++i) c->buffers[d->input_count + i] = out[i];
  return CheckBuffers(c);
}

// Sets what the program's steps see; transfers of staged buffers use the host copies.
void Show(Context* c) {
  const Description* const d = c->model->description;
  DeviceContext* const device = c->ctx.device;
  device->inputs = c->buffers;
  device->outputs = c->buffers + d->input_count;
  c->ctx.in = c->pointers;
  c->ctx.out = c->pointers + d->input_count;
  c->bad_index = 0;
}

}  // namespace

Status Start(Context* c, const int64_t* sym, const Buffer* in, const Buffer* out,
             const Events* given) {
  const Events events = given == nullptr ? Events{} : *given;
  if (events.done != nullptr) *events.done = nullptr;
  if (c == nullptr || (events.wait == nullptr && events.wait_count > 0)) {
    return Status::kNullArgument;
  }
  DeviceContext* const device = c->ctx.device;
  if (device == nullptr || events.wait_count < 0) return c->status = Status::kBadOptions;
  Status status = Prepare(c, sym);
  if (status == Status::kOk) status = TakeBuffers(c, in, out);
  if (status == Status::kOk && events.wait_count > 0) {
    status = device->backend->wait(device, events.wait_count, events.wait);
  }
  if (status == Status::kOk) status = Place(c);
  c->status = status;
  if (status != Status::kOk) return status;
  Show(c);
  status = c->model->description->program(&c->ctx);
  if (status == Status::kOk) status = StoreStaged(c);
  if (status == Status::kOk) status = device->backend->mark(device, events.done);
  if (status != Status::kOk) status = device->backend->finish(device, status, &c->refused);
  device->inputs = device->outputs = nullptr;
  ReleasePieces(&c->runtime);
  c->ran = status == Status::kOk;
  return c->status = status;
}

Status Wait(Context* c) {
  if (c == nullptr) return Status::kNullArgument;
  DeviceContext* const device = c->ctx.device;
  if (device == nullptr) return c->status;
  // A later call that was rejected may have left runs in progress.
  const char* refused = nullptr;
  const Status status = device->backend->finish(device, c->status, &refused);
  if (status == c->status && refused == nullptr) return status;
  c->role = "";
  c->refused = refused;
  c->ran = false;
  return c->status = status;
}

}  // namespace v1
}  // namespace rules_dnn
