#include "ledger/chunk_stamps.h"

namespace interlude {
namespace {

constexpr int64_t kUnitNs = 1000;

uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

void Put(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

/// A LEB128 number off the front of `bytes`; numbers of more than 63 bits are none of ours.
StatusOr<uint64_t> Take(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 63; shift += 7) {
    if (bytes.empty()) return InvalidArgumentError("chunk stamps end within a number");
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return InvalidArgumentError("chunk stamps hold a number of more than 63 bits");
}

/// A difference off the front, added to `value`; the sum must lie in [0, most].
Status TakeDifference(std::string_view& bytes, int64_t most, int64_t& value) {
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t coded, Take(bytes));
  const int64_t difference = UnZigZag(coded);
  if (difference < -value || difference > most - value)
    return InvalidArgumentError("chunk stamps leave their range: {} + {}", value, difference);
  value += difference;
  return OkStatus();
}

}  // namespace

std::string EncodeStamps(const std::vector<ChunkStamp>& stamps) {
  std::string bytes;
  bytes.reserve(stamps.size() * 8);
  int64_t chunk = 0;
  int64_t begin = 0;
  for (const ChunkStamp& stamp : stamps) {
    const int64_t stamp_begin = stamp.begin_ns / kUnitNs;
    Put(ZigZag(stamp.chunk - chunk), bytes);
    Put(ZigZag(stamp_begin - begin), bytes);
    Put(static_cast<uint64_t>(stamp.end_ns / kUnitNs - stamp_begin), bytes);
    chunk = int64_t{stamp.chunk} + 1;
    begin = stamp_begin;
  }
  return bytes;
}

StatusOr<std::vector<ChunkStamp>> DecodeStamps(std::string_view bytes) {
  constexpr int64_t kMostUnits = INT64_MAX / kUnitNs;
  std::vector<ChunkStamp> stamps;
  int64_t chunk = 0;
  int64_t begin = 0;
  while (!bytes.empty()) {
    if (stamps.size() == kMaxStamps)
      return InvalidArgumentError("more than {} chunk stamps", kMaxStamps);
    INTERLUDE_RETURN_IF_ERROR(TakeDifference(bytes, UINT32_MAX, chunk));
    INTERLUDE_RETURN_IF_ERROR(TakeDifference(bytes, kMostUnits, begin));
    INTERLUDE_ASSIGN_OR_RETURN(const uint64_t length, Take(bytes));
    if (length > static_cast<uint64_t>(kMostUnits - begin))
      return InvalidArgumentError("a chunk stamp of {} µs", length);
    stamps.push_back({.chunk = static_cast<uint32_t>(chunk),
                      .begin_ns = begin * kUnitNs,
                      .end_ns = (begin + static_cast<int64_t>(length)) * kUnitNs});
    ++chunk;
  }
  return stamps;
}

}  // namespace interlude
