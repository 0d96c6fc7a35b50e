// Block codecs in plain C++: the specification of all that q4 and q8 have in common. Written to be
// read next to docs/formats/q4.md and q8.md; every other kernel equals it bit for bit. Included by
// q4_scalar.cc and q8_scalar.cc only, each with its codes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "codec/block_format.h"
#include "codec/codec_kernels.h"

namespace interlude {

/// The bits of the delta of largest magnitude; of +m and -m the positive one.
inline uint32_t SignedMaximum(const float* deltas, size_t count) {
  uint32_t largest_positive = 0;
  uint32_t largest_negative = 0;
  for (size_t j = 0; j < count; ++j) {
    const uint32_t bits = std::bit_cast<uint32_t>(deltas[j]);
    uint32_t& largest = (bits >> 31) != 0 ? largest_negative : largest_positive;
    largest = std::max(largest, bits & 0x7FFFFFFFu);
  }
  return largest_positive >= largest_negative ? largest_positive : largest_negative | 0x80000000u;
}

/// The kernels. `Codes` is a block's codes as they lie in memory, and says what they stand for:
///
///   uint32_t At(size_t j) const;                 // the code of value j
///   void Set(size_t j, uint32_t code);           // called once for each j, on zeros
///   static constexpr uint32_t kZeroCode;         // of the entry 0
///   static uint32_t CodeOf(float ratio);         // of delta * inverse scale
///   static float Entry(uint32_t code);           // times the scale, which is exact: the value
///   static constexpr double kSquareUnit;
///   static uint32_t EntrySquare(uint32_t code);  // in such units
template <typename Codes>
struct BlockScalar {
  static constexpr size_t kCodeBytes = sizeof(Codes);

  static Codes Load(const std::byte* codes, size_t block) {
    Codes loaded;
    std::memcpy(&loaded, codes + block * kCodeBytes, kCodeBytes);
    return loaded;
  }

  /// A delta of a block, with and without error feedback.
  static float WithResidual(float delta, const float* residual, size_t i) {
    return residual == nullptr ? delta : delta + residual[i];
  }

  /// Writes one block's codes and scale. `deltas` are finite; missing ones count as zero.
  static void WriteBlock(const float* deltas, size_t count, std::byte* codes, std::byte* scales,
                         size_t block) {
    const uint16_t scale = BlockScaleOf(SignedMaximum(deltas, count));
    const float inverse_scale = InverseBlockScale(scale);
    Codes written{};
    for (size_t j = 0; j < kBlockValues; ++j) {
      written.Set(j, j < count ? Codes::CodeOf(deltas[j] * inverse_scale) : Codes::kZeroCode);
    }
    std::memcpy(codes + block * kCodeBytes, &written, kCodeBytes);
    StoreBlockScale(scale, scales, block);
  }

  /// Calls use(i, value) for each of `count` decoded values. scale * entry is exact.
  template <typename Use>
  static void Decode(const std::byte* codes, const std::byte* scales, size_t count,
                     const Use& use) {
    for (size_t i = 0; i < count; ++i) {
      const size_t block = i / kBlockValues;
      const float scale = BlockScaleValue(LoadBlockScale(scales, block));
      use(i, scale * Codes::Entry(Load(codes, block).At(i % kBlockValues)));
    }
  }

  /// Encodes the deltas that delta_of(i) gives; `residual` and `base` take what was lost and what
  /// was encoded, unless null.
  template <typename DeltaOf>
  static size_t Encode(const DeltaOf& delta_of, float* residual, float* base, size_t count,
                       std::byte* codes, std::byte* scales) {
    for (size_t begin = 0; begin < count; begin += kBlockValues) {
      const size_t in_block = std::min(kBlockValues, count - begin);
      const size_t block = begin / kBlockValues;
      std::array<float, kBlockValues> deltas;
      for (size_t j = 0; j < in_block; ++j) {
        deltas[j] = WithResidual(delta_of(begin + j), residual, begin + j);
        if (IsNonFinite(deltas[j])) return begin + j;
      }
      WriteBlock(deltas.data(), in_block, codes, scales, block);
      Decode(codes + block * kCodeBytes, scales + block * kBlockScaleBytes, in_block,
             [&](size_t j, float value) {
               if (residual != nullptr) residual[begin + j] = deltas[j] - value;
               if (base != nullptr) base[begin + j] = base[begin + j] + value;
             });
    }
    return kAllFinite;
  }

  static size_t EncodeDelta(const float* params, const float* base, float* residual, size_t count,
                            std::byte* codes, std::byte* scales) {
    return Encode([&](size_t i) { return params[i] - base[i]; }, residual, nullptr, count, codes,
                  scales);
  }

  static size_t EncodeUpdate(const float* update, float* residual, float* base, size_t count,
                             std::byte* codes, std::byte* scales) {
    return Encode([&](size_t i) { return update[i]; }, residual, base, count, codes, scales);
  }

  static void DecodeSum(std::span<const WeightedPayload> payloads, SumStart start, float* sum,
                        size_t count) {
    if (start != SumStart::kSum) std::fill(sum, sum + count, 0.0f);
    for (const WeightedPayload& payload : payloads) {
      Decode(payload.codes, payload.scales, count, [&](size_t i, float value) {
        const float weighted = payload.weight * value;
        sum[i] = sum[i] + weighted;
      });
    }
  }

  static size_t Merge(std::span<const WeightedPayload> payloads, const MomentumStep& step,
                      float* residual, float* base, size_t count, std::byte* codes,
                      std::byte* scales) {
    std::vector<float> values(count);
    DecodeSum(payloads, SumStart::kZero, values.data(), count);
    for (size_t begin = 0; begin < count; begin += kBlockValues) {
      const size_t end = std::min(count, begin + kBlockValues);
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
      const size_t block = begin / kBlockValues;
      const size_t bad = EncodeUpdate(
          values.data() + begin, residual == nullptr ? nullptr : residual + begin, base + begin,
          end - begin, codes + block * kCodeBytes, scales + block * kBlockScaleBytes);
      if (bad != kAllFinite) return begin + bad;
    }
    return kAllFinite;
  }

  static double SquaredNorm(const std::byte* codes, const std::byte* scales, size_t count) {
    double sum = 0;
    for (size_t begin = 0; begin < count; begin += kBlockValues) {
      const size_t block = begin / kBlockValues;
      const Codes loaded = Load(codes, block);
      uint64_t squares = 0;
      for (size_t j = 0; j < std::min(kBlockValues, count - begin); ++j) {
        squares += Codes::EntrySquare(loaded.At(j));
      }
      sum += BlockNorm(LoadBlockScale(scales, block), squares, Codes::kSquareUnit);
    }
    return sum;
  }

  static void Apply(const std::byte* codes, const std::byte* scales, float* base, float* params,
                    size_t count) {
    Decode(codes, scales, count, [&](size_t i, float value) {
      base[i] = base[i] + value;
      params[i] = base[i];
    });
  }

  static constexpr CodecKernels kKernels = {EncodeDelta, EncodeUpdate, DecodeSum,
                                            Merge,       SquaredNorm,  Apply};
};

}  // namespace interlude
