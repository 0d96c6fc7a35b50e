#include "bench/bench_arrays.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"

namespace interlude {
namespace {

/// Roughly Gaussian with variance 1: the sum of four uniform numbers out of one draw.
float Noise(Rng& rng) {
  const uint64_t bits = rng();
  const int32_t sum = static_cast<int32_t>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) +
                                           ((bits >> 32) & 0xFFFF) + (bits >> 48)) -
                      2 * 0xFFFF;
  return static_cast<float>(sum) * (1.7320508f / 65536.0f);
}

}  // namespace

BenchArrays::BenchArrays(const BenchOptions& options)
    : params(Buffer::Floats("params", options.values)),
      base(Buffer::Floats("base", options.values)),
      residual(Buffer::Floats("residual", options.values)),
      momentum(Buffer::Floats("momentum", options.values)),
      work(Buffer::Floats("work", options.values)),
      copy_from(Buffer::Floats("copy from", options.values)),
      copy_to(Buffer::Floats("copy to", options.values)),
      codec_(options.codec),
      count_(options.values),
      chunk_values_(options.chunk_values),
      pool_(options.threads) {
  payload = Buffer("payload", payload_bytes());
  Fill();
  for (size_t k = 0; k < contributions.size(); ++k) {
    contributions[k] = Buffer("contribution", payload_bytes());
    FillNoise(params, 100 + k, 1e-4f, &base);
    pool_.ParallelFor(chunks(), 1, [&](size_t begin, size_t end) {
      Hash128 hash;
      for (size_t c = begin; c < end; ++c) {
        EncodeDelta(codec_, Chunk(params, c), Chunk(base, c), {}, ChunkPayload(contributions[k], c),
                    hash);
      }
    });
  }
}

void BenchArrays::FillNoise(Buffer& array, uint64_t seed, float scale, const Buffer* around) {
  pool_.ParallelFor(chunks(), 1, [&](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) {
      Rng rng(Mix64(seed ^ Mix64(c)));
      const std::span<float> values = Chunk(array, c);
      const float* center =
          around == nullptr ? nullptr : around->floats().data() + c * chunk_values_;
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = scale * Noise(rng) + (center == nullptr ? 0.0f : center[i]);
      }
    }
  });
}

void BenchArrays::Fill() {
  FillNoise(base, 1, 0.02f, nullptr);
  FillNoise(params, 2, 1e-4f, &base);
  FillNoise(residual, 3, 1e-5f, nullptr);
  FillNoise(momentum, 4, 1e-4f, nullptr);
  Copy(base, copy_from);
  Copy(copy_from, copy_to);
  Copy(params, work);
  std::memset(payload.bytes().data(), 0xFF, payload.size());
}

size_t BenchArrays::chunk_count(size_t chunk) const {
  return std::min(chunk_values_, count_ - chunk * chunk_values_);
}

std::span<float> BenchArrays::Chunk(Buffer& array, size_t chunk) const {
  return array.floats().subspan(chunk * chunk_values_, chunk_count(chunk));
}

std::span<std::byte> BenchArrays::ChunkPayload(Buffer& payloads, size_t chunk) const {
  return payloads.bytes().subspan(chunk * EncodedBytes(codec_, chunk_values_),
                                  EncodedBytes(codec_, chunk_count(chunk)));
}

size_t BenchArrays::payload_bytes() const {
  const size_t last = chunks() - 1;
  return last * EncodedBytes(codec_, chunk_values_) + EncodedBytes(codec_, chunk_count(last));
}

void BenchArrays::Copy(Buffer& from, Buffer& to) {
  const std::byte* in = from.bytes().data();
  std::byte* out = to.bytes().data();
  const size_t threads = static_cast<size_t>(pool_.threads());
  const size_t share = (from.size() + threads - 1) / threads;
  pool_.ParallelFor(from.size(), share, [&](size_t begin, size_t end) {
    std::memcpy(out + begin, in + begin, end - begin);
  });
}

std::chrono::nanoseconds BenchArrays::TimeMemcpy() {
  const auto start = std::chrono::steady_clock::now();
  Copy(copy_from, copy_to);
  return std::chrono::steady_clock::now() - start;
}

}  // namespace interlude
