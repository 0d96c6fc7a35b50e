// Chunk stamps: when each chunk went through a phase; what the critical path of a pipelined round
// is walked along. Kept and sent as compact bytes: about five of them a chunk. Plain values; any
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

/// For each stamp three LEB128 numbers, differences from the stamp before it (the first: from 0),
/// the first two zigzag coded: chunk - (the one before + 1), begin - the begin before it in µs,
/// then end - begin in µs.
std::string EncodeStamps(const std::vector<ChunkStamp>& stamps);
/// InvalidArgument for bytes that EncodeStamps cannot have made: a number cut short or too large, a
/// negative time, more than kMaxStamps.
StatusOr<std::vector<ChunkStamp>> DecodeStamps(std::string_view bytes);

}  // namespace interlude
