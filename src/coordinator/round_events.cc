// Events: who comes and goes, and what handlers and other threads tell the round thread.

#include "base/crash_point.h"
#include "base/log.h"
#include "coordinator/round_thread.h"

namespace interlude {

void RoundThread::On(JoinEvent& event) {
  if (const std::optional<WelcomeMessage> resumed = Resume(event)) {
    event.reply.set_value(*resumed);
    Member& member = members_.at(resumed->worker);
    if (member.told) Tell(*member.session, *member.told);
    return;
  }
  if (const auto replaced = machine_.ReplacedBy(event.join.requested_worker)) {
    Remove(*replaced,
           UnavailableError("worker {} did not come back; another one took its place", *replaced));
  }
  const StatusOr<WelcomeMessage> welcome = Welcome(event);
  if (!welcome.ok()) {
    LogWarning("a worker on {} was refused: {}", event.join.host, welcome.status().message());
  }
  event.reply.set_value(welcome);
}

StatusOr<WelcomeMessage> RoundThread::Welcome(JoinEvent& event) {
  INTERLUDE_ASSIGN_OR_RETURN(const WorkerId worker,
                             machine_.Join(event.join.requested_worker, shared_.clock.Now()));
  const auto offences = offences_.find(worker);
  if (offences != offences_.end() && offences->second >= options_.config.round.max_refusals) {
    machine_.WorkerLeft(worker, shared_.clock.Now());
    return PermissionDeniedError(
        "worker {} is excluded from this run after {} updates or messages that were wrong; the "
        "coordinator's log says which",
        worker, offences->second);
  }
  event.session->worker = worker;
  members_[worker] = Member{.session = event.session};
  shared_.sessions.Add(worker, event.session);
  book_.Joined(worker, event.join);
  observer_.WorkerJoined(worker, event.join.host, machine_.membership().present(),
                         options_.workers);
  return WelcomeOf(worker, *event.session);
}

WelcomeMessage RoundThread::WelcomeOf(WorkerId worker, const Session& session) const {
  WelcomeMessage welcome;
  welcome.worker = worker;
  welcome.workers = options_.workers;
  welcome.session = session.token;
  welcome.run_id = run_id_;
  welcome.config_toml = FormatRunConfig(options_.config);
  return welcome;
}

std::optional<WelcomeMessage> RoundThread::Resume(JoinEvent& event) {
  const WorkerId worker = event.join.requested_worker.value_or(-1);
  const auto it = members_.find(worker);
  if (event.join.session == 0 || it == members_.end()) return std::nullopt;
  const std::shared_ptr<Session> before = it->second.session;
  if (!before->HasToken(event.join.session)) return std::nullopt;
  // Its end may not have been noticed yet.
  if (!machine_.is_away(worker)) Lose(worker, "it has opened another session");
  if (!machine_.WorkerReturned(worker, shared_.clock.Now()).ok()) return std::nullopt;
  before->Drop();
  before->outgoing.Close();
  event.session->token = before->token;
  event.session->worker = worker;
  event.session->may_download = before->may_download.load();
  event.session->member = before->member.load();
  it->second.session = event.session;
  shared_.sessions.Add(worker, event.session);
  LogInfo("worker {} is back", worker);
  book_.Event("worker_returned", worker, fmt::format("from {}", event.join.host));
  observer_.WorkerReturned(worker);
  WelcomeMessage welcome = WelcomeOf(worker, *event.session);
  welcome.resumed = true;
  welcome.last_number = it->second.last_number;
  return welcome;
}

void RoundThread::On(SessionClosedEvent& event) {
  if (!IsCurrent(*event.session)) return;
  Lose(event.session->worker, event.reason);
}

void RoundThread::On(UploadBegunEvent& event) {
  const Status status = MayUpload(*event.session, event.header);
  if (status.ok()) {
    event.reply.set_value(event.session->BeginUpload());
  } else {
    event.reply.set_value(status);
  }
}

Status RoundThread::MayUpload(const Session& session, const UploadHeader& header) {
  if (!IsCurrent(session)) {
    return PermissionDeniedError("worker {} no longer takes part", header.worker);
  }
  if (exchange_ == nullptr) {
    return FailedPreconditionError("worker {} uploads before it has told its layout",
                                   header.worker);
  }
  if (header.kind == UploadKind::kBase) {
    if (base_from_ != header.worker) {
      return FailedPreconditionError("worker {} was not asked for the first base", header.worker);
    }
    if (base_stored_) return AlreadyExistsError("the first base is here already");
    return OkStatus();
  }
  if (header.codec != exchange_->merger->codec()) {
    return InvalidArgumentError("worker {} sends codec {}, this run uses {}", header.worker,
                                static_cast<int>(header.codec),
                                static_cast<int>(exchange_->merger->codec()));
  }
  INTERLUDE_RETURN_IF_ERROR(
      machine_.UploadBegun(header.worker, header.round, header.samples, shared_.clock.Now()));
  return exchange_->deltas->SetMember(header.round, header.worker, header.samples, session.token,
                                      member_count_);
}

void RoundThread::On(ChunkStoredEvent& event) {
  CrashPoint();
  if (!IsCurrent(*event.session)) return;
  const WorkerId worker = event.session->worker;
  const StatusOr<bool> news =
      machine_.ChunkReceived(worker, event.round, event.chunk, shared_.clock.Now());
  if (news.status().code() == StatusCode::kAborted) return;  // too late, and no harm
  if (!news.ok()) Remove(worker, news.status());
}

void RoundThread::On(OffenceEvent& event) {
  if (IsCurrent(*event.session)) Offended(event.session->worker, event.offence);
}

void RoundThread::On(BaseStoredEvent& event) {
  const Status status = AcceptBase(*event.session);
  event.reply.set_value(status);
  if (!status.ok() && IsCurrent(*event.session)) Remove(event.session->worker, status);
}

Status RoundThread::AcceptBase(Session& session) {
  if (!IsCurrent(session) || base_from_ != session.worker) {
    return PermissionDeniedError("this worker no longer provides the first base");
  }
  if (base_stored_) return OkStatus();
  session.FenceUploads();  // from here on the base belongs to the merges
  INTERLUDE_RETURN_IF_ERROR(exchange_->merger->HashBase());
  INTERLUDE_RETURN_IF_ERROR(machine_.BaseReceived(session.worker, shared_.clock.Now()));
  shared_.board.PostFirstBase(exchange_->merger->chunk_hashes());
  base_stored_ = true;
  StoreData();
  CrashPoint();
  StartSnapshots();
  snapshotter_->Begin(0);
  return OkStatus();
}

void RoundThread::On(ChunkMergedEvent& event) {
  if (!event.hashes.ok()) return Fail(event.hashes.status());
  CrashPoint();
  const Status recorded =
      exchange_->deltas->RecordMerged(event.round, event.chunk, event.hashes->base);
  if (!recorded.ok()) return Fail(recorded);
  book_.Merged(event.round, sync_contributors_[event.chunk], event.report);
  sync_hashes_[event.chunk] = *event.hashes;
  ++chunks_merged_;
  machine_.ChunkMerged(event.round, event.chunk, shared_.clock.Now());
  ReportProgress();
}

void RoundThread::On(SnapshotEvent& event) {
  CrashPoint();
  if (!event.status.ok() && !snapshot_) {
    return Fail(event.status.WithContext(
        "the first snapshot cannot be written (make room, or choose another --dir)"));
  }
  if (!event.status.ok()) {
    const uint32_t kept = StorageOf(options_.config, options_.workers).kept_rounds;
    const std::string text = fmt::format(
        "no snapshot after round {}: {}; the run goes on and tries again with the next round. Make "
        "room: without a snapshot, a coordinator that is killed after the begin of round {} cannot "
        "go on",
        event.round, event.status.message(), *snapshot_ + kept + 1);
    LogError("{}", text);
    book_.Event("snapshot_failed", kNoWorker, text);
    return;
  }
  snapshot_ = event.round;
  ReleaseMerges();
}

void RoundThread::On(StopEvent& event) {
  machine_.Stop(CancelledError("{}", event.reason), shared_.clock.Now());
}

}  // namespace interlude
