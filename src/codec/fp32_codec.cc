#include "codec/fp32_codec.h"

#include <cstring>

#include "codec/q4_format.h"
#include "codec/q4_kernels.h"

namespace interlude {
namespace {

float LoadValue(const std::byte* payload, size_t i) {
  float value;
  std::memcpy(&value, payload + i * sizeof(float), sizeof(value));
  return value;
}

template <typename DeltaOf>
size_t Encode(const DeltaOf& delta_of, float* residual, float* base, size_t count, std::byte* out) {
  for (size_t i = 0; i < count; ++i) {
    float delta = delta_of(i);
    if (residual != nullptr) delta = delta + residual[i];
    if (IsNonFinite(delta)) return i;
    std::memcpy(out + i * sizeof(float), &delta, sizeof(delta));
    if (residual != nullptr) residual[i] = 0.0f;
    if (base != nullptr) base[i] = base[i] + delta;
  }
  return kAllFinite;
}

}  // namespace

size_t Fp32EncodeDelta(const float* params, const float* base, float* residual, size_t count,
                       std::byte* out) {
  return Encode([&](size_t i) { return params[i] - base[i]; }, residual, nullptr, count, out);
}

size_t Fp32EncodeUpdate(const float* update, float* residual, float* base, size_t count,
                        std::byte* out) {
  return Encode([&](size_t i) { return update[i]; }, residual, base, count, out);
}

void Fp32DecodeAccumulate(const std::byte* payload, float weight, float* sum, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float weighted = weight * LoadValue(payload, i);
    sum[i] = sum[i] + weighted;
  }
}

void Fp32Apply(const std::byte* payload, float* base, float* params, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    base[i] = base[i] + LoadValue(payload, i);
    params[i] = base[i];
  }
}

}  // namespace interlude
