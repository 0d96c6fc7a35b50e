// Reads a file of unsigned bytes in the idx format of the MNIST family, gzip-compressed or plain:
// 00 00 08 D, then D big-endian 32-bit dimensions, then their product in bytes. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace interlude {

/// The most data bytes that an idx file may claim.
inline constexpr uint64_t kMaxIdxBytes = uint64_t{1} << 32;

struct IdxFile {
  std::vector<uint32_t> dimensions;
  std::vector<uint8_t> bytes;  // row-major; as many as the product of dimensions
};

/// Reads `path` whole. NotFound (or what errno says) when it cannot be opened; DataLoss, with the
/// path, on another magic or number of dimensions than `num_dimensions`, a size beyond
/// kMaxIdxBytes, a file that is shorter or longer than its dimensions say, or a damaged gzip
/// stream. Allocates what was read, not what was claimed.
StatusOr<IdxFile> ReadIdxFile(const std::string& path, uint32_t num_dimensions);

}  // namespace interlude
