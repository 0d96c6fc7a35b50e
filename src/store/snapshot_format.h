// The snapshot file's bytes: preamble, description, the head of each chunk, end. Pure functions
// without I/O; the format is described in docs/formats/snapshot.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "store/snapshot.h"

namespace interlude {

inline constexpr uint32_t kSnapshotVersion = 1;
inline constexpr size_t kSnapshotPreambleBytes = 96;
inline constexpr size_t kSnapshotHeadBytes = 80;
inline constexpr size_t kSnapshotEndBytes = 48;
/// The last bytes of preamble, heads and end are the hash of those before.
inline constexpr size_t kSnapshotCheckBytes = 16;
/// More than the largest layout and the longest texts take.
inline constexpr uint64_t kMaxSnapshotDescriptionBytes = uint64_t{1} << 27;

/// Bits of SnapshotHead::stored: a part whose bytes are all zero is left out of the file.
inline constexpr uint32_t kSnapshotBase = 1;
inline constexpr uint32_t kSnapshotState = 2;
inline constexpr uint32_t kSnapshotResidual = 4;

/// The file's first bytes.
struct SnapshotPreamble {
  uint32_t round = 0;
  uint32_t state_per_param = 0;
  bool has_residual = false;
  uint64_t chunk_params = 0;
  uint64_t description_bytes = 0;
  Hash128 description_hash;
  Hash128 signature;  // the layout's
};

std::array<std::byte, kSnapshotPreambleBytes> EncodeSnapshotPreamble(
    const SnapshotPreamble& preamble);
/// DataLoss on a short, damaged or foreign preamble and on counts beyond the bounds,
/// FailedPrecondition on another version's.
StatusOr<SnapshotPreamble> DecodeSnapshotPreamble(std::span<const std::byte> bytes);

/// Run id, software, configuration, tensors.
std::vector<std::byte> EncodeSnapshotDescription(const SnapshotHeader& header);
/// The whole header from both. DataLoss when they are damaged or do not fit each other.
StatusOr<SnapshotHeader> DecodeSnapshotDescription(const SnapshotPreamble& preamble,
                                                   std::span<const std::byte> bytes);

/// Before each chunk's values.
struct SnapshotHead {
  uint32_t chunk = 0;
  uint32_t round = 0;
  uint32_t stored = 0;
  Hash128 base_hash;
  Hash128 state_hash;
  Hash128 residual_hash;
};

std::array<std::byte, kSnapshotHeadBytes> EncodeSnapshotHead(const SnapshotHead& head);
/// DataLoss when it is not the whole head of this chunk.
StatusOr<SnapshotHead> DecodeSnapshotHead(std::span<const std::byte> bytes, uint32_t chunk);

/// `checks` is the hash over the checks of preamble and heads in their order.
std::array<std::byte, kSnapshotEndBytes> EncodeSnapshotEnd(uint64_t file_bytes,
                                                           const Hash128& checks);
/// DataLoss when the file does not end so.
Status CheckSnapshotEnd(std::span<const std::byte> bytes, uint64_t file_bytes,
                        const Hash128& checks);

}  // namespace interlude
