// Writes snapshots of the coordinator's state beside the rounds: chunk by chunk, each as it is
// between two of its merges, so that nobody waits and no copy of the model is made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "coordinator/merger.h"
#include "store/snapshot.h"

namespace interlude {

/// A thread of its own; the calls come from the round thread, save Stop.
class Snapshotter {
 public:
  /// A snapshot begun after `round` rounds is on disk, or why it is not.
  using Done = std::function<void(uint32_t round, const Status& status)>;

  /// `directory` is the run's; `identity` is written into each snapshot. `done` is called on the
  /// snapshotter's thread. The merger outlives it.
  Snapshotter(std::string directory, SnapshotHeader identity, Merger& merger, Done done);
  /// Gives up what is being written.
  ~Snapshotter();

  /// Begins one, unless one is being written: false then.
  bool Begin(uint32_t committed_rounds);
  /// Waits until none is being written.
  void Await();

 private:
  void Run();
  Status Write(uint32_t round);

  const std::string directory_;
  const SnapshotHeader identity_;
  Merger& merger_;
  const Done done_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<uint32_t> wanted_ INTERLUDE_GUARDED_BY(mutex_);
  bool stop_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace interlude
