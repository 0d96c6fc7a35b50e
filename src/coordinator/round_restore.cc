// Going on where a coordinator that was killed has left the run.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "coordinator/round_thread.h"
#include "store/model_facts.h"
#include "store/safetensors.h"

namespace interlude {
namespace {

/// How long the members of the round that was open are awaited: as long as a worker may take to try
/// again, several times over.
constexpr std::chrono::seconds kReturnPatience{15};

RestoredRun MachineOf(const RecoveredRun& run) {
  RestoredRun restored;
  restored.num_chunks = run.exchange->merger->layout().num_chunks();
  restored.committed_rounds = run.committed_rounds;
  restored.committed_root = run.root;
  if (run.open_members.empty()) return restored;
  restored.open.emplace();
  for (const RecoveredMember& member : run.open_members) {
    restored.open->members.push_back(
        {.worker = member.worker, .samples = member.samples, .arrived = member.arrived});
  }
  restored.open->orders = run.open_orders;
  return restored;
}

}  // namespace

void RoundThread::Restore(RecoveredRun run) {
  const Nanoseconds now = shared_.clock.Now();
  exchange_ = run.exchange;
  base_stored_ = true;
  snapshot_ = run.snapshot_round;
  machine_.Restore(MachineOf(run), now, kReturnPatience);
  book_.Restored(run.committed_rounds);
  const auto data = ReadDataFacts(book_.MetaText(kMetaClasses), book_.MetaText(kMetaNormalization));
  if (data.ok()) data_ = *data;  // else the first worker that returns says it
  data_.counts = book_.CountsOf(kNoWorker);
  RestoreSyncs(run);
  if (!run.open_members.empty()) RestoreOpenRound(run);
  shared_.SetExchange(exchange_);
  StartSnapshots();
  ForgetUnsavedBest();
  LogInfo(
      "going on with run {} after {} of {} rounds ({} merges made again on top of the snapshot "
      "after round {})",
      run_id_, run.committed_rounds, options_.config.round.rounds, run.replayed_merges,
      run.snapshot_round);
  book_.Event("coordinator_restarted", kNoWorker,
              fmt::format("after {} rounds; {} merges made again on top of the snapshot after "
                          "round {}",
                          run.committed_rounds, run.replayed_merges, run.snapshot_round));
}

std::optional<double> RoundThread::AccuracyOfSavedBest() const {
  const auto header = ReadSafetensorsHeader(BestModelPath());
  if (!header.ok()) return std::nullopt;
  const auto run = header->metadata.find(kModelRunId);
  const auto accuracy = header->metadata.find(kModelAccuracy);
  if (run == header->metadata.end() || run->second != run_id_) return std::nullopt;
  if (accuracy == header->metadata.end()) return std::nullopt;
  return std::atof(accuracy->second.c_str());
}

void RoundThread::ForgetUnsavedBest() const {
  const std::string partial = BestModelPath() + ".partial";
  std::error_code error;
  if (!std::filesystem::remove(partial, error)) return;
  LogWarning(
      "{}, a model that was being saved when the coordinator was killed, is removed; unless its "
      "score comes again before the next merge, the best model is the one before it",
      partial);
}

/// A round of which some chunk cannot be had leads no further, nor do those before it.
void RoundThread::RestoreSyncs(const RecoveredRun& run) {
  uint32_t oldest = run.committed_rounds;
  for (; oldest > 0; --oldest) {
    const auto round = run.syncs.find(oldest);
    if (round == run.syncs.end()) break;
    if (!std::ranges::all_of(round->second, [](const auto& chunk) { return chunk.has_value(); }))
      break;
  }
  // What the base was then is known of the newest such round alone; where it is the committed one,
  // from the base itself.
  for (const auto& [round, chunks] : run.syncs) {
    if (round > oldest) shared_.board.Restore(round, chunks);
  }
  if (oldest < run.committed_rounds) return;
  std::vector<std::optional<SyncBoard::Known>> base;
  for (const Hash128& hash : run.base_hashes) base.push_back(SyncBoard::Known{{.base = hash}, {}});
  shared_.board.Restore(run.committed_rounds, base);
}

void RoundThread::RestoreOpenRound(const RecoveredRun& run) {
  const uint32_t round = run.committed_rounds + 1;
  member_count_ = static_cast<uint32_t>(run.open_members.size());
  const uint32_t num_chunks = exchange_->merger->layout().num_chunks();
  book_.RoundStarted(round);
  timers_.try_emplace(round, round, shared_.clock);
  sync_hashes_.assign(num_chunks, {});
  sync_contributors_.assign(num_chunks, {});
  if (!run.syncs.contains(round)) shared_.board.BeginRound(round, num_chunks);
  chunks_merged_ = uncommitted_chunks_ = static_cast<uint32_t>(run.open_orders.size());
  StartRoundMessage start;
  start.round = round;
  start.base_root = run.root;
  const uint32_t every = options_.config.round.evaluate_every;
  start.evaluate = every != 0 && run.committed_rounds != 0 && run.committed_rounds % every == 0;
  start.evaluation_parts = static_cast<uint32_t>(run.open_members.size());
  std::vector<WorkerId> members;
  for (const RecoveredMember& recovered : run.open_members) members.push_back(recovered.worker);
  if (start.evaluate) BeginEvaluation(run.committed_rounds, members);
  if (start.evaluate && run.open_orders.empty()) scored_before_ = round;
  for (const RecoveredMember& recovered : run.open_members) {
    const auto session = std::make_shared<Session>(recovered.session);
    session->worker = recovered.worker;
    session->may_download = true;
    session->member = true;
    session->outgoing.Close();  // until it comes back
    members_[recovered.worker] = Member{.session = session, .told = start};
    ++start.evaluation_part;
    shared_.sessions.Add(recovered.worker, session);
  }
}

}  // namespace interlude
