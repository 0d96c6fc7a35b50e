// Snapshots: from which the coordinator's state is made again, together with the journal. A
// snapshot holds for every chunk the base, the outer optimizer's state and the residual, and is
// fuzzy: each chunk stands after a round of its own, because chunks are copied one after the other
// while rounds go on. The bytes: docs/formats/snapshot.md.
//
// Not for people: a model to load elsewhere is a safetensors file. One thread at a time for a
// writer; a reader may be used by several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "layout/layout.h"
#include "store/atomic_file.h"
#include "store/file.h"

namespace interlude {

/// Bounds on the texts of a snapshot.
inline constexpr size_t kMaxSnapshotNameBytes = 1'024;              // run id, software
inline constexpr size_t kMaxSnapshotConfigBytes = size_t{1} << 20;  // configuration
/// Most outer state values a parameter.
inline constexpr uint32_t kMaxSnapshotStatePerParam = 16;

/// What holds for the whole snapshot.
struct SnapshotHeader {
  std::string run_id;
  std::string software;  // name and version of the program that wrote it
  std::string config;    // the run's configuration, TOML
  Layout layout;
  uint32_t state_per_param = 0;  // outer state values of each parameter
  bool has_residual = false;
  uint32_t round = 0;  // at whose commit it was begun; 0: before the first
};

/// One chunk of n parameters as it is given to the writer.
struct SnapshotChunk {
  uint32_t chunk = 0;
  uint32_t round = 0;               // after which it stands; 0: before the first
  Hash128 base_hash;                // of `base`
  std::span<const float> base;      // n
  std::span<const float> state;     // state_per_param * n
  std::span<const float> residual;  // n, or none without has_residual
};

/// Writes one snapshot. Move only; without Commit nothing is left.
class SnapshotWriter {
 public:
  /// Begins PATH.partial. InvalidArgument when a text or count of the header exceeds its bound.
  static StatusOr<SnapshotWriter> Create(const std::string& path, const SnapshotHeader& header);

  /// Adds the next chunk. What is written goes to the disk in steps, so that the page cache never
  /// holds much of it; so this call may wait for the disk. FailedPrecondition when the base has
  /// another hash than stated. Precondition: chunks come in order, with the sizes of the layout.
  Status Append(const SnapshotChunk& chunk);

  /// Ends the file, makes it durable and gives it its name. Precondition: all chunks were added.
  Status Commit();

 private:
  SnapshotWriter(AtomicFile file, Layout layout, uint32_t state_per_param, bool has_residual)
      : file_(std::move(file)),
        layout_(std::move(layout)),
        state_per_param_(state_per_param),
        has_residual_(has_residual) {}
  Status Write(std::span<const std::byte> bytes);

  AtomicFile file_;
  Layout layout_;
  uint32_t state_per_param_;
  bool has_residual_;
  uint32_t next_chunk_ = 0;
  uint64_t written_bytes_ = 0;
  Hasher128 checks_;  // over the checks of all that was written so far
};

/// Reads one snapshot. Move only.
class SnapshotReader {
 public:
  /// Opens a file and checks all but the values: header, the head of every chunk, that nothing is
  /// missing or follows. DataLoss says what is damaged, FailedPrecondition names another version.
  /// Takes memory in proportion to the file's size at most.
  static StatusOr<SnapshotReader> Open(const std::string& path);

  const SnapshotHeader& header() const { return header_; }

  /// The round after which a chunk stands, and its base's hash. Precondition: the chunk exists.
  uint32_t ChunkRound(uint32_t chunk) const { return chunks_[chunk].round; }
  const Hash128& BaseHash(uint32_t chunk) const { return chunks_[chunk].base_hash; }

  /// Reads a chunk's values and checks their hashes: DataLoss names chunk and part; the spans then
  /// hold anything. The spans have the sizes of SnapshotChunk's. Precondition: the chunk exists.
  Status ReadChunk(uint32_t chunk, std::span<float> base, std::span<float> state,
                   std::span<float> residual) const;

 private:
  struct Chunk {
    uint64_t offset = 0;  // of its first stored value
    uint32_t round = 0;
    uint32_t stored = 0;  // which parts are in the file
    Hash128 base_hash;
    Hash128 state_hash;
    Hash128 residual_hash;
  };

  SnapshotReader(std::string path, FileDescriptor file, uint64_t file_bytes)
      : path_(std::move(path)), file_(std::move(file)), file_bytes_(file_bytes) {}
  /// The steps of Open, from the file's begin to its end.
  Status ReadHeader();
  Status ReadHeads();
  Status ReadEnd(uint64_t offset);
  Status Read(uint64_t offset, std::span<std::byte> bytes) const;
  Status ReadPart(uint32_t chunk, std::string_view name, const Hash128& hash, bool stored,
                  uint64_t& offset, std::span<float> out) const;

  std::string path_;
  FileDescriptor file_;
  uint64_t file_bytes_ = 0;
  uint64_t heads_begin_ = 0;
  SnapshotHeader header_;
  std::vector<Chunk> chunks_;
  Hasher128 checks_;  // as the writer's; used by Open alone
};

/// DIRECTORY/snapshot-ROUND.snapshot, the round with eight digits or more.
std::string SnapshotPath(const std::string& directory, uint32_t round);

/// The snapshots in a directory, the newest first; none when there is no such directory. Other
/// files are ignored. The files themselves are not looked into.
StatusOr<std::vector<std::string>> NewestSnapshots(const std::string& directory);

/// Removes all but the newest `keep` snapshots and what writers that were killed left behind. Not
/// while a writer works in the directory.
Status PruneSnapshots(const std::string& directory, size_t keep);

}  // namespace interlude
