// The reader of a snapshot: any bytes, and the same with hashes and counts that fit them, since no
// chance mutation meets a hash.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "store/snapshot.h"
#include "store/snapshot_format.h"
#include "tests/fuzz/memory_file.h"

namespace interlude {
namespace {

/// A file can claim zeros without holding them; the reader's user takes memory for what it expects.
constexpr size_t kMaxReadParams = 1 << 16;

/// Returns whether the file was accepted.
bool ReadFile(std::span<const std::byte> bytes) {
  static MemoryFile memory;
  const auto reader = SnapshotReader::Open(memory.Holding(bytes));
  if (!reader.ok()) return false;
  const SnapshotHeader& header = reader->header();
  if (header.layout.total_params() > kMaxReadParams) return true;
  for (uint32_t c = 0; c < header.layout.num_chunks(); ++c) {
    const size_t n = header.layout.chunk(c).count;
    std::vector<float> base(n), state(n * header.state_per_param),
        residual(header.has_residual ? n : 0);
    if (reader->ReadChunk(c, base, state, residual).ok())
      INTERLUDE_CHECK(HashFloats(base) == reader->BaseHash(c), "chunk {}", c);
  }
  return true;
}

template <typename T>
T NumberAt(const std::vector<std::byte>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

template <size_t N>
void Append(std::vector<std::byte>& bytes, const std::array<std::byte, N>& part) {
  bytes.insert(bytes.end(), part.begin(), part.end());
}

/// The preamble with the hash of a description that ends where it says or with the file.
SnapshotPreamble MendedPreamble(const std::vector<std::byte>& file) {
  SnapshotPreamble preamble{.round = NumberAt<uint32_t>(file, 12),
                            .state_per_param = NumberAt<uint32_t>(file, 16),
                            .has_residual = NumberAt<uint32_t>(file, 20) != 0,
                            .chunk_params = NumberAt<uint64_t>(file, 24),
                            .description_bytes = std::min(NumberAt<uint64_t>(file, 32),
                                                          file.size() - kSnapshotPreambleBytes)};
  preamble.description_hash =
      HashBytes(std::span(file).subspan(kSnapshotPreambleBytes, preamble.description_bytes));
  std::memcpy(&preamble.signature.high, file.data() + 64, 8);
  std::memcpy(&preamble.signature.low, file.data() + 72, 8);
  return preamble;
}

/// The same file with fitting checks, its values where the heads want them. Nothing when it cannot
/// be a snapshot with any.
std::vector<std::byte> Mended(const std::vector<std::byte>& file) {
  if (file.size() < kSnapshotPreambleBytes) return {};
  const SnapshotPreamble preamble = MendedPreamble(file);
  const auto encoded = EncodeSnapshotPreamble(preamble);
  size_t at = kSnapshotPreambleBytes + preamble.description_bytes;
  std::vector<std::byte> mended(file.begin(), file.begin() + static_cast<ptrdiff_t>(at));
  std::ranges::copy(encoded, mended.begin());
  const auto header =
      DecodeSnapshotDescription(preamble, std::span(mended).subspan(kSnapshotPreambleBytes));
  if (!header.ok()) return mended;

  Hasher128 checks;
  checks.Update(std::span<const std::byte>(encoded).last(kSnapshotCheckBytes));
  for (uint32_t c = 0; c < header->layout.num_chunks(); ++c) {
    if (file.size() - at < kSnapshotHeadBytes) return mended;
    SnapshotHead head{.chunk = c,
                      .round = NumberAt<uint32_t>(file, at + 8),
                      .stored = NumberAt<uint32_t>(file, at + 12)};
    std::memcpy(&head.base_hash, file.data() + at + 16, 16);
    std::memcpy(&head.state_hash, file.data() + at + 32, 16);
    std::memcpy(&head.residual_hash, file.data() + at + 48, 16);
    const auto head_bytes = EncodeSnapshotHead(head);
    checks.Update(std::span<const std::byte>(head_bytes).last(kSnapshotCheckBytes));
    Append(mended, head_bytes);
    at += kSnapshotHeadBytes;
    const size_t n = header->layout.chunk(c).count;
    size_t values = head.stored & kSnapshotBase ? n : 0;
    values += head.stored & kSnapshotState ? n * header->state_per_param : 0;
    values += head.stored & kSnapshotResidual && header->has_residual ? n : 0;
    if ((file.size() - at) / sizeof(float) < values) return mended;
    const auto begin = file.begin() + static_cast<ptrdiff_t>(at);
    mended.insert(mended.end(), begin, begin + static_cast<ptrdiff_t>(values * sizeof(float)));
    at += values * sizeof(float);
  }
  Append(mended, EncodeSnapshotEnd(mended.size() + kSnapshotEndBytes, checks.Digest()));
  INTERLUDE_CHECK(ReadFile(mended) || preamble.state_per_param > kMaxSnapshotStatePerParam,
                  "a file of {} bytes with fitting checks was refused", mended.size());
  return {};
}

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  interlude::ReadFile({bytes, size});
  interlude::ReadFile(interlude::Mended({bytes, bytes + size}));
  return 0;
}
