#include "codec/chunk_codec.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/memory_account.h"
#include "codec/float_environment.h"
#include "codec/fp32_codec.h"
#include "codec/q4_format.h"
#include "codec/q4_kernels.h"

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

/// Where the bytes of the value at `begin`, the first of its block, lie in a q4 payload of `count`
/// values.
template <typename Byte>
Byte* CodesAt(std::span<Byte> payload, size_t begin) {
  return payload.data() + begin / kQ4BlockValues * kQ4CodeBytes;
}
template <typename Byte>
Byte* ScalesAt(std::span<Byte> payload, size_t count, size_t begin) {
  return payload.data() + Q4BlockCount(count) * kQ4CodeBytes +
         begin / kQ4BlockValues * kQ4ScaleBytes;
}

float* AtOrNull(std::span<float> values, size_t begin) {
  return values.empty() ? nullptr : values.data() + begin;
}

void CheckSizes(Codec codec, size_t count, size_t other, size_t residual, size_t payload) {
  INTERLUDE_CHECK(other == count, "spans of {} and {} values", count, other);
  INTERLUDE_CHECK(residual == 0 || residual == count, "{} residuals for {} values", residual,
                  count);
  INTERLUDE_CHECK(payload == EncodedBytes(codec, count), "{} payload bytes for {} values", payload,
                  count);
}

Status ValidateQ4(std::span<const std::byte> payload, size_t count) {
  const std::byte* scales = ScalesAt(payload, count, 0);
  for (size_t block = 0; block < Q4BlockCount(count); ++block) {
    const uint16_t scale = LoadQ4Scale(scales, block);
    if (IsValidQ4Scale(scale)) continue;
    return DataLossError(
        "q4 payload: block {} (values {} to {}) has scale {} (bf16 0x{:04X}); a scale is +0, or "
        "finite and "
        "at least 2^-100 in magnitude; the sender or the line damaged it: ask for the chunk again",
        block, block * kQ4BlockValues, std::min(count, (block + 1) * kQ4BlockValues) - 1,
        Q4ScaleValue(scale), scale);
  }
  return OkStatus();
}

Status ValidateFp32(std::span<const std::byte> payload, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, payload.data() + i * sizeof(float), sizeof(value));
    if (!IsNonFinite(value)) continue;
    return DataLossError(
        "fp32 payload: value {} of {} is {}; the sender or the line damaged it: ask for "
        "the chunk again",
        i, count, value);
  }
  return OkStatus();
}

}  // namespace

size_t EncodedBytes(Codec codec, size_t count) {
  return codec == Codec::kQ4 ? Q4PayloadBytes(count) : count * sizeof(float);
}

EncodeOutcome EncodeDelta(Codec codec, std::span<const float> params, std::span<const float> base,
                          std::span<float> residual, std::span<std::byte> out, ThreadPool& pool) {
  const size_t count = params.size();
  CheckSizes(codec, count, base.size(), residual.size(), out.size());
  return EncodeRanges(count, pool, [&](size_t begin, size_t end) {
    const float* p = params.data() + begin;
    const float* b = base.data() + begin;
    float* r = AtOrNull(residual, begin);
    if (codec == Codec::kFp32) {
      return Fp32EncodeDelta(p, b, r, end - begin, out.data() + begin * sizeof(float));
    }
    return SimdQ4Kernels().encode_delta(p, b, r, end - begin, CodesAt(out, begin),
                                        ScalesAt(out, count, begin));
  });
}

EncodeOutcome EncodeUpdate(Codec codec, std::span<const float> update, std::span<float> residual,
                           std::span<float> base, std::span<std::byte> out, ThreadPool& pool) {
  const size_t count = update.size();
  CheckSizes(codec, count, base.size(), residual.size(), out.size());
  return EncodeRanges(count, pool, [&](size_t begin, size_t end) {
    const float* u = update.data() + begin;
    float* b = base.data() + begin;
    float* r = AtOrNull(residual, begin);
    if (codec == Codec::kFp32) {
      return Fp32EncodeUpdate(u, r, b, end - begin, out.data() + begin * sizeof(float));
    }
    return SimdQ4Kernels().encode_update(u, r, b, end - begin, CodesAt(out, begin),
                                         ScalesAt(out, count, begin));
  });
}

