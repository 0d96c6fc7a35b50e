#include "codec/fp32_codec.h"

#include <algorithm>
#include <cstring>

#include "codec/block_format.h"

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

size_t EncodeDelta(const float* params, const float* base, float* residual, size_t count,
                   std::byte* codes, std::byte*) {
  return Encode([&](size_t i) { return params[i] - base[i]; }, residual, nullptr, count, codes);
}

size_t EncodeUpdate(const float* update, float* residual, float* base, size_t count,
                    std::byte* codes, std::byte*) {
  return Encode([&](size_t i) { return update[i]; }, residual, base, count, codes);
}

void DecodeSum(std::span<const WeightedPayload> payloads, SumStart start, float* sum,
               size_t count) {
  if (start != SumStart::kSum) std::fill(sum, sum + count, 0.0f);
  for (const WeightedPayload& payload : payloads) {
    for (size_t i = 0; i < count; ++i) {
      const float weighted = payload.weight * LoadValue(payload.codes, i);
      sum[i] = sum[i] + weighted;
    }
  }
}

double SquaredNorm(const std::byte* codes, const std::byte*, size_t count) {
  double sum = 0;
  for (size_t begin = 0; begin < count; begin += kBlockValues) {
    double in_block = 0;
    for (size_t i = begin; i < std::min(count, begin + kBlockValues); ++i) {
      const double value = static_cast<double>(LoadValue(codes, i));
      in_block += value * value;
    }
    sum += in_block;
  }
  return sum;
}

void Apply(const std::byte* codes, const std::byte*, float* base, float* params, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    base[i] = base[i] + LoadValue(codes, i);
    params[i] = base[i];
  }
}

}  // namespace

const CodecKernels& Fp32Kernels() {
  static constexpr CodecKernels kKernels = {EncodeDelta, EncodeUpdate, DecodeSum,
                                            nullptr,     SquaredNorm,  Apply};
  return kKernels;
}

}  // namespace interlude
