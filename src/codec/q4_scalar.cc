// The q4 format in plain C++: the specification. Written to be read next to docs/formats/q4.md;
// every other kernel equals it bit for bit.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "codec/q4_book.h"
#include "codec/q4_format.h"
#include "codec/q4_kernels.h"

namespace interlude {
namespace {

using Lanes = std::array<uint32_t, 8>;  // a block's codes: value j is nibble j / 8 of lane j mod 8

uint32_t CodeAt(const Lanes& lanes, size_t j) { return (lanes[j % 8] >> (4 * (j / 8))) & 15u; }

/// The bits of the delta of largest magnitude; of +m and -m the positive one.
uint32_t SignedMaximum(const float* deltas, size_t count) {
  uint32_t largest_positive = 0;
  uint32_t largest_negative = 0;
  for (size_t j = 0; j < count; ++j) {
    const uint32_t bits = std::bit_cast<uint32_t>(deltas[j]);
    uint32_t& largest = (bits >> 31) != 0 ? largest_negative : largest_positive;
    largest = std::max(largest, bits & 0x7FFFFFFFu);
  }
  return largest_positive >= largest_negative ? largest_positive : largest_negative | 0x80000000u;
}

uint32_t CodeOf(float delta, float inverse_scale) {
  const float ratio = delta * inverse_scale;
  uint32_t code = 0;
  for (float threshold : kQ4Thresholds) code += threshold <= ratio ? 1 : 0;
  return code;
}

/// A delta of a block, with and without error feedback.
float WithResidual(float delta, const float* residual, size_t i) {
  return residual == nullptr ? delta : delta + residual[i];
}

/// Writes one block's codes and scale. `deltas` are finite; missing ones count as zero.
void WriteBlock(const float* deltas, size_t count, std::byte* codes, std::byte* scales,
                size_t block) {
  const uint16_t scale = Q4ScaleOf(SignedMaximum(deltas, count));
  const float inverse_scale = Q4InverseScale(scale);
  Lanes lanes{};
  for (size_t j = 0; j < kQ4BlockValues; ++j) {
    const uint32_t code = j < count ? CodeOf(deltas[j], inverse_scale) : kQ4ZeroCode;
    lanes[j % 8] |= code << (4 * (j / 8));
  }
  std::memcpy(codes + block * kQ4CodeBytes, lanes.data(), kQ4CodeBytes);
  StoreQ4Scale(scale, scales, block);
}

/// Calls use(i, value) for each of `count` decoded values. scale * entry is exact.
template <typename Use>
void Decode(const std::byte* codes, const std::byte* scales, size_t count, const Use& use) {
  for (size_t i = 0; i < count; ++i) {
    const size_t block = i / kQ4BlockValues;
    Lanes lanes;
    std::memcpy(lanes.data(), codes + block * kQ4CodeBytes, kQ4CodeBytes);
    const float scale = Q4ScaleValue(LoadQ4Scale(scales, block));
    use(i, scale * kQ4Book[CodeAt(lanes, i % kQ4BlockValues)]);
  }
}

/// Encodes the deltas that delta_of(i) gives; `residual` and `base` take what was lost and what was
/// encoded, unless null.
template <typename DeltaOf>
size_t Encode(const DeltaOf& delta_of, float* residual, float* base, size_t count, std::byte* codes,
              std::byte* scales) {
  for (size_t begin = 0; begin < count; begin += kQ4BlockValues) {
    const size_t in_block = std::min(kQ4BlockValues, count - begin);
    const size_t block = begin / kQ4BlockValues;
    std::array<float, kQ4BlockValues> deltas;
    for (size_t j = 0; j < in_block; ++j) {
      deltas[j] = WithResidual(delta_of(begin + j), residual, begin + j);
      if (IsNonFinite(deltas[j])) return begin + j;
    }
    WriteBlock(deltas.data(), in_block, codes, scales, block);
    Decode(codes + block * kQ4CodeBytes, scales + block * kQ4ScaleBytes, in_block,
           [&](size_t j, float value) {
             if (residual != nullptr) residual[begin + j] = deltas[j] - value;
             if (base != nullptr) base[begin + j] = base[begin + j] + value;
           });
  }
  return kAllFinite;
}

size_t EncodeDelta(const float* params, const float* base, float* residual, size_t count,
                   std::byte* codes, std::byte* scales) {
  return Encode([&](size_t i) { return params[i] - base[i]; }, residual, nullptr, count, codes,
                scales);
}

size_t EncodeUpdate(const float* update, float* residual, float* base, size_t count,
                    std::byte* codes, std::byte* scales) {
  return Encode([&](size_t i) { return update[i]; }, residual, base, count, codes, scales);
}

void DecodeSum(std::span<const WeightedPayload> payloads, SumStart start, float* sum,
               size_t count) {
  if (start != SumStart::kSum) std::fill(sum, sum + count, 0.0f);
  for (const WeightedPayload& payload : payloads) {
    Decode(payload.codes, payload.scales, count, [&](size_t i, float value) {
      const float weighted = payload.weight * value;
      sum[i] = sum[i] + weighted;
    });
  }
}

size_t Merge(std::span<const WeightedPayload> payloads, const MomentumStep& step, float* residual,
             float* base, size_t count, std::byte* codes, std::byte* scales) {
  std::vector<float> values(count);
  DecodeSum(payloads, SumStart::kZero, values.data(), count);
  for (size_t begin = 0; begin < count; begin += kQ4BlockValues) {
    const size_t end = std::min(count, begin + kQ4BlockValues);
    for (size_t i = begin; i < end; ++i) {
      float ahead = values[i];
      if (step.velocity != nullptr) {
        const float kept = step.momentum * step.velocity[i];
        step.velocity[i] = kept + values[i];
        const float next = step.momentum * step.velocity[i];
        ahead = values[i] + next;
      }
      values[i] = step.learning_rate * ahead;
    }
    const size_t block = begin / kQ4BlockValues;
    const size_t bad = EncodeUpdate(
        values.data() + begin, residual == nullptr ? nullptr : residual + begin, base + begin,
        end - begin, codes + block * kQ4CodeBytes, scales + block * kQ4ScaleBytes);
    if (bad != kAllFinite) return begin + bad;
  }
  return kAllFinite;
}

double SquaredNorm(const std::byte* codes, const std::byte* scales, size_t count) {
  double sum = 0;
  for (size_t begin = 0; begin < count; begin += kQ4BlockValues) {
    const size_t block = begin / kQ4BlockValues;
    Lanes lanes;
    std::memcpy(lanes.data(), codes + block * kQ4CodeBytes, kQ4CodeBytes);
    uint64_t squares = 0;
    for (size_t j = 0; j < std::min(kQ4BlockValues, count - begin); ++j) {
      squares += kQ4Squares[CodeAt(lanes, j)];
    }
    sum += Q4BlockNorm(LoadQ4Scale(scales, block), squares, kQ4SquareUnit);
  }
  return sum;
}

void Apply(const std::byte* codes, const std::byte* scales, float* base, float* params,
           size_t count) {
  Decode(codes, scales, count, [&](size_t i, float value) {
    base[i] = base[i] + value;
    params[i] = base[i];
  });
}

}  // namespace

const CodecKernels& ScalarQ4Kernels() {
  static constexpr CodecKernels kKernels = {EncodeDelta, EncodeUpdate, DecodeSum,
                                            Merge,       SquaredNorm,  Apply};
  return kKernels;
}

}  // namespace interlude
