#include "analysis/analyze_run.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analysis/meta_number.h"
#include "analysis/run_paths.h"
#include "ledger/span_math.h"

namespace interlude {
namespace {

using PartsByRound = std::unordered_map<uint32_t, std::vector<WorkerRoundRecord>>;

/// What one worker spent in a round.
struct WorkerTimes {
  double train = 0, encode = 0, apply = 0, run_delay = 0;
  bool trained = false;
};

/// By worker, in order of their ids.
std::map<int32_t, WorkerTimes> TimesByWorker(const std::vector<Span>& spans) {
  std::map<int32_t, WorkerTimes> workers;
  for (const Span& span : spans) {
    if (!IsWorkerPhase(span.phase) || !IsPossible(span)) continue;
    WorkerTimes& times = workers[span.recorded_by];
    const double inside = InsideSeconds(span);
    times.run_delay += Seconds(span.run_delay_ns);
    if (span.phase == Phase::kTrain) times.train += inside;
    if (span.phase == Phase::kEncode) times.encode += inside;
    if (span.phase == Phase::kApply) times.apply += inside;
    times.trained = times.trained || span.phase == Phase::kTrain;
  }
  return workers;
}

double ShareOf(double part, double whole) { return whole > 0 ? std::min(1.0, part / whole) : 0; }

void AddTraining(const std::map<int32_t, WorkerTimes>& workers, RoundSummary& summary) {
  std::vector<double> shares;
  for (const auto& [worker, times] : workers) {
    if (!times.trained) continue;
    shares.push_back(ShareOf(times.train, summary.wall_seconds));
    if (summary.slowest_train_seconds && times.train <= *summary.slowest_train_seconds) continue;
    summary.slowest_train_seconds = times.train;
    summary.slowest_worker = worker;
  }
  summary.train_share = SpreadOf(std::move(shares));
}

Spread ExchangeOf(const std::vector<Span>& spans) {
  std::vector<double> seconds;
  for (const auto& [worker, of_worker] : ExchangeSecondsByWorker(spans))
    seconds.push_back(of_worker);
  return SpreadOf(std::move(seconds));
}

void AddParts(const std::vector<WorkerRoundRecord>& parts, RoundSummary& summary) {
  std::vector<double> up, down;
  for (const WorkerRoundRecord& part : parts) {
    up.push_back(static_cast<double>(part.upload_bytes));
    down.push_back(static_cast<double>(part.download_bytes));
    summary.repaired_chunks += part.repaired_chunks;
    if (part.root_hash.empty()) {
      summary.unverified_workers.push_back(part.worker);
    } else if (part.root_hash != summary.root_hash) {
      summary.disagreeing_workers.push_back(part.worker);
    }
  }
  summary.upload_bytes = SpreadOf(std::move(up));
  summary.download_bytes = SpreadOf(std::move(down));
}

std::optional<RoundStages> StagesOf(const RoundRecord& round) {
  const bool in_order =
      round.begin_ns <= round.first_delta_ns && round.first_delta_ns <= round.last_delta_ns &&
      round.last_delta_ns <= round.committed_ns && round.committed_ns <= round.end_ns;
  if (!in_order) return std::nullopt;
  return RoundStages{SecondsBetween(round.begin_ns, round.first_delta_ns),
                     SecondsBetween(round.first_delta_ns, round.last_delta_ns),
                     SecondsBetween(round.last_delta_ns, round.committed_ns),
                     SecondsBetween(round.committed_ns, round.end_ns)};
}

RoundSummary SummarizeRound(const RoundRecord& round, const std::vector<Span>& spans,
                            const std::vector<WorkerRoundRecord>& parts) {
  RoundSummary summary;
  summary.round = round.round;
  summary.wall_seconds = std::max(0.0, SecondsBetween(round.begin_ns, round.end_ns));
  summary.workers = round.workers;
  summary.samples = round.samples;
  summary.mean_loss = round.mean_loss;
  summary.root_hash = round.root_hash;
  summary.stages = StagesOf(round);
  if (summary.stages && round.begin_ns <= round.first_sync_ns &&
      round.first_sync_ns <= round.end_ns) {
    summary.first_sync_after_last_delta_seconds =
        SecondsBetween(round.last_delta_ns, round.first_sync_ns);
  }
  summary.phases = SummarizePhases(spans);
  AddTraining(TimesByWorker(spans), summary);
  summary.exchange_of_workers = ExchangeOf(spans);
  AddParts(parts, summary);
  return summary;
}

double AccuracyOf(const EvaluationRecord& evaluation) {
  return static_cast<double>(evaluation.correct) / static_cast<double>(evaluation.samples);
}

void AddAccuracies(RunSummary& run) {
  for (const EvaluationRecord& evaluation : run.evaluations) {
    if (evaluation.samples == 0) continue;
    run.final_accuracy = AccuracyOf(evaluation);
    for (RoundSummary& round : run.rounds) {
      if (round.round == evaluation.after_rounds) round.accuracy = AccuracyOf(evaluation);
    }
  }
}

/// At most kMostUnrecorded of them: the numbers come from a file.
std::vector<uint32_t> RoundsBetween(const std::vector<RoundRecord>& rounds) {
  std::vector<uint32_t> missing;
  uint32_t expected = rounds.empty() ? 0 : rounds.front().round;
  for (const RoundRecord& round : rounds) {
    for (; expected < round.round && missing.size() < kMostUnrecorded; ++expected)
      missing.push_back(expected);
    expected = round.round + 1;
  }
  return missing;
}

void AddTotals(const std::vector<RoundRecord>& rounds, const PartsByRound& parts, RunSummary& run) {
  for (const RoundSummary& round : run.rounds) {
    run.slowest_train_seconds += round.slowest_train_seconds.value_or(0);
    if (const std::optional<double> exchange = round.exchange_seconds())
      run.exchange_seconds = run.exchange_seconds.value_or(0) + *exchange;
    run.samples += round.samples;
    run.repaired_chunks += round.repaired_chunks;
    run.hashes_agree = run.hashes_agree && round.disagreeing_workers.empty();
    run.gap_seconds -= round.wall_seconds;
    const auto found = parts.find(round.round);
    if (found == parts.end()) continue;
    for (const WorkerRoundRecord& part : found->second) {
      run.upload_bytes += part.upload_bytes;
      run.download_bytes += part.download_bytes;
    }
  }
  for (const WorkerSummary& worker : run.workers)
    run.workers_left += worker.record.left_ns.has_value() ? 1 : 0;
  if (rounds.empty()) return;
  run.begin_ns = rounds.front().begin_ns;
  run.wall_seconds = std::max(0.0, SecondsBetween(rounds.front().begin_ns, rounds.back().end_ns));
  run.gap_seconds = std::max(0.0, run.gap_seconds + run.wall_seconds);
  if (run.gap_seconds < 1e-6) run.gap_seconds = 0;  // what adding doubles leaves
  run.samples_per_second =
      run.wall_seconds > 0 ? static_cast<double>(run.samples) / run.wall_seconds : 0;
  run.final_loss = rounds.back().mean_loss;
}

/// A worker's times in the rounds that medians are over.
struct Series {
  std::vector<double> train, encode, apply, run_delay, share;
};

std::map<int32_t, Series> SeriesByWorker(const std::vector<RoundSummary>& rounds,
                                         const SpansByRound& spans) {
  std::map<int32_t, Series> series;
  for (size_t i = rounds.size() > 1 ? 1 : 0; i < rounds.size(); ++i) {
    const auto found = spans.find(rounds[i].round);
    if (found == spans.end()) continue;
    for (const auto& [worker, times] : TimesByWorker(found->second)) {
      Series& of_worker = series[worker];
      of_worker.train.push_back(times.train);
      of_worker.encode.push_back(times.encode);
      of_worker.apply.push_back(times.apply);
      of_worker.run_delay.push_back(times.run_delay);
      of_worker.share.push_back(ShareOf(times.train, rounds[i].wall_seconds));
    }
  }
  return series;
}

std::vector<WorkerSummary> SummarizeWorkers(const std::vector<WorkerRecord>& records,
                                            const std::vector<RoundSummary>& rounds,
                                            const SpansByRound& spans,
                                            const std::vector<WorkerRoundRecord>& parts) {
  std::map<int32_t, WorkerSummary> workers;
  for (const WorkerRecord& record : records) workers[record.worker].record = record;
  for (const WorkerRoundRecord& part : parts) {
    const auto found = workers.find(part.worker);
    if (found == workers.end()) continue;
    ++found->second.rounds;
    found->second.samples += part.samples;
    found->second.repaired_chunks += part.repaired_chunks;
  }
  for (auto& [worker, series] : SeriesByWorker(rounds, spans)) {
    const auto found = workers.find(worker);
    if (found == workers.end()) continue;
    WorkerSummary& summary = found->second;
    summary.train_seconds = MedianOf(std::move(series.train));
    summary.encode_seconds = MedianOf(std::move(series.encode));
    summary.apply_seconds = MedianOf(std::move(series.apply));
    summary.run_delay_seconds = MedianOf(std::move(series.run_delay));
    summary.train_share = MedianOf(std::move(series.share));
  }
  std::vector<WorkerSummary> list;
  for (auto& [worker, summary] : workers) list.push_back(std::move(summary));
  return list;
}

Drags DragsOf(const std::vector<RoundPath>& paths) {
  Drags drags;
  for (const RoundPath& path : paths) {
    for (const WorkerPath& worker : path.workers)
      drags[{path.round, worker.worker}] = worker.drag_ns;
  }
  return drags;
}

std::vector<PathShare> SharesOf(const std::vector<RoundPath>& paths) {
  std::vector<PathShare> shares;
  for (const RoundPath& path : paths) {
    for (const auto& [piece, ns] : SumPieces(path.pieces))
      shares.push_back({path.round, ActivityName(piece.first), piece.second, ns});
  }
  return shares;
}

void KeepForDrawing(const std::vector<RoundRecord>& rounds, const SpansByRound& spans,
                    const std::vector<ChunkStamps>& stamps, Account& records) {
  if (rounds.empty()) return;
  const uint32_t first = rounds[rounds.size() - std::min(rounds.size(), kDrawnRounds)].round;
  for (const RoundRecord& round : rounds) {
    const auto of_round = spans.find(round.round);
    if (round.round < first || of_round == spans.end()) continue;
    records.spans.insert(records.spans.end(), of_round->second.begin(), of_round->second.end());
  }
  for (const ChunkStamps& of : stamps) {
    if (of.round >= first && of.round <= rounds.back().round) records.stamps.push_back(of);
  }
}

}  // namespace

StatusOr<RunSummary> AnalyzeRun(const RunDatabase& database) {
  RunSummary run;
  INTERLUDE_ASSIGN_OR_RETURN(run.meta, database.Meta());
  INTERLUDE_ASSIGN_OR_RETURN(run.evaluations, database.Evaluations());
  INTERLUDE_ASSIGN_OR_RETURN(run.events, database.Events());
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<WorkerRecord> workers, database.Workers());
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<RoundRecord> rounds, database.Rounds());
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<WorkerRoundRecord> all_parts,
                             database.WorkerRounds());
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<Span> all_spans, database.Spans());

  SpansByRound spans;
  for (const Span& span : all_spans) {
    run.impossible_spans += IsPossible(span) ? 0 : 1;
    spans[span.round].push_back(span);
  }
  PartsByRound parts;
  for (const WorkerRoundRecord& part : all_parts) parts[part.round].push_back(part);

  run.before_rounds = SummarizePhases(spans[kBeforeRounds]);
  for (const RoundRecord& round : rounds) {
    run.rounds.push_back(SummarizeRound(round, spans[round.round], parts[round.round]));
  }
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<ChunkStamps> stamps, database.Stamps());
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<ClockRecord> clocks, database.Clocks());
  INTERLUDE_ASSIGN_OR_RETURN(run.records.samples, database.Samples());
  INTERLUDE_ASSIGN_OR_RETURN(run.records.memory, database.Memory());
  KeepForDrawing(rounds, spans, stamps, run.records);
  run.paths = FindRunPaths(rounds, workers, run.events, run.meta, spans, std::move(stamps), clocks);
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<ClockProbe> probes, database.Probes());
  const CauseTables tables{.workers = workers,
                           .rounds = rounds,
                           .parts = all_parts,
                           .spans = all_spans,
                           .samples = run.records.samples,
                           .probes = probes};
  run.causes = FindCauses(tables, &run.excesses);
  run.findings = FindFindings({.tables = tables,
                               .events = run.events,
                               .clocks = clocks,
                               .parameters = MetaNumber<uint64_t>(run.meta, kMetaParameters)},
                              run.causes, DragsOf(run.paths), SharesOf(run.paths));
  run.unrecorded_rounds = RoundsBetween(rounds);
  run.workers = SummarizeWorkers(workers, run.rounds, spans, all_parts);
  AddAccuracies(run);
  AddTotals(rounds, parts, run);
  run.typical = SummarizeTypicalRound(run.rounds);
  return run;
}

StatusOr<RunSummary> AnalyzeRunDirectory(const std::string& directory) {
  INTERLUDE_ASSIGN_OR_RETURN(const auto database, RunDatabase::OpenReadOnly(directory + "/run.db"));
  return AnalyzeRun(*database);
}

}  // namespace interlude
