// The one thread that owns the run's state: takes events, asks the machine, carries out its
// actions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/task_pool.h"
#include "coordinator/coordinator.h"
#include "coordinator/evaluation_tally.h"
#include "coordinator/ledger_book.h"
#include "coordinator/model_saver.h"
#include "coordinator/recovery.h"
#include "coordinator/shared_state.h"
#include "coordinator/snapshotter.h"
#include "protocol/run_machine.h"

namespace interlude {

class RoundThread {
 public:
  /// `observer` may not be null. `threads` is the size of the merge pool; `offences` are those of
  /// before the coordinator was killed.
  RoundThread(const CoordinatorOptions& options, int threads, std::string run_id,
              SharedState& shared, LedgerBook& book, RunObserver& observer,
              std::map<WorkerId, uint32_t> offences);

  /// Before Run: the run goes on where a coordinator that was killed has left it.
  void Restore(RecoveredRun run);

  /// Until the run has ended.
  StatusOr<RunOutcome> Run();

 private:
  /// What is known of a worker besides its stage.
  struct Member {
    std::shared_ptr<Session> session;
    std::vector<Hash128> offered_hashes;  // of its parameters when it became ready
    uint32_t steps_done = 0;
    uint32_t behind_since = 0;  // rounds committed when it was told last to catch up, or to begin
    uint32_t last_number = 0;   // of the newest message that came
    /// What it was told last to do; said again when its connection was broken.
    std::optional<CoordinatorMessage> told;
  };

  /// The next event; nothing when there is something to decide without one, or no more will come.
  std::optional<Event> NextEvent();
  void Handle(Event& event);
  void On(JoinEvent& event);
  void On(WorkerSaidEvent& event);
  void On(SessionClosedEvent& event);
  void On(UploadBegunEvent& event);
  void On(ChunkStoredEvent& event);
  void On(OffenceEvent& event);
  void On(BaseStoredEvent& event);
  void On(ChunkMergedEvent& event);
  void On(SnapshotEvent& event);
  void On(StopEvent& event);
  StatusOr<WelcomeMessage> Welcome(JoinEvent& event);
  /// The welcome of a worker whose stay goes on in this session; nothing when there is no such
  /// stay.
  std::optional<WelcomeMessage> Resume(JoinEvent& event);
  WelcomeMessage WelcomeOf(WorkerId worker, const Session& session) const;
  /// OK, AlreadyExists for a first base that is here, or why not.
  Status MayUpload(const Session& session, const UploadHeader& header);
  Status AcceptBase(Session& session);

  Status Said(WorkerId worker, JoinMessage& message);
  Status Said(WorkerId worker, BaseOfferMessage& message);
  Status Said(WorkerId worker, CaughtUpMessage& message);
  Status Said(WorkerId worker, ProgressMessage& message);
  Status Said(WorkerId worker, RoundReportMessage& message);
  Status Said(WorkerId worker, EvaluationReportMessage& message);
  Status Said(WorkerId worker, LeaveMessage& message);
  /// The layout and what the data are: the run's are those of the first worker that is ready and
  /// says them, with which every later offer is compared.
  Status CheckLayout(WorkerId worker, const Layout& layout) const;
  Status CheckData(WorkerId worker, const DataFacts& data) const;
  /// Of a worker that is ready. What all agree on goes into run.db once there is a base, how many
  /// pictures there are at once.
  void LearnData(WorkerId worker, const DataFacts& data);
  void StoreData();
  /// Takes the memory and the disk space that the layout needs.
  Status MakeExchange(const Layout& layout);

  void CarryOutActions();
  /// Something that was to be carried out failed: the run ends, nothing else is carried out.
  void Fail(const Status& reason);
  void Do(const AskForBase& action);
  void Do(const CatchUp& action);
  void Do(const StartRound& action);
  void Do(const MergeChunk& action);
  void Do(const SendSyncChunk& action);
  void Do(const CommitRound& action);
  void Do(const EndRound& action);
  void Do(const Finish& action);
  void Do(const DropWorker& action);
  void Do(const MemberLate& action);
  void Do(const AwaitWorkers& action);
  void Do(const EndRun& action);

