// The payloads of a merge and their weights: their weighted sum, or each decoded for a rule that
// needs all values of a parameter at once. Internal to codec/.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/check.h"
#include "codec/chunk_codec.h"
#include "codec/chunk_payload.h"

namespace interlude {

/// A chunk is worked on in tiles: what one stage has written of a tile, the next finds in L1 or L2.
/// Whole blocks.
constexpr size_t kTileValues = 128 * kBlockValues;

/// The payloads of a merge and their weights.
class Contributions {
 public:
  Contributions(Codec codec, std::span<const std::span<const std::byte>> payloads,
                std::span<const float> weights, size_t count)
      : codec_(codec), payloads_(payloads), weights_(weights), count_(count) {
    INTERLUDE_CHECK(weights.size() == payloads.size(), "{} weights for {} payloads", weights.size(),
                    payloads.size());
    for (const auto& payload : payloads) CheckChunkSizes(codec, count, count, 0, payload.size());
  }

  size_t size() const { return payloads_.size(); }
  /// Most payloads that are added in registers: each is two streams to read.
  static constexpr size_t kBatch = 16;
  using Batch = std::array<WeightedPayload, kBatch>;

  /// Payloads [first, first + kBatch), as far as there are, from value `begin` on.
  std::span<const WeightedPayload> Part(size_t first, size_t begin, Batch& batch) const {
    const size_t size = std::min(kBatch, payloads_.size() - first);
    for (size_t k = 0; k < size; ++k) {
      const ChunkPayload payload(codec_, payloads_[first + k], count_);
      batch[k] = {payload.codes(begin), payload.scales(begin), weights_[first + k]};
    }
    return {batch.data(), size};
  }

  /// values = +0 + (weight * value) of one payload, from value `begin` on.
  void Decode(size_t k, size_t begin, std::span<float> values) const {
    const ChunkPayload payload(codec_, payloads_[k], count_);
    const WeightedPayload one = {payload.codes(begin), payload.scales(begin), weights_[k]};
    KernelsOf(codec_).decode_sum({&one, 1}, SumStart::kZero, values.data(), values.size());
  }

  /// The weighted sum of the values from `begin` on. Streams it only where one pass does it all.
  void Sum(size_t begin, bool stream, std::span<float> sum) const {
    if (payloads_.empty()) std::fill(sum.begin(), sum.end(), 0.0f);
    SumStart start =
        stream && payloads_.size() <= kBatch ? SumStart::kZeroStreamed : SumStart::kZero;
    for (size_t first = 0; first < payloads_.size(); first += kBatch) {
      Batch batch;
      KernelsOf(codec_).decode_sum(Part(first, begin, batch), start, sum.data(), sum.size());
      start = SumStart::kSum;
    }
  }

 private:
  const Codec codec_;
  const std::span<const std::span<const std::byte>> payloads_;
  const std::span<const float> weights_;
  const size_t count_;
};

/// Runs a CombineFunction on the parts of a tile. Its memory holds all contributors' values of a
/// part, which stay in the first or second cache between decoding and combining.
class TileCombiner {
 public:
  /// Both must outlive it. Takes no memory where there is nothing to combine.
  TileCombiner(const Contributions& contributions, const CombineFunction& combine)
      : contributions_(contributions), combine_(combine) {
    if (!combine || contributions.size() == 0) return;
    const size_t blocks = kTileValues / contributions.size() / kBlockValues;
    part_ = std::max<size_t>(blocks, 1) * kBlockValues;
    values_.resize(part_ * contributions.size());
    for (size_t k = 0; k < contributions.size(); ++k) rows_.push_back(&values_[k * part_]);
  }

  /// Zeros where nobody contributes.
  void Combine(size_t begin, std::span<float> merged) {
    if (rows_.empty()) return std::fill(merged.begin(), merged.end(), 0.0f);
    for (size_t done = 0; done < merged.size(); done += part_) {
      const size_t count = std::min(part_, merged.size() - done);
      for (size_t k = 0; k < rows_.size(); ++k) {
        contributions_.Decode(k, begin + done, std::span(values_).subspan(k * part_, count));
      }
      combine_(rows_, merged.subspan(done, count));
    }
  }

 private:
  const Contributions& contributions_;
  const CombineFunction& combine_;
  size_t part_ = 0;  // values of each contributor; whole blocks
  std::vector<float> values_;
  std::vector<const float*> rows_;
};

}  // namespace interlude
