#include "coordinator/snapshotter.h"

#include <utility>

#include "base/crash_point.h"
#include "base/memory_account.h"

namespace interlude {
namespace {

/// A newer one may turn out damaged.
constexpr size_t kKeptSnapshots = 2;

}  // namespace

Snapshotter::Snapshotter(std::string directory, SnapshotHeader identity, Merger& merger, Done done)
    : directory_(std::move(directory)),
      identity_(std::move(identity)),
      merger_(merger),
      done_(std::move(done)),
      thread_([this] { Run(); }) {}

Snapshotter::~Snapshotter() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

bool Snapshotter::Begin(uint32_t committed_rounds) {
  MutexLock lock(mutex_);
  if (wanted_) return false;
  wanted_ = committed_rounds;
  changed_.NotifyAll();
  return true;
}

void Snapshotter::Await() {
  MutexLock lock(mutex_);
  while (wanted_ && !stop_) changed_.Wait(mutex_);
}

void Snapshotter::Run() {
  for (;;) {
    uint32_t round = 0;
    {
      MutexLock lock(mutex_);
      while (!wanted_ && !stop_) changed_.Wait(mutex_);
      if (stop_) return;
      round = *wanted_;
    }
    const Status status = Write(round);
    {
      MutexLock lock(mutex_);
      wanted_.reset();
      changed_.NotifyAll();
      if (stop_) return;
    }
    done_(round, status);  // may wait for whoever is told
  }
}

Status Snapshotter::Write(uint32_t round) {
  SnapshotHeader header = identity_;
  header.round = round;
  INTERLUDE_ASSIGN_OR_RETURN(SnapshotWriter writer,
                             SnapshotWriter::Create(SnapshotPath(directory_, round), header));
  const ChunkArrays most = merger_.StateOf(0);
  Buffer base = Buffer::Floats("snapshot chunk", most.base.size());
  Buffer outer = Buffer::Floats("snapshot chunk", most.state.size());
  Buffer residual = Buffer::Floats("snapshot chunk", most.residual.size());
  for (uint32_t chunk = 0; chunk < merger_.layout().num_chunks(); ++chunk) {
    {
      MutexLock lock(mutex_);
      if (stop_) return CancelledError("the run has ended");
    }
    const ChunkArrays size = merger_.StateOf(chunk);
    const ChunkArrays copy{.base = base.floats().first(size.base.size()),
                           .state = outer.floats().first(size.state.size()),
                           .residual = residual.floats().first(size.residual.size())};
    const ChunkHashes hashes = merger_.CopyState(chunk, copy);
    CrashPoint();
    INTERLUDE_RETURN_IF_ERROR(writer.Append({.chunk = chunk,
                                             .round = hashes.base_round,
                                             .base_hash = hashes.base,
                                             .base = copy.base,
                                             .state = copy.state,
                                             .residual = copy.residual}));
  }
  CrashPoint();
  INTERLUDE_RETURN_IF_ERROR(writer.Commit());
  CrashPoint();
  return PruneSnapshots(directory_, kKeptSnapshots);
}

}  // namespace interlude
