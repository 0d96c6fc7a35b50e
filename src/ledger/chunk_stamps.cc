#include "ledger/chunk_stamps.h"

#include <algorithm>
#include <utility>

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

/// Takes stamps off the front of bytes, in µs. After the first error nothing more is taken.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return bytes_.empty() || !status_.ok(); }
  const Status& status() const { return status_; }

  /// Of no use where status() is an error then.
  ChunkStamp Take() {
    constexpr int64_t kMost = INT64_MAX / kUnitNs;
    const uint64_t coded_time = TakeNumber();
    const uint64_t coded_length = TakeNumber();
    if ((coded_time & kOtherChunk) != 0) chunk_ += TakeOffset();
    const bool overlaps = (coded_time & kOverlaps) != 0;
    // The first is below 2^61, so that the sum cannot overflow.
    const int64_t time = last_end_ + static_cast<int64_t>(coded_time >> 2);
    const auto length = static_cast<int64_t>(std::min<uint64_t>(coded_length, kMost + 1));
    const int64_t begin = overlaps ? time - length : time;
    const int64_t end = begin + length;
    if (begin < 0 || end > kMost || chunk_ > UINT32_MAX || (overlaps && begin >= last_end_)) {
      return Refuse(InvalidArgumentError("an impossible chunk stamp: {} from {} to {} µs", chunk_,
                                         begin, end));
    }
    last_end_ = end;
    return ChunkStamp{static_cast<uint32_t>(chunk_++), begin, end};
  }

 private:
  /// LEB128; numbers of more than 63 bits, or longer than they need be, are none of ours.
  uint64_t TakeNumber() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      if (bytes_.empty()) {
        Refuse(InvalidArgumentError("chunk stamps end within a number"));
        return 0;
      }
      const auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte == 0 && shift > 0) {
        Refuse(InvalidArgumentError("chunk stamps hold an overlong number"));
        return 0;
      }
      if (byte < 0x80) return value;
    }
    Refuse(InvalidArgumentError("chunk stamps hold a number of more than 63 bits"));
    return 0;
  }

  /// How far off the chunk is from the one that would follow.
  int64_t TakeOffset() {
    const int64_t off = UnZigZag(TakeNumber());
    if (off != 0 && off >= -chunk_ && off <= UINT32_MAX - chunk_) return off;
    Refuse(InvalidArgumentError("chunk stamps name no chunk: {} + {}", chunk_, off));
    return 0;
  }

  ChunkStamp Refuse(Status status) {
    if (status_.ok()) status_ = std::move(status);
    return {};
  }

  std::string_view bytes_;
  int64_t last_end_ = 0;
  int64_t chunk_ = 0;  // that would follow
  Status status_;
};

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
  Reader reader(bytes);
  while (!reader.done()) {
    if (stamps.size() == kMaxStamps)
      return InvalidArgumentError("more than {} chunk stamps", kMaxStamps);
    const ChunkStamp stamp = reader.Take();
    stamps.push_back({stamp.chunk, stamp.begin_ns * kUnitNs, stamp.end_ns * kUnitNs});
  }
  INTERLUDE_RETURN_IF_ERROR(reader.status());
  return stamps;
}

}  // namespace interlude
