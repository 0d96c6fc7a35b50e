// A chunk's payload from the network: what ValidatePayload accepts is decoded, summed and applied
// without a value that is not finite, and to the same bits by every way.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/hash128.h"
#include "codec/block_format.h"
#include "codec/chunk_codec.h"

namespace interlude {
namespace {

void CheckSame(std::span<const float> a, std::span<const float> b) {
  for (size_t i = 0; i < a.size(); ++i)
    INTERLUDE_CHECK(std::bit_cast<uint32_t>(a[i]) == std::bit_cast<uint32_t>(b[i]),
                    "value {}: {} and {}", i, a[i], b[i]);
}

void Decode(Codec codec, std::span<const std::byte> payload, size_t count) {
  if (!ValidatePayload(codec, payload, count).ok()) return;
  const std::vector<std::span<const std::byte>> payloads = {payload, payload};
  std::vector<float> values(count), base(count), params(count), again(count);

  DecodeAverage(codec, std::span(payloads).first(1), std::vector<float>{1.0f}, values);
  for (const float value : values) INTERLUDE_CHECK(std::isfinite(value), "{}", value);
  Apply(codec, payload, base, params);
  CheckSame(values, base);
  CheckSame(values, params);
  const Hash128 hash = ApplyAndHash(codec, payload, again, params);
  INTERLUDE_CHECK(hash == HashFloats(again), "the hash of {} values", count);
  CheckSame(values, again);
  DecodeAverage(codec, payloads, std::vector<float>{0.5f, 0.25f}, values);
  for (const float value : values) INTERLUDE_CHECK(std::isfinite(value), "{}", value);
  INTERLUDE_CHECK(PayloadSquaredNorm(codec, payload, count) >= 0, "a norm below zero");
}

}  // namespace
}  // namespace interlude

/// Two bytes of a number of values, then the payload; with that number, and with those that fit.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace interlude;
  uint16_t count = 0;
  if (size < sizeof(count)) return 0;
  std::memcpy(&count, data, sizeof(count));
  const auto payload = std::as_bytes(std::span(data, size)).subspan(sizeof(count));
  for (const Codec codec : kAllCodecs) Decode(codec, payload, count);

  Decode(Codec::kFp32, payload.first(payload.size() / sizeof(float) * sizeof(float)),
         payload.size() / sizeof(float));
  for (const Codec codec : {Codec::kQ4, Codec::kQ8}) {
    const size_t block_bytes = EncodedBytes(codec, kBlockValues);
    const size_t blocks = payload.size() / block_bytes;
    if (blocks == 0) continue;
    Decode(codec, payload.first(blocks * block_bytes),
           blocks * kBlockValues - count % kBlockValues);
  }
  return 0;
}
