#include "ledger/chunk_stamps.h"

#include <algorithm>

namespace interlude {
namespace {

constexpr int64_t kUnitNs = 1000;

uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

constexpr uint64_t kOverlaps = 1;
constexpr uint64_t kOtherChunk = 2;

void Put(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

/// A LEB128 number off the front of `bytes`; numbers of more than 63 bits, or longer than they need
/// be, are none of ours.
StatusOr<uint64_t> Take(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 63; shift += 7) {
    if (bytes.empty()) return InvalidArgumentError("chunk stamps end within a number");
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte == 0 && shift > 0) return InvalidArgumentError("chunk stamps hold an overlong number");
    if (byte < 0x80) return value;
  }
  return InvalidArgumentError("chunk stamps hold a number of more than 63 bits");
}

/// How far off a chunk is, off the front, added to `chunk`.
Status TakeChunk(std::string_view& bytes, int64_t& chunk) {
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t coded, Take(bytes));
  const int64_t off = UnZigZag(coded);
  if (off == 0 || off < -chunk || off > UINT32_MAX - chunk)
    return InvalidArgumentError("chunk stamps name no chunk: {} + {}", chunk, off);
  chunk += off;
  return OkStatus();
}

/// A stamp off the front, in µs. `last_end` is the end of the one before it, `chunk` the one that
/// would follow; both move on.
StatusOr<ChunkStamp> TakeStamp(std::string_view& bytes, int64_t& last_end, int64_t& chunk) {
  constexpr int64_t kMost = INT64_MAX / kUnitNs;
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t coded_time, Take(bytes));
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t coded_length, Take(bytes));
  if ((coded_time & kOtherChunk) != 0) INTERLUDE_RETURN_IF_ERROR(TakeChunk(bytes, chunk));
  const bool overlaps = (coded_time & kOverlaps) != 0;
  // The first is below 2^61, so that the sum cannot overflow.
  const int64_t time = last_end + static_cast<int64_t>(coded_time >> 2);
  const auto length = static_cast<int64_t>(std::min<uint64_t>(coded_length, kMost + 1));
  const int64_t begin = overlaps ? time - length : time;
  const int64_t end = begin + length;
  if (begin < 0 || end > kMost || chunk > UINT32_MAX || (overlaps && begin >= last_end))
    return InvalidArgumentError("an impossible chunk stamp: {} from {} to {} µs", chunk, begin,
                                end);
  last_end = end;
  return ChunkStamp{static_cast<uint32_t>(chunk++), begin, end};
}

/// By their ends, in µs.
std::vector<ChunkStamp> InOrder(std::vector<ChunkStamp> stamps) {
  for (ChunkStamp& stamp : stamps) {
    stamp.begin_ns /= kUnitNs;
    stamp.end_ns /= kUnitNs;
  }
  std::stable_sort(stamps.begin(), stamps.end(),
                   [](const ChunkStamp& a, const ChunkStamp& b) { return a.end_ns < b.end_ns; });
  return stamps;
}

}  // namespace

std::string EncodeStamps(const std::vector<ChunkStamp>& stamps) {
  std::string bytes;
  bytes.reserve(stamps.size() * 5);
  int64_t next_chunk = 0;
  int64_t last_end = 0;
  for (const auto& [chunk, begin, end] : InOrder(stamps)) {
    const int64_t off = chunk - next_chunk;
    const bool overlaps = begin < last_end;
    const int64_t time = (overlaps ? end : begin) - last_end;
    Put(static_cast<uint64_t>(time) << 2 | (overlaps ? kOverlaps : 0) |
            (off != 0 ? kOtherChunk : 0),
        bytes);
    Put(static_cast<uint64_t>(end - begin), bytes);
    if (off != 0) Put(ZigZag(off), bytes);
    next_chunk = int64_t{chunk} + 1;
    last_end = end;
  }
  return bytes;
}

StatusOr<std::vector<ChunkStamp>> DecodeStamps(std::string_view bytes) {
  std::vector<ChunkStamp> stamps;
  stamps.reserve(std::min(bytes.size() / 4, kMaxStamps));
  int64_t last_end = 0;
  int64_t chunk = 0;
  while (!bytes.empty()) {
    if (stamps.size() == kMaxStamps)
      return InvalidArgumentError("more than {} chunk stamps", kMaxStamps);
    INTERLUDE_ASSIGN_OR_RETURN(ChunkStamp stamp, TakeStamp(bytes, last_end, chunk));
    stamp.begin_ns *= kUnitNs;
    stamp.end_ns *= kUnitNs;
    stamps.push_back(stamp);
  }
  return stamps;
}

}  // namespace interlude
