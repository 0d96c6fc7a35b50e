// Chunk stamps: when each chunk went through a phase; what the critical path of a pipelined round
// is walked along. Kept and sent as compact bytes: about four of them a chunk. Plain values; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ledger/span.h"

namespace interlude {

/// One chunk's passage through one phase, on the clock of the process that recorded it. Stored in
/// whole microseconds, rounded down.
struct ChunkStamp {
  uint32_t chunk = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  friend bool operator==(const ChunkStamp&, const ChunkStamp&) = default;
};

/// The stamps that belong to one span: same phase, round and processes. A chunk that went through
/// twice (sent again after a reconnect) has two.
struct ChunkStamps {
  Phase phase = Phase::kTrain;
  uint32_t round = kBeforeRounds;
  int32_t recorded_by = kNoWorker;
  int32_t about_worker = kNoWorker;
  std::vector<ChunkStamp> stamps;  // in order of their ends

  friend bool operator==(const ChunkStamps&, const ChunkStamps&) = default;
};

/// Most stamps of one phase of one round in a message or a database.
inline constexpr size_t kMaxStamps = 1u << 20;

/// In order of their begins, for each stamp two or three LEB128 numbers; times in µs. First, four
/// times the time from the end of the stamp before (the first: from 0) to the begin of this; where
/// it begins before that, from the begin of the stamp before, and one more; two more where its
/// chunk is not the one after the chunk before (the first: not chunk 0). Then its length. Then, of
/// the latter, how far off its chunk is, zigzag coded. docs/run-database.md has an example.
///
/// Stamps may be in any order. Precondition: 0 <= begin <= end.
std::string EncodeStamps(const std::vector<ChunkStamp>& stamps);

/// Which stamp an overlapping one is told from.
enum class StampsOrder : uint8_t {
  kByEnd,    // run.db of version 3: in order of their ends, and the time given is to the end
  kByBegin,  // EncodeStamps
};
/// InvalidArgument for bytes that EncodeStamps (that of its time) cannot have made, and for more
/// than kMaxStamps.
StatusOr<std::vector<ChunkStamp>> DecodeStamps(std::string_view bytes,
                                               StampsOrder order = StampsOrder::kByBegin);
/// The same in place of what `stamps` holds, in its memory; of no use after an error.
Status DecodeStampsInto(std::string_view bytes, StampsOrder order, std::vector<ChunkStamp>& stamps);

}  // namespace interlude
