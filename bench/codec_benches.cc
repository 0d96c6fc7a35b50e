#include "bench/codec_benches.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>

#include "base/hash128.h"
#include "bench/bench_passes.h"
#include "bench/merge_benches.h"
#include "codec/block_format.h"
#include "codec/chunk_codec.h"
#include "codec/chunk_payload.h"

namespace interlude {
namespace {

// Encoding.

bool EncodePass(BenchArrays& a, bool residual) {
  return EachChunk(a, [&](size_t c) {
    Hash128 hash;
    return !EncodeDelta(a.codec(), a.Chunk(a.params, c), a.Chunk(a.base, c),
                        residual ? a.Chunk(a.residual, c) : std::span<float>(),
                        a.ChunkPayload(a.payload, c), hash)
                .first_nonfinite;
  });
}

/// The scalar kernel must give the same bytes, and leave the same residual, in the first and the
/// last chunk.
Finding CheckEncode(BenchArrays& a, bool residual) {
  a.Copy(a.residual, a.work);
  if (!EncodePass(a, residual)) return "a finite delta counts as not finite";
  for (const size_t c : FirstAndLast(a)) {
    const size_t count = a.chunk_count(c);
    std::vector<std::byte> expected(EncodedBytes(a.codec(), count));
    const std::span<float> lost = a.Chunk(a.work, c);
    const ChunkPayload out(a.codec(), std::span(expected), count);
    SpecifiedKernels(a.codec()).encode_delta(a.Chunk(a.params, c).data(), a.Chunk(a.base, c).data(),
                                             residual ? lost.data() : nullptr, count, out.codes(0),
                                             out.scales(0));
    if (std::memcmp(expected.data(), a.ChunkPayload(a.payload, c).data(), expected.size()) != 0) {
      return fmt::format("chunk {} is not what the scalar kernel encodes", c);
    }
    if (std::memcmp(lost.data(), a.Chunk(a.residual, c).data(), lost.size_bytes()) != 0) {
      return fmt::format("the residual of chunk {} is not the scalar kernel's", c);
    }
  }
  return {};
}

// Applying.

bool ApplyPass(BenchArrays& a, bool hash) {
  return EachChunk(a, [&](size_t c) {
    const std::span<const std::byte> payload = a.ChunkPayload(a.contributions[0], c);
    const std::span<float> base = a.Chunk(a.base, c);
    const std::span<float> params = a.Chunk(a.params, c);
    if (hash) return ApplyAndHash(a.codec(), payload, base, params) != Hash128{};
    Apply(a.codec(), payload, base, params);
    return true;
  });
}

Finding CheckApply(BenchArrays& a) {
  a.Copy(a.base, a.work);
  ApplyPass(a, true);
  for (const size_t c : FirstAndLast(a)) {
    const size_t count = a.chunk_count(c);
    const ChunkPayload payload(a.codec(), a.ChunkPayload(a.contributions[0], c), count);
    const std::span<float> expected = a.Chunk(a.work, c);
    std::vector<float> params(count);
    SpecifiedKernels(a.codec()).apply(payload.codes(0), payload.scales(0), expected.data(),
                                      params.data(), count);
    if (std::memcmp(expected.data(), a.Chunk(a.base, c).data(), expected.size_bytes()) != 0) {
      return fmt::format("the base of chunk {} is not the scalar kernel's", c);
    }
  }
  if (!SameBytes(a.params, a.base)) return "Apply left other parameters than base";
  return {};
}

// Checking.

bool HashPass(BenchArrays& a) {
  return EachChunk(a, [&](size_t c) { return HashFloats(a.Chunk(a.base, c)) != Hash128{}; });
}

Finding CheckHash(BenchArrays& a) {
  a.Copy(a.base, a.work);
  if (!EachChunk(a, [&](size_t c) {
        return HashFloats(a.Chunk(a.work, c)) == HashFloats(a.Chunk(a.base, c));
      })) {
    return "a copy has another hash";
  }
  a.Chunk(a.work, 0).back() += 1.0f;
  if (HashFloats(a.Chunk(a.work, 0)) == HashFloats(a.Chunk(a.base, 0)))
    return "a change leaves the hash";
  return {};
}

bool ValidatePass(BenchArrays& a) {
  return EachChunk(a, [&](size_t c) {
    return ValidatePayload(a.codec(), a.ChunkPayload(a.contributions[0], c), a.chunk_count(c)).ok();
  });
}

Finding CheckValidate(BenchArrays& a) {
  const size_t last = a.chunks() - 1;
  const std::span<std::byte> source = a.ChunkPayload(a.contributions[0], last);
  std::vector<std::byte> damaged(source.begin(), source.end());
  StoreBlockScale(0x7FC0, damaged.data(), damaged.size() / kBlockScaleBytes - 1);
  if (ValidatePayload(a.codec(), damaged, a.chunk_count(last)).ok())
    return "a scale that is NaN passes";
  return {};
}

bool ValidateFp32Pass(BenchArrays& a) {
  return EachChunk(a, [&](size_t c) {
    return ValidatePayload(Codec::kFp32, std::as_bytes(a.Chunk(a.base, c)), a.chunk_count(c)).ok();
  });
}

Finding CheckValidateFp32(BenchArrays& a) {
  a.Copy(a.base, a.work);
  const std::span<float> last = a.Chunk(a.work, a.chunks() - 1);
  last.back() = std::numeric_limits<float>::quiet_NaN();
  if (ValidatePayload(Codec::kFp32, std::as_bytes(last), last.size()).ok()) return "a NaN passes";
  return {};
}

}  // namespace

std::vector<Bench> CodecBenches(Codec codec) {
  using A = BenchArrays;
  std::vector<Bench> benches = {
      {"memcpy", [](A& a) { return a.memcpy_bytes(); },
       [](A& a) {
         a.TimeMemcpy();
         return true;
       },
       [](A& a) { return SameBytes(a.copy_from, a.copy_to) ? Finding() : "the copy differs"; }},
      // Reads params and base, writes the payload, which is hashed while it is in cache.
      {"encode", [](A& a) { return 2 * ArrayBytes(a) + a.payload_bytes(); },
       [](A& a) { return EncodePass(a, false); }, [](A& a) { return CheckEncode(a, false); }},
      // Also reads and writes the residual.
      {"encode, residual", [](A& a) { return 4 * ArrayBytes(a) + a.payload_bytes(); },
       [](A& a) { return EncodePass(a, true); }, [](A& a) { return CheckEncode(a, true); }},
  };
  for (const size_t contributors : {4, 8}) {
    for (Bench& bench : MergeBenches(contributors)) benches.push_back(std::move(bench));
  }
  const std::vector<Bench> others = {
      // Reads the payload, reads and writes base, writes params.
      {"apply", [](A& a) { return 3 * ArrayBytes(a) + a.payload_bytes(); },
       [](A& a) { return ApplyPass(a, false); }, CheckApply},
      // The same bytes: base is hashed while it is in cache.
      {"apply + hash", [](A& a) { return 3 * ArrayBytes(a) + a.payload_bytes(); },
       [](A& a) { return ApplyPass(a, true); }, CheckApply},
      {"hash", [](A& a) { return ArrayBytes(a); }, HashPass, CheckHash},
      // Needs the scales alone: two bytes for 64 values, too few for memory bandwidth to matter.
      {fmt::format("validate {}", CodecName(codec)),
       [](A& a) { return (a.count() + kBlockValues - 1) / kBlockValues * kBlockScaleBytes; },
       ValidatePass, CheckValidate},
      {"validate fp32", [](A& a) { return ArrayBytes(a); }, ValidateFp32Pass, CheckValidateFp32},
  };
  benches.insert(benches.end(), others.begin(), others.end());
  return benches;
}

}  // namespace interlude
