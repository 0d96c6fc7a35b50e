// Actions: what the machine decides is carried out here.
#include "base/crash_point.h"
#include "base/log.h"
#include "base/version.h"
#include "coordinator/round_thread.h"
#include "store/model_facts.h"
#include "store/safetensors.h"
#include "store/safetensors_file.h"

namespace interlude {
namespace {

/// How long merges wait for a score that a right worker has said before it uploaded: the messages
/// come on two connections, one of which may be slow, or broken and opened again.
constexpr std::chrono::seconds kMostWaitForScores{5};

}  // namespace

void RoundThread::CarryOutActions() {
  for (;;) {
    const std::vector<Action> actions = machine_.TakeActions();
    if (actions.empty()) return;
    for (const Action& action : actions) {
      // What the machine wanted before it was told of a failure must not be built upon.
      if (failed_ && !std::holds_alternative<EndRun>(action)) continue;
      std::visit([this](const auto& specific) { Do(specific); }, action);
    }
  }
}

void RoundThread::Fail(const Status& reason) {
  failed_ = true;
  machine_.Stop(reason, shared_.clock.Now());
}

void RoundThread::Do(const AskForBase& action) {
  base_from_ = action.worker;
  Tell(*members_.at(action.worker).session, ProvideBaseMessage{});
}

void RoundThread::Do(const CatchUp& action) {
  Member& member = members_.at(action.worker);
  CatchUpMessage message{.committed_rounds = machine_.committed_rounds()};
  if (!member.offered_hashes.empty()) {
    message.chunk_rounds = shared_.board.NewestRounds(member.offered_hashes);
    member.offered_hashes = {};
  }
  member.behind_since = message.committed_rounds;
  member.session->may_download = true;
  Order(action.worker, std::move(message));
  if (machine_.membership().stage(action.worker) == WorkerStage::kReady)
    observer_.CatchUpBegan(action.worker, machine_.committed_rounds());
}

void RoundThread::Decided(uint32_t round, uint32_t chunk) {
  PhaseTimer& decide = timers_.at(round).decide;
  decide.AddStamp(chunk, taken_, shared_.clock.Now());
  decide.AddChunk();
}

void RoundThread::Do(const StartRound& action) {
  const uint32_t round = action.round;
  const int64_t decided_ns = shared_.clock.Now().count();
  const uint32_t num_chunks = exchange_->merger->layout().num_chunks();
  shared_.board.BeginRound(round, num_chunks);
  CrashPoint();
  const Status status = BeginRound(round);
  CrashPoint();
  if (!status.ok()) return Fail(status.WithContext("the journal cannot be written"));
  if (round == kFirstRound) {
    observer_.RunStarted(exchange_->merger->layout().total_params(), num_chunks);
  }
  book_.RoundStarted(round);
  timers_.try_emplace(round, round, shared_.clock);
  sync_hashes_.assign(num_chunks, {});
  sync_contributors_.assign(num_chunks, {});
  chunks_merged_ = 0;
  if (action.evaluate) {
    BeginEvaluation(round - 1, action.members);
    scored_before_ = round;
  }

  StartRoundMessage message;
  message.round = round;
  message.evaluate = action.evaluate;
  message.evaluation_parts = static_cast<uint32_t>(action.members.size());
  message.base_root = exchange_->merger->Root();
  // All are on record before the first is told.
  member_count_ = static_cast<uint32_t>(action.members.size());
  for (const WorkerId worker : action.members) {
    const Status recorded = exchange_->deltas->SetMember(
        round, worker, 0, members_.at(worker).session->token, member_count_);
    if (!recorded.ok()) return Fail(recorded.WithContext("the journal cannot be written"));
    CrashPoint();
  }
  for (const WorkerId worker : action.members) {
    Member& member = members_.at(worker);
    member.steps_done = 0;
    member.behind_since = machine_.committed_rounds();
    member.session->member = true;
    member.session->start_decided_ns = decided_ns;
    Order(worker, message);
    ++message.evaluation_part;
    CrashPoint();
  }
}

Status RoundThread::BeginRound(uint32_t round) {
  const uint32_t kept = StorageOf(options_.config, options_.workers).kept_rounds;
  if (snapshotter_ != nullptr && snapshot_.value_or(0) + kept < round) {
    LogWarning("round {} waits for the snapshot of the coordinator's state: the disk is slow",
               round);
    snapshotter_->Await();
  }
  return exchange_->deltas->BeginRound(round);
}

void RoundThread::StartSnapshots() {
  SnapshotHeader identity;
  identity.run_id = run_id_;
  identity.software = kSoftwareVersion;
  identity.config = FormatRunConfig(options_.config);
  identity.layout = exchange_->merger->layout();
  identity.state_per_param = static_cast<uint32_t>(exchange_->merger->state_per_param());
  identity.has_residual = IsLossy(exchange_->merger->codec());
  if (options_.config.round.evaluate_every > 0 && options_.config.round.save_best)
    saver_ =
        std::make_unique<ModelSaver>(BestModelPath(), *exchange_->merger, AccuracyOfSavedBest());
  snapshotter_ = std::make_unique<Snapshotter>(options_.directory + "/snapshots",
                                               std::move(identity), *exchange_->merger,
                                               [this](uint32_t round, const Status& status) {
                                                 shared_.events.Push(SnapshotEvent{round, status});
                                               });
}

void RoundThread::Do(const MergeChunk& action) {
  const MergeOrder& order = action.order;
  const bool scores_awaited = MayBecomeBest(order.round);
  if (scores_awaited && !held_until_) held_until_ = shared_.clock.Now() + kMostWaitForScores;
  if (!snapshot_ || scores_awaited) return merges_to_come_.push_back(action);
  const PhaseTimer::Scope scope = timers_.at(order.round).decide.Enter();
  CrashPoint();
  const Status recorded = exchange_->deltas->RecordMerge(order);
  CrashPoint();
  if (!recorded.ok()) return Fail(recorded.WithContext("the journal cannot be written"));
  std::vector<std::span<const std::byte>> payloads;
  for (const Contributor& contributor : order.contributors) {
    sync_contributors_[order.chunk].push_back(contributor.worker);
    payloads.push_back(exchange_->deltas->Delta(order.round, contributor.worker, order.chunk));
  }
  if (chunks_merged_ == 0 && shared_.sampler) shared_.sampler->SampleNow();
  ++uncommitted_chunks_;  // also when it fails: the base is then between two rounds
  Decided(order.round, order.chunk);
  merges_.Submit([this, order, payloads = std::move(payloads),
                  sync = exchange_->deltas->MutableSync(order.round, order.chunk),
                  &timer = timers_.at(order.round).merge] {
    if (shared_.events.closed()) return;  // the run has ended: nobody wants it
    MergeReport report;
    const auto hashes = exchange_->merger->MergeChunk(order, payloads, sync, timer, &report);
    shared_.events.Push(ChunkMergedEvent{order.round, order.chunk, hashes, std::move(report)});
  });
}

void RoundThread::Do(const SendSyncChunk& action) {
  if (options_.config.round.exchange == ExchangeMode::kBarrier) SaveEveryRound(action.round);
  if (failed_) return;
  const PhaseTimer::Scope scope = timers_.at(action.round).decide.Enter();
  const ChunkHashes& hashes = sync_hashes_[action.chunk];
  const Status status = exchange_->deltas->SealSync(action.round, action.chunk, hashes.payload);
  CrashPoint();
  if (!status.ok()) return Fail(status.WithContext("the journal cannot be written"));
  Decided(action.round, action.chunk);
  shared_.board.Post(action.round, action.chunk, hashes,
                     std::move(sync_contributors_[action.chunk]));
}

void RoundThread::Do(const CommitRound& action) {
  SaveEveryRound(action.round);
  if (failed_) return;
  shared_.recorder.Record(timers_.at(action.round).merge);
  shared_.recorder.Record(timers_.at(action.round).decide);
  timers_.erase(action.round);
  uncommitted_chunks_ = 0;
  const Hash128 root = exchange_->merger->Root();
  roots_[action.round] = root;
  CrashPoint();
  const Status recorded = exchange_->deltas->RecordCommit(action.round, root);
  CrashPoint();
  if (!recorded.ok()) return Fail(recorded.WithContext("the journal cannot be written"));
  machine_.RoundCommitted(action.round, root, shared_.clock.Now());
  if (action.round >= *snapshot_ + options_.config.round.snapshot_every)
    snapshotter_->Begin(action.round);
}

void RoundThread::Do(const EndRound& action) {
  CrashPoint();
  const RoundExchange* exchange = machine_.open_round(action.round);
  INTERLUDE_CHECK(exchange != nullptr, "round {} ended and is not there", action.round);
  // It may hold up the round that comes, and then stands in its way.
  PhaseTimer ledger(Phase::kLedger, action.round + 1, kNoWorker, shared_.clock);
  {
    const PhaseTimer::Scope scope = ledger.Enter();
    observer_.RoundEnded(
        book_.EndRound(*exchange, roots_.at(action.round), options_.config.round.rounds));
  }
  if (action.round < options_.config.round.rounds) shared_.recorder.Record(ledger);
  roots_.erase(action.round);
}

/// A worker with data of its own scores them whole, so that those of one that is away lack.
void RoundThread::BeginEvaluation(uint32_t after_rounds, const std::vector<WorkerId>& members) {
  const bool are_all = !IsLocal(options_.config.data) || members.size() == options_.workers;
  evaluations_.Begin(after_rounds, members, are_all);
}

void RoundThread::Do(const Finish& action) {
  CrashPoint();
  FinishMessage message;
  message.after_rounds = machine_.committed_rounds();
  message.evaluation_parts = static_cast<uint32_t>(action.members.size());
  BeginEvaluation(message.after_rounds, action.members);
  for (const WorkerId worker : action.members) {
    Order(worker, message);
    ++message.evaluation_part;
  }
}

void RoundThread::Do(const MemberLate& action) {
  LogWarning("{}", action.reason);
  book_.Event("late", action.worker, action.reason);
  observer_.WorkerLate(action.worker, action.reason);
  evaluations_.WorkerLeft(action.worker);  // it may go on beside the round, and owes it nothing
  CompleteEvaluations();
}

void RoundThread::Do(const AwaitWorkers& action) {
  LogWarning("{}", action.reason);
  book_.Event("no_workers", kNoWorker, action.reason);
}

void RoundThread::Do(const DropWorker& action) { Remove(action.worker, action.reason); }

void RoundThread::Do(const EndRun& action) {
  ended_ = true;
  end_status_ = action.status;
  if (exchange_ == nullptr || machine_.committed_rounds() == 0) return;
  if (uncommitted_chunks_ != 0) {
    LogWarning("the run ended within a merge; no model is written, the base is between two rounds");
    return;
  }
  const std::string path = options_.directory + "/model.safetensors";
  const Status saved = SaveModel(path, machine_.committed_rounds());
  if (saved.ok()) outcome_.model_path = path;
  MustBeSaved(saved, "the final model");
  MustBeSaved(SaveAverage(machine_.committed_rounds()), "the average of the models");
  if (saver_ != nullptr && end_status_.ok()) saver_->Await();
}

void RoundThread::MustBeSaved(const Status& saved, std::string_view what) {
  if (saved.ok()) return;
  LogError("{} cannot be written: {}", what, saved.ToString());
  if (end_status_.ok()) end_status_ = saved.WithContext(fmt::format("{} cannot be written", what));
}

std::map<std::string, std::string> RoundThread::ModelFacts(uint32_t rounds) const {
  std::map<std::string, std::string> facts = {{kModelRunId, run_id_},
                                              {kModelRounds, std::to_string(rounds)},
                                              {kModelRootHash, exchange_->merger->Root().ToHex()},
                                              {kModelConfig, FormatRunConfig(options_.config)}};
  if (!data_.classes.empty()) facts[kModelClasses] = ClassesText(data_);
  if (!data_.mean.empty()) facts[kModelNormalization] = NormalizationText(data_);
  if (last_evaluation_ && last_evaluation_->after_rounds == rounds)
    facts[kModelAccuracy] = fmt::format("{}", last_evaluation_->accuracy());
  return facts;
}

Status RoundThread::SaveModel(const std::string& path, uint32_t rounds) const {
  return WriteSafetensors(path, exchange_->merger->layout(), exchange_->merger->base(),
                          ModelFacts(rounds));
}

Status RoundThread::SaveAverage(uint32_t rounds) const {
  Merger& merger = *exchange_->merger;
  if (!merger.has_average()) return OkStatus();
  std::map<std::string, std::string> facts = ModelFacts(rounds);
  // Those of the base are not the average's.
  facts.erase(kModelRootHash);
  facts.erase(kModelAccuracy);
  facts[kModelEmaDecay] = fmt::format("{}", options_.config.outer.ema_decay);
  INTERLUDE_ASSIGN_OR_RETURN(SafetensorsFile file,
                             SafetensorsFile::Create(options_.directory + "/model-ema.safetensors",
                                                     merger.layout(), facts));
  Buffer values = Buffer::Floats("average chunk", merger.layout().chunk(0).count);
  for (uint32_t chunk = 0; chunk < merger.layout().num_chunks(); ++chunk) {
    const ChunkRange range = merger.layout().chunk(chunk);
    const std::span<float> out = values.floats().first(range.count);
    merger.CopyAverage(chunk, rounds, out);
    INTERLUDE_RETURN_IF_ERROR(file.Write(range.begin, out));
  }
  return file.Commit();
}

void RoundThread::SaveIfBest(const EvaluationRecord& evaluation) {
  // A merge that is under way changes the base that was evaluated.
  if (saver_ == nullptr || uncommitted_chunks_ != 0 ||
      evaluation.after_rounds != machine_.committed_rounds()) {
    return;
  }
  // The end of the run waits for what is being written anyway.
  if (evaluation.after_rounds == options_.config.round.rounds) saver_->Await();
  const std::optional<double> best = saver_->accuracy();
  if (best && evaluation.accuracy() <= *best) return;
  if (saver_->Begin(evaluation.after_rounds, evaluation.accuracy(),
                    ModelFacts(evaluation.after_rounds)))
    return;
  LogWarning(
      "the model after {} rounds, the best so far, is not saved: the one before is still being "
      "written",
      evaluation.after_rounds);
}

void RoundThread::StopAwaitingScores() {
  if (!held_until_ || shared_.clock.Now() < *held_until_) return;
  LogWarning(
      "round {} goes on without the whole score of the model before it, which has not come {} s "
      "after the round could be merged; should that model be the best, it is not saved",
      scored_before_, kMostWaitForScores.count());
  scored_before_ = 0;
  held_until_.reset();
  ReleaseMerges();
}

void RoundThread::ReleaseMerges() {
  for (const MergeChunk& merge : std::exchange(merges_to_come_, {})) {
    if (!failed_) Do(merge);
  }
  if (merges_to_come_.empty()) held_until_.reset();
}

std::string RoundThread::BestModelPath() const {
  return options_.directory + "/model-best.safetensors";
}

void RoundThread::SaveEveryRound(uint32_t round) {
  if (options_.config.round.persistence != PersistenceMode::kEveryRound || saved_round_ >= round)
    return;
  saved_round_ = round;
  PhaseTimer save(Phase::kSave, round, kNoWorker, shared_.clock);
  Status status;
  {
    auto scope = save.Enter();
    status = SaveModel(options_.directory + "/full-model.safetensors", round);
  }
  save.AddBytes(exchange_->merger->base().size_bytes());
  if (!status.ok()) {
    save.MarkFailed();
    Fail(status.WithContext("the full model of the round cannot be written"));
  }
  shared_.recorder.Record(save);
}

}  // namespace interlude