  /// Makes the journal's place for a round, which a snapshot must have made free.
  Status BeginRound(uint32_t round);
  void StartSnapshots();
  /// Of the best model that this run has saved, be it before the coordinator was killed.
  std::optional<double> AccuracyOfSavedBest() const;
  /// What a coordinator that was killed had not written whole.
  void ForgetUnsavedBest() const;
  void RestoreSyncs(const RecoveredRun& run);
  void RestoreOpenRound(const RecoveredRun& run);
  /// Never waits for a worker: one that reads nothing, until its queue is full, is removed.
  void Tell(Session& session, CoordinatorMessage message);
  /// As Tell, what the worker is to do from now on.
  void Order(WorkerId worker, CoordinatorMessage message);
  void RemoveThoseThatReadNothing();
  /// The worker's connection broke; a member is awaited for a while.
  void Lose(WorkerId worker, const std::string& reason);
  /// The worker did what no right one does: it is removed, and excluded when it does so too often.
  void Offended(WorkerId worker, const Status& offence);
  /// The worker no longer counts. `reason` goes to it, to the log and to the ledger.
  void Remove(WorkerId worker, const Status& reason);
  void BeginEvaluation(uint32_t after_rounds, const std::vector<WorkerId>& members);
  void CompleteEvaluations();
  /// The round that is trained or merged now; null between rounds.
  const RoundExchange* NewestRound() const {
    return machine_.open_round(machine_.committed_rounds() + 1);
  }
  void ReportProgress();
  /// What is written into a model's file beside its values.
  std::map<std::string, std::string> ModelFacts(uint32_t rounds) const;
  std::string BestModelPath() const;
  Status SaveModel(const std::string& path, uint32_t rounds) const;
  /// At the end of the run: what could not be saved is logged, and the run has failed.
  void MustBeSaved(const Status& saved, std::string_view what);
  /// The moving average of the base, where there is one.
  Status SaveAverage(uint32_t rounds) const;
  /// Whether the base that round `round` changes is still being evaluated, and may be the best.
  /// Only for as long as messages overtake each other: a worker says its score before it uploads.
  bool MayBecomeBest(uint32_t round) const {
    return saver_ != nullptr && scored_before_ == round && evaluations_.MayBecomeWhole(round - 1);
  }
  void ReleaseMerges();
  /// A score that does not come holds no round up: its model is then not saved, be it the best.
  void StopAwaitingScores();
  /// Where its accuracy is the best so far: begins to save the model.
  void SaveIfBest(const EvaluationRecord& evaluation);
  /// With persistence = every_round: the whole model to disk, on the round's path, once a round.
  void SaveEveryRound(uint32_t round);
  bool IsCurrent(const Session& session) const;
  void FinishOutcome(const Status& status);

  const CoordinatorOptions& options_;
  const std::string run_id_;
  SharedState& shared_;
  LedgerBook& book_;
  RunObserver& observer_;
  RunMachine machine_;
  std::map<WorkerId, Member> members_;
  std::map<WorkerId, uint32_t> offences_;  // those before the coordinator was killed among them
  std::set<WorkerId> unread_;              // whose queue was full
  std::shared_ptr<Exchange> exchange_;
  /// What this thread and its merges record of a round.
  struct RoundTimers {
    RoundTimers(uint32_t round, const Clock& clock)
        : merge(Phase::kMerge, round, kNoWorker, clock),
          decide(Phase::kDecide, round, kNoWorker, clock) {}
    PhaseTimer merge, decide;
  };
  /// What follows from the event in hand is about to happen to the chunk.
  void Decided(uint32_t round, uint32_t chunk);

  std::map<uint32_t, RoundTimers> timers_;  // of rounds that are not committed
  Nanoseconds taken_{0};                    // when the event in hand was taken from the queue
  std::vector<ChunkHashes> sync_hashes_;    // of the chunks of the round that is merged
  std::vector<std::vector<WorkerId>> sync_contributors_;  // of the same
  std::map<uint32_t, Hash128> roots_;                     // of committed rounds that have not ended
  DataFacts data_;
  EvaluationTally evaluations_;
  std::optional<EvaluationRecord> last_evaluation_;  // that was whole
  std::unique_ptr<ModelSaver> saver_;                // none where no best model is saved
  /// The newest round that began with an evaluation, while there is one and its score is awaited.
  uint32_t scored_before_ = 0;
  std::optional<Nanoseconds> held_until_;  // merges, for a score
  std::unique_ptr<Snapshotter> snapshotter_;
  /// The newest snapshot that is on disk was begun after so many rounds; nothing before the first,
  /// and nothing is merged before it: what left this process could not be made again.
  std::optional<uint32_t> snapshot_;
  /// That wait for the first snapshot, or for the evaluation of what they change.
  std::vector<MergeChunk> merges_to_come_;
  uint32_t saved_round_ = 0;           // the newest whose model SaveEveryRound wrote
  uint32_t member_count_ = 0;          // of the newest round
  uint32_t chunks_merged_ = 0;         // of the newest round
  uint32_t uncommitted_chunks_ = 0;    // ordered to be merged into the base since the last commit
  std::optional<WorkerId> base_from_;  // who was asked for the first base
  bool base_stored_ = false;
  bool failed_ = false;
  bool ended_ = false;
  Status end_status_;
  RunOutcome outcome_;
  TaskPool merges_;  // last: its tasks use what stands above
};

}  // namespace interlude
