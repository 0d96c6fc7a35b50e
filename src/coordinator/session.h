// The workers' sessions as the gRPC handlers and the round thread share them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/queue.h"
#include "base/status.h"
#include "protocol/types.h"
#include "wire/messages.h"

namespace interlude {

/// One session of a worker's stay: a stay whose connection broke goes on in another one. Made by
/// its Session handler; shared with the round thread and the bulk handlers.
struct Session {
  explicit Session(uint64_t session_token) : token(session_token) {}

  /// The stay's. The round thread replaces it, before anybody else sees the session, when the stay
  /// is an older one.
  uint64_t token;
  /// Whether `given` is the token. The time that it takes tells nothing of it.
  bool HasToken(uint64_t given) const;
  std::atomic<WorkerId> worker{-1};
  /// To the worker, in order. Closed when the stay is over. A worker that reads nothing
  /// until it is full is removed; the round thread never waits for it.
  Queue<CoordinatorMessage> outgoing{1024};
  /// Set by Drop: bulk streams stop at their next chunk.
  std::atomic<bool> dropped{false};
  /// Set by the round thread when the worker is to catch up: it may download.
  std::atomic<bool> may_download{false};
  /// Set by the round thread when the worker takes part in rounds: none passes without it.
  std::atomic<bool> member{false};
  /// Uploads and downloads that are under way.
  std::atomic<uint32_t> bulk_streams{0};
  /// When the round thread decided upon a round's start that is not written yet; else 0.
  std::atomic<int64_t> start_decided_ns{0};
  /// Its clock probes that are under way.
  std::atomic<uint32_t> clock_streams{0};

  /// The round thread, when it lets an upload begin. Of several upload streams of one worker (a
  /// broken one may linger) only the newest may store: its generation, for Store.
  uint64_t BeginUpload();
  /// The round thread: nothing that was begun may store any more.
  void FenceUploads() { BeginUpload(); }
  /// The round thread: the worker no longer counts. Returns when no store of its is under way.
  void Drop();

  /// A handler: runs `store` if the stream of this generation may still store, else Aborted. The
  /// lock covers one piece's copy, or the check and the seal of one chunk.
  template <typename StoreFunction>
  Status Store(uint64_t generation, const StoreFunction& store) {
    MutexLock lock(upload_mutex_);
    if (dropped) return AbortedError("this worker no longer takes part");
    if (upload_generation_ != generation) {
      return AbortedError("a newer upload of this worker took over");
    }
    return store();
  }

 private:
  Mutex upload_mutex_;
  uint64_t upload_generation_ INTERLUDE_GUARDED_BY(upload_mutex_) = 0;
};

/// Who is here. Any thread.
class SessionTable {
 public:
  void Add(WorkerId worker, std::shared_ptr<Session> session);
  /// Removes the worker's entry if it still is this session.
  void Remove(WorkerId worker, const Session* session);
  /// PermissionDenied when the worker is not here or the token is not its own.
  StatusOr<std::shared_ptr<Session>> Find(WorkerId worker, uint64_t token) const;
  /// Null when the worker is not here.
  std::shared_ptr<Session> Get(WorkerId worker) const;
  std::vector<std::shared_ptr<Session>> All() const;
  /// Whether any worker has an upload or a download under way.
  bool AnyBulkStream() const;

 private:
  mutable Mutex mutex_;
  std::map<WorkerId, std::shared_ptr<Session>> sessions_ INTERLUDE_GUARDED_BY(mutex_);
};

}  // namespace interlude
