#include "runtime/dnn_weights.h"

#include "runtime/dnn_system.h"

namespace rules_dnn {
inline namespace v1 {
namespace {

constexpr size_t kMagicBytes = sizeof(WeightsHeader::magic);

// Checks that the header is complete and belongs to the model.
Status CheckHeader(const Description* d, const uint8_t* file, size_t bytes) {
  const size_t some = bytes < kMagicBytes ? bytes : kMagicBytes;
  if (memcmp(file, RULES_DNN_WEIGHTS_MAGIC, some) != 0) return Status::kBadWeights;
  if (bytes < sizeof(WeightsHeader)) return Status::kWeightsLength;
  if (memcmp(file + offsetof(WeightsHeader, hash), d->weights_hash, 32) != 0) {
    return Status::kBadWeights;
  }
  uint64_t content = 0;
  for (size_t i = 8; i-- > 0;) content = content << 8 | file[offsetof(WeightsHeader, bytes) + i];
  bool whole = content == static_cast<uint64_t>(d->weights_bytes);
  for (size_t i = offsetof(WeightsHeader, zero); i < sizeof(WeightsHeader); ++i) {
    whole = whole && file[i] == 0;
  }
  return whole ? Status::kOk : Status::kWeightsDamaged;
}

}  // namespace

Status FindWeights(const Description* d, const Options& o, const uint8_t** weights) {
  *weights = d->weights;
  if (d->weights != nullptr || d->weights_bytes == 0) return Status::kOk;
  if (o.weights == nullptr) return Status::kNoWeights;
  if (reinterpret_cast<uintptr_t>(o.weights) % kAlignment != 0) return Status::kWeightsAlignment;
  const uint8_t* const file = static_cast<const uint8_t*>(o.weights);
  const Status status = CheckHeader(d, file, o.weights_bytes);
  if (status != Status::kOk) return status;
  const size_t bytes = o.weights_bytes - sizeof(WeightsHeader);
  if (bytes != static_cast<uint64_t>(d->weights_bytes)) return Status::kWeightsLength;
  if (o.verify_weights != 0) {
    uint8_t hash[32];
    Sha256(file + sizeof(WeightsHeader), bytes, hash);
    if (memcmp(hash, d->weights_hash, sizeof(hash)) != 0) return Status::kWeightsDamaged;
  }
  *weights = file + sizeof(WeightsHeader);
  return Status::kOk;
}

}  // namespace v1
}  // namespace rules_dnn
