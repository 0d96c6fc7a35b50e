#include "ledger/chunk_stamps.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ledger/leb128.h"

namespace interlude {
namespace {

constexpr int64_t kUnitNs = 1000;

constexpr uint64_t kOverlaps = 1;
constexpr uint64_t kOtherChunk = 2;

/// One of two stamps is before the other, or they are the same.
bool BeginsBefore(const ChunkStamp& a, const ChunkStamp& b) {
  return std::tie(a.begin_ns, a.end_ns, a.chunk) < std::tie(b.begin_ns, b.end_ns, b.chunk);
}

bool EndsBefore(const ChunkStamp& a, const ChunkStamp& b) {
  return std::tie(a.end_ns, a.begin_ns, a.chunk) < std::tie(b.end_ns, b.begin_ns, b.chunk);
}

/// Takes stamps off the front of bytes, in µs. After the first error nothing more is taken.
class Reader {
 public:
  Reader(std::string_view bytes, StampsOrder order) : bytes_(bytes), order_(order) {}

  bool done() const { return bytes_.empty() || !status_.ok(); }
  const Status& status() const { return status_; }

  /// Appends it in ns. What it appends is of no use where status() is an error then.
  void TakeTo(std::vector<ChunkStamp>& stamps) {
    constexpr int64_t kMost = INT64_MAX / kUnitNs;
    const uint64_t coded_time = TakeNumber();
    const uint64_t coded_length = TakeNumber();
    if ((coded_time & kOtherChunk) != 0) chunk_ += TakeOffset();
    const bool overlaps = (coded_time & kOverlaps) != 0;
    const bool from_begin = overlaps && order_ == StampsOrder::kByBegin;
    // The first is below 2^61, so that the sum cannot overflow.
    const int64_t time = (from_begin ? begin_ : end_) + static_cast<int64_t>(coded_time >> 2);
    const auto length = static_cast<int64_t>(std::min<uint64_t>(coded_length, kMost + 1));
    const int64_t begin = overlaps && !from_begin ? time - length : time;
    const int64_t end = begin + length;
    const bool possible =
        begin >= 0 && end <= kMost && chunk_ <= UINT32_MAX && (!overlaps || begin < end_) &&
        (!from_begin || std::tie(begin, end, chunk_) >= std::tie(begin_, end_, last_chunk_));
    if (!possible) return RefuseStamp(begin, end);
    stamps.push_back({static_cast<uint32_t>(chunk_), begin * kUnitNs, end * kUnitNs});
    begin_ = begin;
    end_ = end;
    last_chunk_ = chunk_++;
  }

 private:
  uint64_t TakeNumber() {
    uint64_t value = 0;
    const std::string_view wrong = TakeLeb128(bytes_, value);
    if (wrong.empty() && value <= INT64_MAX) [[likely]]
      return value;
    RefuseNumber(wrong.empty() ? "hold a number of more than 63 bits" : wrong);
    return 0;
  }

  /// How far off the chunk is from the one that would follow.
  int64_t TakeOffset() {
    const int64_t off = UnZigZag(TakeNumber());
    if (off != 0 && off >= -chunk_ && off <= UINT32_MAX - chunk_) return off;
    Refuse(InvalidArgumentError("chunk stamps name no chunk: {} + {}", chunk_, off));
    return 0;
  }

  // Apart, so that the compiler keeps what errors need out of the loop over millions of stamps.
  [[gnu::cold]] void RefuseNumber(std::string_view wrong) {
    Refuse(InvalidArgumentError("chunk stamps {}", wrong));
  }
  [[gnu::cold]] void RefuseStamp(int64_t begin, int64_t end) {
    Refuse(
        InvalidArgumentError("an impossible chunk stamp: {} from {} to {} µs", chunk_, begin, end));
  }
  void Refuse(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  std::string_view bytes_;
  const StampsOrder order_;
  int64_t begin_ = 0, end_ = 0, last_chunk_ = 0;  // of the stamp before
  int64_t chunk_ = 0;                             // that would follow
  Status status_;
};

/// By their begins, in µs.
std::vector<ChunkStamp> InOrder(std::vector<ChunkStamp> stamps) {
  for (ChunkStamp& stamp : stamps) {
    stamp.begin_ns /= kUnitNs;
    stamp.end_ns /= kUnitNs;
  }
  std::sort(stamps.begin(), stamps.end(), BeginsBefore);
  return stamps;
}

}  // namespace

std::string EncodeStamps(const std::vector<ChunkStamp>& stamps) {
  std::string bytes;
  bytes.reserve(stamps.size() * 5);
  int64_t next_chunk = 0;
  int64_t last_begin = 0;
  int64_t last_end = 0;
  for (const auto& [chunk, begin, end] : InOrder(stamps)) {
    const int64_t off = chunk - next_chunk;
    const bool overlaps = begin < last_end;
    const int64_t time = begin - (overlaps ? last_begin : last_end);
    PutLeb128(static_cast<uint64_t>(time) << 2 | (overlaps ? kOverlaps : 0) |
                  (off != 0 ? kOtherChunk : 0),
              bytes);
    PutLeb128(static_cast<uint64_t>(end - begin), bytes);
    if (off != 0) PutLeb128(ZigZag(off), bytes);
    next_chunk = int64_t{chunk} + 1;
    last_begin = begin;
    last_end = end;
  }
  return bytes;
}

StatusOr<std::vector<ChunkStamp>> DecodeStamps(std::string_view bytes, StampsOrder order) {
  std::vector<ChunkStamp> stamps;
  INTERLUDE_RETURN_IF_ERROR(DecodeStampsInto(bytes, order, stamps));
  return stamps;
}

Status DecodeStampsInto(std::string_view bytes, StampsOrder order,
                        std::vector<ChunkStamp>& stamps) {
  stamps.clear();
  stamps.reserve(std::min(bytes.size() / 4, kMaxStamps));
  Reader reader(bytes, order);
  while (!reader.done()) {
    if (stamps.size() == kMaxStamps)
      return InvalidArgumentError("more than {} chunk stamps", kMaxStamps);
    reader.TakeTo(stamps);
  }
  INTERLUDE_RETURN_IF_ERROR(reader.status());
  if (order == StampsOrder::kByBegin && !std::is_sorted(stamps.begin(), stamps.end(), EndsBefore))
    std::sort(stamps.begin(), stamps.end(), EndsBefore);
  return OkStatus();
}

}  // namespace interlude