void DecodeAccumulate(Codec codec, std::span<const std::byte> payload, float weight,
                      std::span<float> sum, ThreadPool& pool) {
  const size_t count = sum.size();
  CheckSizes(codec, count, count, 0, payload.size());
  ForRanges(count, pool, [&](size_t begin, size_t end) {
    float* s = sum.data() + begin;
    if (codec == Codec::kFp32) {
      Fp32DecodeAccumulate(payload.data() + begin * sizeof(float), weight, s, end - begin);
      return;
    }
    SimdQ4Kernels().decode_accumulate(CodesAt(payload, begin), ScalesAt(payload, count, begin),
                                      weight, s, end - begin);
  });
}

void Apply(Codec codec, std::span<const std::byte> payload, std::span<float> base,
           std::span<float> params, ThreadPool& pool) {
  const size_t count = base.size();
  CheckSizes(codec, count, params.size(), 0, payload.size());
  ForRanges(count, pool, [&](size_t begin, size_t end) {
    float* b = base.data() + begin;
    float* p = params.data() + begin;
    if (codec == Codec::kFp32) {
      Fp32Apply(payload.data() + begin * sizeof(float), b, p, end - begin);
      return;
    }
    SimdQ4Kernels().apply(CodesAt(payload, begin), ScalesAt(payload, count, begin), b, p,
                          end - begin);
  });
}

EncodeOutcome EncodeDelta(Codec codec, std::span<const float> params, std::span<const float> base,
                          std::span<float> residual, std::span<std::byte> out,
                          Hash128& payload_hash) {
  ThreadPool here(1);
  const EncodeOutcome outcome = EncodeDelta(codec, params, base, residual, out, here);
  payload_hash = HashBytes(out);
  return outcome;
}

void DecodeAverage(Codec codec, std::span<const std::span<const std::byte>> payloads,
                   std::span<const float> weights, std::span<float> sum) {
  ThreadPool here(1);
  std::fill(sum.begin(), sum.end(), 0.0f);
  for (size_t k = 0; k < payloads.size(); ++k) {
    DecodeAccumulate(codec, payloads[k], weights[k], sum, here);
  }
}

MergeOutcome MergeChunkUpdate(Codec codec, std::span<const std::span<const std::byte>> payloads,
                              std::span<const float> weights, const UpdateFunction& step,
                              std::span<float> residual, std::span<float> base,
                              std::span<std::byte> out) {
  ThreadPool here(1);
  Buffer sum = Buffer::Floats("merge work", base.size());
  DecodeAverage(codec, payloads, weights, sum.floats());
  step(0, sum.floats());
  const EncodeOutcome outcome = EncodeUpdate(codec, sum.floats(), residual, base, out, here);
  return {outcome.first_nonfinite, HashFloats(base), HashBytes(out)};
}

Hash128 ApplyAndHash(Codec codec, std::span<const std::byte> payload, std::span<float> base,
                     std::span<float> params) {
  ThreadPool here(1);
  Apply(codec, payload, base, params, here);
  return HashFloats(base);
}

Status ValidatePayload(Codec codec, std::span<const std::byte> payload, size_t count) {
  if (codec != Codec::kQ4 && codec != Codec::kFp32) {
    return InvalidArgumentError(
        "payload: codec number {} is unknown; known are 1 (q4) and 2 (fp32)",
        static_cast<int>(codec));
  }
  const char* name = codec == Codec::kQ4 ? "q4" : "fp32";
  if (payload.size() != EncodedBytes(codec, count)) {
    return InvalidArgumentError(
        "payload: {} bytes, but {} values take {} bytes as {}; the sender runs "
        "another layout or another codec",
        payload.size(), count, EncodedBytes(codec, count), name);
  }
  return codec == Codec::kQ4 ? ValidateQ4(payload, count) : ValidateFp32(payload, count);
}

}  // namespace interlude
