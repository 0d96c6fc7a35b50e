// The arrays that benchmarks of the codec work on, and memcpy over two of them as the yardstick.
// Not a model: one flat sequence cut into chunks, as a layout would. One thread; the pool is
// inside, and its threads take different chunks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory_account.h"
#include "base/thread_pool.h"
#include "codec/chunk_codec.h"

namespace interlude {

struct BenchOptions {
  uint64_t values = uint64_t{64} << 20;       // 256 MiB an array: well beyond the caches
  uint64_t chunk_values = uint64_t{1} << 20;  // multiple of 64; the default of round.chunk_params
  int threads = 0;                            // at least 1
  Codec codec = Codec::kQ4;                   // one with blocks
  int iterations = 5;
  int repetitions = 5;
};

inline constexpr size_t kMostBenchContributors = 8;

/// Seven fp32 arrays, and payloads with each chunk's on its own.
class BenchArrays {
 public:
  explicit BenchArrays(const BenchOptions& options);

  /// Writes every array anew, the same values each time, which also touches all pages: those that
  /// lay idle are slow on first use.
  void Fill();

  Codec codec() const { return codec_; }
  size_t count() const { return count_; }
  size_t chunks() const { return (count_ + chunk_values_ - 1) / chunk_values_; }
  size_t chunk_count(size_t chunk) const;
  ThreadPool& pool() { return pool_; }

  /// The part of an array that belongs to a chunk.
  std::span<float> Chunk(Buffer& array, size_t chunk) const;
  /// The payload of a chunk within a buffer of payload_bytes().
  std::span<std::byte> ChunkPayload(Buffer& payloads, size_t chunk) const;
  size_t payload_bytes() const;

  /// Copies `from` to `to`, each thread one contiguous share.
  void Copy(Buffer& from, Buffer& to);
  /// Time of one Copy between two arrays that nothing else uses; it also empties the caches.
  std::chrono::nanoseconds TimeMemcpy();
  /// Bytes that TimeMemcpy reads and writes.
  size_t memcpy_bytes() const { return 2 * count_ * sizeof(float); }

  Buffer params, base, residual, momentum, work;
  Buffer copy_from, copy_to;
  Buffer payload;                                            // what benchmarks encode into
  std::array<Buffer, kMostBenchContributors> contributions;  // what they decode

 private:
  void FillNoise(Buffer& array, uint64_t seed, float scale, const Buffer* around);

  const Codec codec_;
  const size_t count_;
  const size_t chunk_values_;
  ThreadPool pool_;
};

}  // namespace interlude
