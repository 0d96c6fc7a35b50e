#include <nlohmann/json.hpp>

#include "report/data_text.h"
#include "report/evaluation_json.h"
#include "report/report_json_account.h"
#include "report/report_text.h"
#include "report/run_report.h"

namespace interlude {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json FromSpread(const Spread& spread) {
  return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}};
}

Json FromSpreadOrNull(const Spread& spread) {
  return spread.count == 0 ? Json(nullptr) : FromSpread(spread);
}

Json FromStages(const std::optional<RoundStages>& stages) {
  if (!stages) return nullptr;
  return {{"until_first_delta_seconds", stages->until_first_delta_seconds},
          {"deltas_arriving_seconds", stages->deltas_arriving_seconds},
          {"until_committed_seconds", stages->until_committed_seconds},
          {"until_verified_seconds", stages->until_verified_seconds}};
}

Json FromPhases(const std::vector<PhaseSummary>& phases) {
  Json list = Json::array();
  for (const PhaseSummary& phase : phases) {
    list.push_back({{"phase", PhaseName(phase.phase)},
                    {"side", IsWorkerPhase(phase.phase) ? "worker" : "coordinator"},
                    {"processes", phase.processes()},
                    {"inside_seconds", FromSpread(phase.inside_seconds)},
                    {"busy_seconds", FromSpread(phase.busy_seconds)},
                    {"cpu_seconds", FromSpread(phase.cpu_seconds)},
                    {"run_delay_seconds", FromSpread(phase.run_delay_seconds)},
                    {"bytes", phase.bytes},
                    {"failed", phase.failed}});
  }
  return list;
}

Json FromRound(const RoundSummary& round) {
  return {
      {"round", round.round},
      {"wall_seconds", round.wall_seconds},
      {"slowest_train_seconds", OrNull(round.slowest_train_seconds)},
      {"slowest_worker", OrNull(round.slowest_worker)},
      {"exchange_seconds", OrNull(round.exchange_seconds())},
      {"exchange_of_workers", FromSpreadOrNull(round.exchange_of_workers)},
      {"train_share", FromSpreadOrNull(round.train_share)},
      {"upload_bytes", FromSpread(round.upload_bytes)},
      {"download_bytes", FromSpread(round.download_bytes)},
      {"workers", round.workers},
      {"samples", round.samples},
      {"mean_loss", round.mean_loss},
      {"accuracy", OrNull(round.accuracy)},
      {"root_hash", round.root_hash},
      {"disagreeing_workers", round.disagreeing_workers},
      {"unverified_workers", round.unverified_workers},
      {"repaired_chunks", round.repaired_chunks},
      {"stages", FromStages(round.stages)},
      {"first_sync_after_last_delta_seconds", OrNull(round.first_sync_after_last_delta_seconds)},
      {"phases", FromPhases(round.phases)}};
}

Json FromTypical(const TypicalRound& typical) {
  return {{"rounds", typical.rounds},
          {"wall_seconds", typical.wall_seconds},
          {"slowest_train_seconds", typical.slowest_train_seconds},
          {"exchange_seconds", OrNull(typical.exchange_seconds())},
          {"exchange_of_workers", FromSpreadOrNull(typical.exchange_of_workers)},
          {"slowest_train_share", typical.slowest_train_share},
          {"upload_bytes", typical.upload_bytes},
          {"download_bytes", typical.download_bytes},
          {"stages", FromStages(typical.stages)},
          {"phases", FromPhases(typical.phases)}};
}

Json FromWorker(const WorkerSummary& worker) {
  const WorkerRecord& record = worker.record;
  return {{"worker", record.worker},
          {"host", record.host},
          {"process_id", record.process_id},
          {"visible_cores", record.visible_cores},
          {"usable_cores", record.usable_cores},
          {"quota_cores", record.quota_cores > 0 ? Json(record.quota_cores) : Json(nullptr)},
          {"threads", record.threads},
          {"software", record.software},
          {"left", record.left_ns.has_value()},
          {"left_reason", record.left_reason},
          {"rounds", worker.rounds},
          {"samples", worker.samples},
          {"repaired_chunks", worker.repaired_chunks},
          {"train_seconds", worker.train_seconds},
          {"encode_seconds", worker.encode_seconds},
          {"apply_seconds", worker.apply_seconds},
          {"run_delay_seconds", worker.run_delay_seconds},
          {"train_share", worker.train_share}};
}

Json FromTotals(const RunSummary& run) {
  return {
      {"rounds", run.rounds.size()},
      {"wall_seconds", run.wall_seconds},
      {"gap_seconds", run.gap_seconds},
      {"slowest_train_seconds", run.slowest_train_seconds},
      {"exchange_seconds", OrNull(run.exchange_seconds)},
      {"samples", run.samples},
      {"samples_per_second", run.samples_per_second},
      {"upload_bytes", run.upload_bytes},
      {"download_bytes", run.download_bytes},
      {"repaired_chunks", run.repaired_chunks},
      {"workers_left", run.workers_left},
      {"final_accuracy", OrNull(run.final_accuracy)},
      {"final_loss", OrNull(run.final_loss)},
      {"final_root_hash", run.rounds.empty() ? Json(nullptr) : Json(run.rounds.back().root_hash)},
      {"hashes_agree", run.hashes_agree},
      {"impossible_spans", run.impossible_spans},
      {"unrecorded_rounds", run.unrecorded_rounds}};
}

Json FromEvaluations(const RunSummary& run) {
  Json list = Json::array();
  for (const EvaluationRecord& evaluation : run.evaluations)
    list.push_back(internal::JsonOfEvaluation(evaluation, run.class_names));
  return list;
}

Json FromEvents(const RunSummary& run) {
  Json list = Json::array();
  for (const EventRecord& event : run.events) {
    list.push_back({{"at_ns", event.at_ns},
                    {"round", OrNull(event.round)},
                    {"worker", event.worker == kNoWorker ? Json(nullptr) : Json(event.worker)},
                    {"kind", event.kind},
                    {"text", event.text}});
  }
  return list;
}

}  // namespace

std::string FormatRunJson(const RunSummary& run, int indent) {
  Json json = {{"format", "interlude-run-report"},
               {"version", 2},
               {"meta", run.meta},
               {"total", FromTotals(run)},
               {"typical_round", FromTypical(run.typical)}};
  json["before_rounds"] = FromPhases(run.before_rounds);
  Json rounds = Json::array();
  for (size_t i = 0; i < run.rounds.size(); ++i) {
    rounds.push_back(FromRound(run.rounds[i]));
    rounds.back()["begin_ns"] = run.paths[i].begin_ns;
    rounds.back()["path"] = internal::JsonOfPath(run, run.paths[i]);
  }
  Json workers = Json::array();
  for (const WorkerSummary& worker : run.workers) workers.push_back(FromWorker(worker));
  json["rounds"] = std::move(rounds);
  json["workers"] = std::move(workers);
  json["data"] = internal::JsonOfData(run);
  json["evaluations"] = FromEvaluations(run);
  json["events"] = FromEvents(run);
  json["findings"] = internal::JsonOfFindings(run);
  json["timeline"] = internal::JsonOfTimeline(run);
  json["clocks"] = internal::JsonOfClocks(run);
  json["memory"] = internal::JsonOfMemory(run);
  json["notes"] = {"phases run in parallel: their times overlap and must not be added up",
                   "clocks of different processes are compared in path alone, to within error_ns"};
  if (std::string note = internal::AccountNote(run); !note.empty())
    json["notes"].push_back(std::move(note));
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace interlude
