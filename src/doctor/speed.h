// What this machine's memory, codec and disk do in a moment: bounded measurements that leave
// nothing behind. Real time.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/status.h"

namespace interlude {

/// Bytes that encoding a parameter reads and writes: parameter, base, payload.
inline constexpr double kEncodeBytes = 8.53125;

struct CodecSpeed {
  int threads = 1;
  double copy_bytes_per_s = 0;  // memcpy: read and written
  double encode_params_per_s = 0;
  double apply_params_per_s = 0;  // with the hash of the base
};

/// Memcpy, encode and apply on arrays of `params` values that were touched before, a third of
/// `within` each but at least two passes: the mean after the first. Takes 9 bytes a value for the
/// time of the call.
CodecSpeed MeasureCodec(int threads, size_t params, std::chrono::nanoseconds within);

/// Bytes a second that reach the disk in a file without a name in `directory`: pieces of 4 MiB,
/// synced one by one, until `within` has passed or `most_bytes` are written.
StatusOr<double> MeasureDisk(const std::string& directory, size_t most_bytes,
                             std::chrono::nanoseconds within);

}  // namespace interlude
