// Takes up a run where a coordinator that was killed has left it: the newest snapshot, and on top
// of it, chunk by chunk, the merges that the journal has of the rounds after it. The same
// arithmetic from the same payloads gives the same bits, which the recorded hashes prove.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "config/run_config.h"
#include "coordinator/replay.h"
#include "coordinator/shared_state.h"
#include "protocol/types.h"

namespace interlude {

/// A member of the round that was open.
struct RecoveredMember {
  WorkerId worker = 0;
  uint64_t samples = 0;  // 0: it had not begun to upload
  uint64_t session = 0;
  std::vector<uint32_t> arrived;  // chunks of its delta that are whole
};

struct RecoveredRun {
  std::string run_id;
  std::shared_ptr<Exchange> exchange;
  uint32_t committed_rounds = 0;
  Hash128 root;  // after them
  /// By round, then by chunk (absent: not to be had): retained committed rounds, and the open one.
  std::map<uint32_t, std::vector<std::optional<RecoveredSync>>> syncs;
  /// The hashes of the base after `committed_rounds`.
  std::vector<Hash128> base_hashes;
  /// Members of the round after the committed ones, where it had begun; none: it had not.
  std::vector<RecoveredMember> open_members;
  /// Its merges that were ordered, all of which are made again.
  std::vector<MergeOrder> open_orders;
  /// What was made again.
  uint32_t snapshot_round = 0;
  uint64_t replayed_merges = 0;
};

struct RecoveryOptions {
  std::string directory;
  RunConfig config;
  uint32_t workers = 1;
  int threads = 1;
  /// So many are known to be committed; more may be.
  uint32_t committed_rounds = 0;
};

/// How long deltas and sync deltas are kept: until a snapshot has made deltas needless, though it
/// took as long as the next one was to wait.
DeltaStoreOptions StorageOf(const RunConfig& config, uint32_t workers);

/// Nothing when nothing was merged in the directory. DataLoss, naming file, round and chunk and
/// saying what to do, when snapshots or journal are damaged or missing so that a committed round
/// cannot be made again or has other bits; what is there is then left as it is, but for files of
/// the journal without a whole header, which Journal::Open mends. FailedPrecondition when they
/// belong to another configuration or are in use; errors as Merger::Create.
StatusOr<std::optional<RecoveredRun>> RecoverRun(const RecoveryOptions& options,
                                                 const Clock& clock);

}  // namespace interlude
