// How fast bytes go from one end to the other on loopback within one process: through a plain TCP
// connection, and as chunks through the real upload and download with the real connections' and
// service's settings. Times only; what is made of them is the caller's. The receiving end checks
// every chunk's hash, so a wrong byte fails the pass.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace interlude {

struct TransportBenchOptions {
  uint64_t bytes = uint64_t{512} << 20;  // a pass; rounded down to whole chunks, at least one
  size_t chunk_bytes = 557'056;          // a chunk of 1 Mi parameters in q4
  std::string directory;                 // an existing one, for the journal: bytes x 2 on its disk
};

/// Where the receiving end puts what comes.
enum class UploadTo {
  kNothing,  // hashed where gRPC put it
  kMemory,
  kJournal,  // written to its place in the file and sealed
};

/// Both ends in one process. One thread calls.
class TransportBench {
 public:
  using Seconds = std::chrono::duration<double>;

  /// Makes the journal, starts the service, connects. Errors of each.
  static StatusOr<std::unique_ptr<TransportBench>> Create(const TransportBenchOptions& options);
  virtual ~TransportBench() = default;

  /// Bytes that a pass carries.
  virtual uint64_t bytes() const = 0;

  /// One TCP connection with writes and reads of 1 MiB, the reads into memory one after the other.
  virtual StatusOr<Seconds> RawTcp() = 0;
  /// From the first write to the receipt.
  virtual StatusOr<Seconds> Upload(UploadTo to) = 0;
  /// From the request until the last chunk is whole in memory.
  virtual StatusOr<Seconds> Download() = 0;
};

}  // namespace interlude
