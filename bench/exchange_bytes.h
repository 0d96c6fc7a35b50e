// The bytes that an exchange must touch whatever program does it: what the physical bound of
// `interlude bench exchange` is made of. Arithmetic only.
//
// Counted as memcpy is: each byte that is read and each byte that is written, once a pass. Of n
// parameters P = 4n bytes are an fp32 array and E the payloads of all chunks (with q4 17/32 n). All
// processes are on one machine and share its memory bandwidth, so the bytes of all of them add up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace interlude {

/// A part of the exchange, for all workers together.
struct TouchedBytes {
  std::string stage;  // "encode", "upload", "merge", "download", "apply"
  std::string count;  // how it is counted, for people
  uint64_t read = 0;
  uint64_t written = 0;

  uint64_t total() const { return read + written; }
};

/// In the order of the exchange.
///  - encode: each worker reads parameters and base and writes its payload (with error feedback
///    also reads and writes the residual);
///  - upload: each payload byte is copied from the worker into the kernel, from there into the
///    coordinator, and from there to its page of the journal;
///  - merge: the coordinator reads all payloads, reads and writes base, residual (unless fp32) and
///    outer state, and writes one sync payload;
///  - download: the sync payload is copied into the kernel and out of it, for each worker;
///  - apply: each worker reads base and the sync payload and writes base and parameters. The hash
///  is
///    of what is then in cache and touches nothing.
std::vector<TouchedBytes> ExchangeBytes(const RunConfig& config, uint32_t workers);

uint64_t SumOf(const std::vector<TouchedBytes>& stages);

/// E: payload bytes of all chunks.
uint64_t ModelPayloadBytes(const RunConfig& config);

/// Anonymous memory that the processes of a run need at most, and disk that the run takes.
struct ExchangeNeeds {
  uint64_t coordinator_memory = 0;
  uint64_t worker_memory = 0;  // of each
  uint64_t disk = 0;
};
ExchangeNeeds NeedsOf(const RunConfig& config, uint32_t workers);

}  // namespace interlude
