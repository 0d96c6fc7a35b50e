// What the gRPC handlers and the round thread share. Everything else belongs to the round thread
// alone.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/delta_store.h"
#include "coordinator/events.h"
#include "coordinator/merger.h"
#include "coordinator/session.h"
#include "coordinator/sync_board.h"
#include "ledger/recorder.h"
#include "ledger/sampler.h"

namespace interlude {

/// The run's parameters and payloads; made when the first worker has told its layout, then fixed.
struct Exchange {
  std::unique_ptr<Merger> merger;
  std::unique_ptr<DeltaStore> deltas;
  std::vector<size_t> base_chunk_bytes;
};

class SharedState {
 public:
  SharedState(const Clock& system_clock, uint32_t retained_syncs)
      : clock(system_clock), board(retained_syncs) {}

  const Clock& clock;
  EventQueue events{4096};
  SessionTable sessions;
  SyncBoard board;
  Recorder recorder;
  std::optional<Sampler> sampler;  // once it is known where the coordinator is reached

  void SetExchange(std::shared_ptr<const Exchange> exchange) {
    MutexLock lock(mutex_);
    exchange_ = std::move(exchange);
  }
  /// Null until a layout is known.
  std::shared_ptr<const Exchange> exchange() const {
    MutexLock lock(mutex_);
    return exchange_;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const Exchange> exchange_ INTERLUDE_GUARDED_BY(mutex_);
};

}  // namespace interlude
