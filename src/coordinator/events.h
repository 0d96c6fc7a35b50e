// What the gRPC handlers and the merge pool tell the round thread. They translate and hand over;
// they decide nothing.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <variant>

#include "base/queue.h"
#include "base/status.h"
#include "coordinator/chunk_merge.h"
#include "coordinator/session.h"
#include "wire/chunk_stream.h"
#include "wire/messages.h"

namespace interlude {

/// A worker's first word; the handler waits for the answer.
struct JoinEvent {
  std::shared_ptr<Session> session;
  JoinMessage join;
  std::promise<StatusOr<WelcomeMessage>> reply;
};
/// Any later word.
struct WorkerSaidEvent {
  std::shared_ptr<Session> session;
  WorkerMessage message;
  uint32_t number = 0;  // of the message in the worker's stay
};
/// The session's stream has ended, whoever ended it.
struct SessionClosedEvent {
  std::shared_ptr<Session> session;
  std::string reason;
};
/// An upload begins; the handler waits for the answer: the generation it stores under.
/// AlreadyExists: what it brings is here already, and the upload counts as done.
struct UploadBegunEvent {
  std::shared_ptr<Session> session;
  UploadHeader header;
  std::promise<StatusOr<uint64_t>> reply;
};
/// A delta chunk is whole, checked and in the journal.
struct ChunkStoredEvent {
  std::shared_ptr<Session> session;
  uint32_t round = 0;
  uint32_t chunk = 0;
};
/// What a worker uploaded is wrong in itself, whatever the line did to it.
struct OffenceEvent {
  std::shared_ptr<Session> session;
  Status offence;
};
/// The first base is whole.
struct BaseStoredEvent {
  std::shared_ptr<Session> session;
  std::promise<Status> reply;
};
/// A merge that the round thread had ordered is done, or why it could not be.
struct ChunkMergedEvent {
  uint32_t round = 0;
  uint32_t chunk = 0;
  StatusOr<ChunkHashes> hashes;
  MergeReport report;
};
/// A snapshot that the round thread had asked for is on disk, or why it is not.
struct SnapshotEvent {
  uint32_t round = 0;
  Status status;
};
/// End the run.
struct StopEvent {
  std::string reason;
};

using Event =
    std::variant<JoinEvent, WorkerSaidEvent, SessionClosedEvent, UploadBegunEvent, ChunkStoredEvent,
                 OffenceEvent, BaseStoredEvent, ChunkMergedEvent, SnapshotEvent, StopEvent>;
using EventQueue = Queue<Event>;

/// Closes the queue and answers the handlers that wait for an event nobody will handle any more.
void RefuseAllEvents(EventQueue& events, const Status& reason);

}  // namespace interlude
