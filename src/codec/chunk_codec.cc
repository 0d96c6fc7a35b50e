#include "codec/chunk_codec.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "codec/chunk_payload.h"
#include "codec/contributions.h"
#include "codec/float_environment.h"
#include "hwy/cache_control.h"

namespace interlude {
namespace {

/// Runs body(begin, end) on the tiles of a chunk in order, until one returns false.
template <typename Body>
bool ForTiles(size_t count, const Body& body) {
  for (size_t begin = 0; begin < count; begin += kTileValues) {
    if (!body(begin, std::min(count, begin + kTileValues))) return false;
  }
  return true;
}

/// The hash of a payload, of which tiles of codes are written one after the other and all scales
/// come last.
class PayloadHasher {
 public:
  explicit PayloadHasher(const ChunkPayload<std::byte>& payload) : payload_(payload) {}
  void AddTile(size_t begin, size_t end) { hasher_.Update(payload_.codes(begin, end)); }
  Hash128 Finish() {
    hasher_.Update(payload_.all_scales());
    return hasher_.Digest();
  }

 private:
  const ChunkPayload<std::byte>& payload_;
  Hasher128 hasher_;
};

/// What a merge reads and writes.
struct MergeArrays {
  const Contributions& contributions;
  const ChunkPayload<std::byte>& out;
  std::span<float> residual;
  std::span<float> base;
};

/// Both merge the values [begin, end) of a tile and return the first non-finite one's index from
/// `begin` on, or kAllFinite.
size_t MergeInRegisters(Codec codec, const MomentumUpdate& update, const MergeArrays& arrays,
                        size_t begin, size_t end) {
  Contributions::Batch batch;
  const MomentumStep step = {update.learning_rate, update.momentum,
                             AtOrNull(update.velocity, begin)};
  return KernelsOf(codec).merge(arrays.contributions.Part(0, begin, batch), step,
                                AtOrNull(arrays.residual, begin), arrays.base.data() + begin,
                                end - begin, arrays.out.codes(begin), arrays.out.scales(begin));
}

size_t MergeByStages(Codec codec, const UpdateRule& rule, TileCombiner& combiner,
                     const MergeArrays& arrays, size_t begin, size_t end) {
  alignas(64) std::array<float, kTileValues> tile;
  const std::span<float> values = std::span(tile).first(end - begin);
  if (rule.combine) {
    combiner.Combine(begin, values);
  } else {
    arrays.contributions.Sum(begin, false, values);
  }
  rule.step(begin, values);
  return KernelsOf(codec).encode_update(values.data(), AtOrNull(arrays.residual, begin),
                                        arrays.base.data() + begin, values.size(),
                                        arrays.out.codes(begin), arrays.out.scales(begin));
}

}  // namespace

const char* CodecName(Codec codec) {
  switch (codec) {
    case Codec::kQ4:
      return "q4";
    case Codec::kFp32:
      return "fp32";
    case Codec::kQ8:
      return "q8";
  }
  return "unknown";
}

size_t EncodedBytes(Codec codec, size_t count) {
  return codec == Codec::kFp32 ? count * sizeof(float)
                               : BlockPayloadBytes(count, BlockCodeBytes(codec));
}

void CheckChunkSizes(Codec codec, size_t count, size_t other, size_t residual, size_t payload) {
  INTERLUDE_CHECK(other == count, "spans of {} and {} values", count, other);
  INTERLUDE_CHECK(residual == 0 || residual == count, "{} residuals for {} values", residual,
                  count);
  INTERLUDE_CHECK(payload == EncodedBytes(codec, count), "{} payload bytes for {} values", payload,
                  count);
}

EncodeOutcome EncodeDelta(Codec codec, std::span<const float> params, std::span<const float> base,
                          std::span<float> residual, std::span<std::byte> out,
                          Hash128& payload_hash) {
  const size_t count = params.size();
  CheckChunkSizes(codec, count, base.size(), residual.size(), out.size());
  const DefaultFloatEnvironment environment;
  const ChunkPayload payload(codec, out, count);
  PayloadHasher hasher(payload);
  EncodeOutcome outcome;
  const bool finite = ForTiles(count, [&](size_t begin, size_t end) {
    const size_t bad = KernelsOf(codec).encode_delta(params.data() + begin, base.data() + begin,
                                                     AtOrNull(residual, begin), end - begin,
                                                     payload.codes(begin), payload.scales(begin));
    if (bad != kAllFinite) outcome.first_nonfinite = begin + bad;
    hasher.AddTile(begin, end);
    return bad == kAllFinite;
  });
  payload_hash = finite ? hasher.Finish() : Hash128{};
  return outcome;
}

void DecodeAverage(Codec codec, std::span<const std::span<const std::byte>> payloads,
                   std::span<const float> weights, std::span<float> sum) {
  const DefaultFloatEnvironment environment;
  const Contributions contributions(codec, payloads, weights, sum.size());
  ForTiles(sum.size(), [&](size_t begin, size_t end) {
    contributions.Sum(begin, true, sum.subspan(begin, end - begin));
    return true;
  });
  hwy::FlushStream();
}

void DecodeCombined(Codec codec, std::span<const std::span<const std::byte>> payloads,
                    std::span<const float> weights, const CombineFunction& combine,
                    std::span<float> merged) {
  const DefaultFloatEnvironment environment;
  const Contributions contributions(codec, payloads, weights, merged.size());
  TileCombiner combiner(contributions, combine);
  ForTiles(merged.size(), [&](size_t begin, size_t end) {
    combiner.Combine(begin, merged.subspan(begin, end - begin));
    return true;
  });
}

double PayloadSquaredNorm(Codec codec, std::span<const std::byte> payload, size_t count) {
  CheckChunkSizes(codec, count, count, 0, payload.size());
  const DefaultFloatEnvironment environment;
  const ChunkPayload from(codec, payload, count);
  return KernelsOf(codec).squared_norm(from.codes(0), from.scales(0), count);
}

EncodeOutcome EncodeUpdate(Codec codec, std::span<const float> update, std::span<float> residual,
                           std::span<float> base, std::span<std::byte> out) {
  const size_t count = update.size();
  CheckChunkSizes(codec, count, base.size(), residual.size(), out.size());
  const DefaultFloatEnvironment environment;
  const ChunkPayload payload(codec, out, count);
  const size_t bad =
      KernelsOf(codec).encode_update(update.data(), AtOrNull(residual, 0), base.data(), count,
                                     payload.codes(0), payload.scales(0));
  if (bad == kAllFinite) return {};
  return {.first_nonfinite = bad};
}

MergeOutcome MergeChunkUpdate(Codec codec, std::span<const std::span<const std::byte>> payloads,
                              std::span<const float> weights, const UpdateRule& rule,
                              std::span<float> residual, std::span<float> base,
                              std::span<std::byte> out, bool with_hashes) {
  const size_t count = base.size();
  CheckChunkSizes(codec, count, count, residual.size(), out.size());
  const DefaultFloatEnvironment environment;
  const Contributions contributions(codec, payloads, weights, count);
  const ChunkPayload payload(codec, out, count);
  PayloadHasher payload_hasher(payload);
  Hasher128 base_hasher;
  MergeOutcome outcome;
  const MergeArrays arrays{contributions, payload, residual, base};
  TileCombiner combiner(contributions, rule.combine);
  const bool in_registers = !rule.combine && rule.momentum.has_value() &&
                            KernelsOf(codec).merge != nullptr &&
                            contributions.size() <= Contributions::kBatch;
  const bool finite = ForTiles(count, [&](size_t begin, size_t end) {
    const size_t bad = in_registers ? MergeInRegisters(codec, *rule.momentum, arrays, begin, end)
                                    : MergeByStages(codec, rule, combiner, arrays, begin, end);
    if (bad != kAllFinite) {
      outcome.first_nonfinite = begin + bad;
      return false;
    }
    if (!with_hashes) return true;
    base_hasher.Update(std::span<const float>(base.subspan(begin, end - begin)));
    payload_hasher.AddTile(begin, end);
    return true;
  });
  if (!finite || !with_hashes) return outcome;
  outcome.base_hash = base_hasher.Digest();
  outcome.payload_hash = payload_hasher.Finish();
  return outcome;
}

void Apply(Codec codec, std::span<const std::byte> payload, std::span<float> base,
           std::span<float> params) {
  CheckChunkSizes(codec, base.size(), params.size(), 0, payload.size());
  const DefaultFloatEnvironment environment;
  const ChunkPayload from(codec, payload, base.size());
  KernelsOf(codec).apply(from.codes(0), from.scales(0), base.data(), params.data(), base.size());
  hwy::FlushStream();
}

Hash128 ApplyAndHash(Codec codec, std::span<const std::byte> payload, std::span<float> base,
                     std::span<float> params) {
  const size_t count = base.size();
  CheckChunkSizes(codec, count, params.size(), 0, payload.size());
  const DefaultFloatEnvironment environment;
  const ChunkPayload from(codec, payload, count);
  Hasher128 hasher;
  ForTiles(count, [&](size_t begin, size_t end) {
    KernelsOf(codec).apply(from.codes(begin), from.scales(begin), base.data() + begin,
                           params.data() + begin, end - begin);
    hasher.Update(std::span<const float>(base.subspan(begin, end - begin)));
    return true;
  });
  hwy::FlushStream();
  return hasher.Digest();
}

}  // namespace interlude
