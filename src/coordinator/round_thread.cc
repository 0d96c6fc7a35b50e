#include "coordinator/round_thread.h"

#include <algorithm>

#include "base/log.h"

namespace interlude {
namespace {

RunPlan PlanOf(const CoordinatorOptions& options) {
  RunPlan plan;
  plan.workers = options.workers;
  plan.rounds = options.config.round.rounds;
  plan.evaluate_every = options.config.round.evaluate_every;
  plan.barrier = options.config.round.exchange == ExchangeMode::kBarrier;
  plan.quorum = options.config.round.quorum;
  plan.patience = options.config.round.patience;
  plan.away_patience = Nanoseconds(static_cast<int64_t>(options.config.round.reconnect_s * 1e9));
  return plan;
}

}  // namespace

RoundThread::RoundThread(const CoordinatorOptions& options, int threads, std::string run_id,
                         SharedState& shared, LedgerBook& book, RunObserver& observer,
                         std::map<WorkerId, uint32_t> offences)
    : options_(options),
      run_id_(std::move(run_id)),
      shared_(shared),
      book_(book),
      observer_(observer),
      machine_(PlanOf(options)),
      offences_(std::move(offences)),
      merges_(threads) {}

StatusOr<RunOutcome> RoundThread::Run() {
  CarryOutActions();  // what a restored run is to do at once
  while (!ended_) {
    std::optional<Event> event = NextEvent();
    if (!event && shared_.events.closed()) break;
    taken_ = shared_.clock.Now();
    if (event) Handle(*event);
    machine_.Tick(shared_.clock.Now());
    StopAwaitingScores();
    CarryOutActions();
    if (unread_.empty()) continue;
    RemoveThoseThatReadNothing();
    CarryOutActions();
  }
  RefuseAllEvents(shared_.events, UnavailableError("the run has ended"));
  shared_.board.Close();
  for (const auto& session : shared_.sessions.All()) {
    session->outgoing.TryPush(GoodbyeMessage{end_status_.code(), end_status_.message()});
    session->outgoing.Close();
  }
  merges_.Drain();
  saver_.reset();
  FinishOutcome(end_status_);
  if (!end_status_.ok()) return end_status_;
  return outcome_;
}

std::optional<Event> RoundThread::NextEvent() {
  std::optional<Nanoseconds> deadline = machine_.NextDeadline();
  if (held_until_) deadline = std::min(deadline.value_or(*held_until_), *held_until_);
  if (!deadline) return shared_.events.Pop();
  return shared_.events.PopFor(std::max(Nanoseconds(0), *deadline - shared_.clock.Now()));
}

void RoundThread::Handle(Event& event) {
  std::visit([this](auto& specific) { On(specific); }, event);
}

bool RoundThread::IsCurrent(const Session& session) const {
  const auto it = members_.find(session.worker);
  return it != members_.end() && it->second.session.get() == &session;
}

void RoundThread::Tell(Session& session, CoordinatorMessage message) {
  if (session.outgoing.TryPush(std::move(message)) || session.outgoing.closed()) return;
  unread_.insert(session.worker);  // not now: an action may still name it
}

void RoundThread::Order(WorkerId worker, CoordinatorMessage message) {
  Member& member = members_.at(worker);
  member.told = message;
  Tell(*member.session, std::move(message));
}

void RoundThread::Lose(WorkerId worker, const std::string& reason) {
  machine_.WorkerLost(worker, shared_.clock.Now());
  if (!machine_.is_away(worker)) return Remove(worker, UnavailableError("{}", reason));
  members_.at(worker).session->outgoing.Close();
  LogWarning("worker {}: {}; it is awaited", worker, reason);
  book_.Event("worker_lost", worker, reason);
  observer_.WorkerLost(worker, reason);
}

void RoundThread::Offended(WorkerId worker, const Status& offence) {
  const uint32_t count = ++offences_[worker];
  book_.Event(kRefusedEvent, worker,
              fmt::format("{} ({} of {} such before it is excluded)", offence.message(), count,
                          options_.config.round.max_refusals));
  Remove(worker, offence);
}

void RoundThread::RemoveThoseThatReadNothing() {
  for (const WorkerId worker : std::exchange(unread_, {})) {
    Remove(worker, ResourceExhaustedError("worker {} reads nothing of what it is told", worker));
  }
}

void RoundThread::Remove(WorkerId worker, const Status& reason) {
  const auto it = members_.find(worker);
  if (it == members_.end()) return;
  const std::shared_ptr<Session> session = it->second.session;
  members_.erase(it);
  if (base_from_ == worker && !base_stored_) base_from_.reset();
  session->Drop();
  session->outgoing.TryPush(GoodbyeMessage{reason.code(), reason.message()});
  session->outgoing.Close();
  shared_.sessions.Remove(worker, session.get());
  if (session->member) ++outcome_.workers_lost;
  LogWarning("worker {} left: {}", worker, reason.message());
  observer_.WorkerLeft(worker, reason.message());
  book_.Left(worker, reason.message());
  evaluations_.WorkerLeft(worker);
  CompleteEvaluations();
  machine_.WorkerLeft(worker, shared_.clock.Now());
  // Whoever said what the data are may have been the one that is wrong.
  if (!base_stored_ && machine_.membership().at(WorkerStage::kReady).empty()) data_ = {};
}

void RoundThread::CompleteEvaluations() {
  while (const auto complete = evaluations_.TakeComplete()) {
    const EvaluationRecord& evaluation = complete->record;
    book_.Evaluation(evaluation);
    // A share of the test set says too little to be compared with scores of all of it.
    if (complete->whole) {
      last_evaluation_ = evaluation;
      SaveIfBest(evaluation);
    }
    outcome_.accuracy = evaluation.accuracy();
    outcome_.test_samples = evaluation.samples;
    observer_.Evaluated(evaluation.after_rounds, evaluation.accuracy(), evaluation.samples);
  }
  ReleaseMerges();
}

void RoundThread::ReportProgress() {
  const RoundExchange* exchange = NewestRound();
  if (exchange == nullptr) return;
  RunObserver::Progress progress;
  progress.round = exchange->round();
  progress.rounds = options_.config.round.rounds;
  progress.steps = options_.config.round.local_steps;
  progress.steps_done = progress.steps;
  for (const WorkerId worker : exchange->present()) {
    const auto it = members_.find(worker);
    if (it != members_.end())
      progress.steps_done = std::min(progress.steps_done, it->second.steps_done);
  }
  progress.chunks_merged = chunks_merged_;
  progress.chunks = exchange_->merger->layout().num_chunks();
  observer_.RoundProgressed(progress);
}

void RoundThread::FinishOutcome(const Status& status) {
  outcome_.rounds = machine_.committed_rounds();
  outcome_.workers_at_end = static_cast<uint32_t>(members_.size());
  if (exchange_ != nullptr && uncommitted_chunks_ == 0)
    outcome_.root_hash = exchange_->merger->Root().ToHex();
  book_.Meta(kMetaOutcome, status.ok() ? "finished" : status.message());
  book_.Meta("final_root", outcome_.root_hash);
  outcome_.synthetic = options_.config.model.kind == ModelKind::kSynthetic;
}

}  // namespace interlude
