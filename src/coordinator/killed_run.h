// A run's directory as a coordinator that was killed leaves it, made without one, and what the
// uninterrupted computation came to. Tests only. One thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/recovery.h"
#include "store/snapshot.h"

namespace interlude {

/// Workers deliver noise that depends on round, worker and chunk alone.
class KilledRun {
 public:
  /// In an empty directory, with a journal for TestLayout() and a first base.
  explicit KilledRun(const std::string& name, uint32_t workers = 2, double ema_decay = 0);
  ~KilledRun();

  const std::string& directory() const { return options_.directory; }
  RecoveryOptions& options() { return options_; }
  Merger& merger() { return *merger_; }

  /// With so many of the members on record; 0: all.
  void Begin(uint32_t round, uint32_t recorded = 0);
  /// The worker's delta of the chunk arrives.
  void Deliver(uint32_t round, WorkerId worker, uint32_t chunk);
  /// Of what all workers delivered.
  void Merge(uint32_t round, uint32_t chunk);
  /// All of a round.
  void Commit(uint32_t round);
  /// As Commit, but without the record that it is committed.
  void MergeAll(uint32_t round);
  /// Of the state as it is. `between` is called once between its first and its second chunk.
  void Snapshot(uint32_t round, const std::function<void()>& between = nullptr);
  /// Nothing is written any more, and the locks are given back.
  void Kill() { deltas_.reset(); }

  std::string SnapshotFile(uint32_t round) const {
    return SnapshotPath(directory() + "/snapshots", round);
  }
  /// The journal's file that holds the round.
  std::string JournalFile(uint32_t round) const;
  /// Changes a byte of what was delivered.
  void DamagePayload(uint32_t round, WorkerId worker, uint32_t chunk) const;

 private:
  RecoveryOptions options_;
  std::unique_ptr<Merger> merger_;
  std::unique_ptr<DeltaStore> deltas_;
};

/// Changes every bit of the byte.
void DamageByte(const std::string& path, size_t at);

}  // namespace interlude
