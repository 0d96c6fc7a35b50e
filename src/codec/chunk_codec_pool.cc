// The calls that spread one chunk over the threads of a pool.
#include <atomic>

#include "codec/chunk_codec.h"
#include "codec/chunk_payload.h"
#include "codec/float_environment.h"
#include "hwy/cache_control.h"

namespace interlude {
namespace {

/// Values a thread takes at least: whole blocks, 64 KiB of floats, so that handing out costs
/// nothing.
constexpr size_t kGrainValues = 256 * kQ4BlockValues;

/// Runs body(begin, end) on ranges that begin at blocks, in parallel, in the default float
/// environment.
template <typename Body>
void ForRanges(size_t count, ThreadPool& pool, const Body& body) {
  pool.ParallelFor(count, kGrainValues, [&](size_t begin, size_t end) {
    const DefaultFloatEnvironment environment;
    body(begin, end);
    hwy::FlushStream();
  });
}

/// As ForRanges, for a body that returns the first bad index counted from `begin`, or kAllFinite.
template <typename Body>
EncodeOutcome EncodeRanges(size_t count, ThreadPool& pool, const Body& body) {
  std::atomic<size_t> first{kAllFinite};
  ForRanges(count, pool, [&](size_t begin, size_t end) {
    const size_t bad = body(begin, end);
    if (bad == kAllFinite) return;
    size_t seen = first.load();
    while (begin + bad < seen && !first.compare_exchange_weak(seen, begin + bad)) {
    }
  });
  if (first == kAllFinite) return {};
  return {.first_nonfinite = first.load()};
}

}  // namespace

EncodeOutcome EncodeDelta(Codec codec, std::span<const float> params, std::span<const float> base,
                          std::span<float> residual, std::span<std::byte> out, ThreadPool& pool) {
  const size_t count = params.size();
  CheckChunkSizes(codec, count, base.size(), residual.size(), out.size());
  const ChunkPayload payload(codec, out, count);
  return EncodeRanges(count, pool, [&](size_t begin, size_t end) {
    return KernelsOf(codec).encode_delta(params.data() + begin, base.data() + begin,
                                         AtOrNull(residual, begin), end - begin,
                                         payload.codes(begin), payload.scales(begin));
  });
}

EncodeOutcome EncodeUpdate(Codec codec, std::span<const float> update, std::span<float> residual,
                           std::span<float> base, std::span<std::byte> out, ThreadPool& pool) {
  const size_t count = update.size();
  CheckChunkSizes(codec, count, base.size(), residual.size(), out.size());
  const ChunkPayload payload(codec, out, count);
  return EncodeRanges(count, pool, [&](size_t begin, size_t end) {
    return KernelsOf(codec).encode_update(update.data() + begin, AtOrNull(residual, begin),
                                          base.data() + begin, end - begin, payload.codes(begin),
                                          payload.scales(begin));
  });
}

void DecodeAccumulate(Codec codec, std::span<const std::byte> payload, float weight,
                      std::span<float> sum, ThreadPool& pool) {
  CheckChunkSizes(codec, sum.size(), sum.size(), 0, payload.size());
  const ChunkPayload from(codec, payload, sum.size());
  ForRanges(sum.size(), pool, [&](size_t begin, size_t end) {
    const WeightedPayload one = {from.codes(begin), from.scales(begin), weight};
    KernelsOf(codec).decode_sum({&one, 1}, SumStart::kSum, sum.data() + begin, end - begin);
  });
}

void Apply(Codec codec, std::span<const std::byte> payload, std::span<float> base,
           std::span<float> params, ThreadPool& pool) {
  CheckChunkSizes(codec, base.size(), params.size(), 0, payload.size());
  const ChunkPayload from(codec, payload, base.size());
  ForRanges(base.size(), pool, [&](size_t begin, size_t end) {
    KernelsOf(codec).apply(from.codes(begin), from.scales(begin), base.data() + begin,
                           params.data() + begin, end - begin);
  });
}

}  // namespace interlude
