#include "analysis/analyze_run.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <span>
#include <utility>

#include "analysis/by_round.h"
#include "analysis/meta_number.h"
#include "analysis/round_memory.h"
#include "analysis/round_summary.h"
#include "analysis/run_paths.h"
#include "analysis/run_series.h"
#include "base/queue.h"
#include "ledger/data_facts.h"
#include "ledger/span_math.h"

namespace interlude {
namespace {

using SpansByRound = ByRound<Span>;
using PartsByRound = ByRound<WorkerRoundRecord>;

/// So few that their stamps are small beside everything else, and so many that asking costs little.
constexpr size_t kRoundsAtOnce = 8;
/// Read, but not worked through: what a run's stamps need of memory.
constexpr size_t kMostBatches = 4;

void AddAccuracies(RunSummary& run) {
  for (const EvaluationRecord& evaluation : run.evaluations) {
    if (evaluation.samples == 0) continue;
    run.final_accuracy = evaluation.accuracy();
    run.final_evaluation = evaluation;
    for (RoundSummary& round : run.rounds) {
      if (round.round == evaluation.after_rounds) round.accuracy = evaluation.accuracy();
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
    for (const WorkerRoundRecord& part : parts.Of(round.round)) {
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
    for (const auto& [worker, times] : TimesByWorker(spans.Of(rounds[i].round))) {
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
                                            const SpansByRound& spans, const PartsByRound& parts) {
  std::map<int32_t, WorkerSummary> workers;
  for (const WorkerRecord& record : records) workers[record.worker].record = record;
  for (const WorkerRoundRecord& part : parts.all()) {
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

void KeepForDrawing(std::span<const Span> spans, std::span<const ChunkStamps> stamps,
                    Account& drawn) {
  drawn.spans.insert(drawn.spans.end(), spans.begin(), spans.end());
  drawn.stamps.insert(drawn.stamps.end(), stamps.begin(), stamps.end());
}

/// Rounds that follow each other, and what was recorded of them chunk by chunk.
struct Batch {
  size_t begin, end;  // places in the table of rounds
  ByRound<ChunkStamps> stamps;
};

/// Stamps that have been worked through: their memory holds the next ones. There is a vector for
/// each phase of each process and round, too large for what malloc keeps at hand for a thread.
using SpentStamps = Queue<std::vector<ChunkStamps>>;

/// Gives `take` all rounds in batches; the records of the last ones are kept for drawing.
template <typename Take>
Status ReadBatches(const RunDatabase& database, const std::vector<RoundRecord>& rounds,
                   const SpansByRound& spans, SpentStamps& spent, Account& drawn,
                   const Take& take) {
  const size_t first_drawn = rounds.size() - std::min(rounds.size(), kDrawnRounds);
  for (size_t begin = 0; begin < rounds.size(); begin += kRoundsAtOnce) {
    const size_t end = std::min(rounds.size(), begin + kRoundsAtOnce);
    INTERLUDE_ASSIGN_OR_RETURN(
        std::vector<ChunkStamps> stamps,
        database.StampsOf(
            {rounds[begin].round, rounds[end - 1].round},
            spent.PopFor(std::chrono::seconds(0)).value_or(std::vector<ChunkStamps>())));
    Batch batch{begin, end, ByRound(std::move(stamps))};
    for (size_t i = std::max(begin, first_drawn); i < end; ++i)
      KeepForDrawing(spans.Of(rounds[i].round), batch.stamps.Of(rounds[i].round), drawn);
    take(std::move(batch));
  }
  return OkStatus();
}

/// The summaries and critical paths of all rounds. This thread reads, `threads` others work
/// meanwhile; with 1 this one does both.
Status WorkThroughRounds(const RunDatabase& database, const std::vector<RoundRecord>& rounds,
                         const SpansByRound& spans, const PartsByRound& parts,
                         const RunPaths& finder, int threads, RunSummary& run) {
  run.rounds.resize(rounds.size());
  run.paths.resize(rounds.size());
  SpentStamps spent(kMostBatches);
  const auto work = [&](Batch batch, RoundMemory& memory) {
    for (size_t i = batch.begin; i < batch.end; ++i) {
      const uint32_t round = rounds[i].round;
      run.rounds[i] = SummarizeRound(rounds[i], spans.Of(round), parts.Of(round));
      run.paths[i] =
          finder.Find(rounds[i], spans.Of(round), batch.stamps.Of(round), memory.Clear());
    }
    spent.TryPush(std::move(batch.stamps).Take());
  };
  if (threads == 1) {
    RoundMemory memory;
    return ReadBatches(database, rounds, spans, spent, run.records,
                       [&](Batch batch) { work(std::move(batch), memory); });
  }
  Queue<Batch> queue(kMostBatches);
  std::vector<std::future<void>> working;  // waited for where they leave their scope
  for (int i = 0; i < threads; ++i) {
    working.push_back(std::async(std::launch::async, [&] {
      RoundMemory memory;
      while (std::optional<Batch> batch = queue.Pop()) work(*std::move(batch), memory);
    }));
  }
  const Status status = ReadBatches(database, rounds, spans, spent, run.records,
                                    [&](Batch batch) { queue.Push(std::move(batch)); });
  queue.Close();
  return status;
}

/// On its way, from this database or another connection to it.
using SeriesToCome = std::future<StatusOr<RunSeries>>;

/// What each round was, why workers were slow, and what is to be said of both. Paths and causes do
/// not need each other, nor do summaries and findings.
Status SummarizeAndFind(const RunDatabase& database, const std::vector<WorkerRecord>& workers,
                        const std::vector<RoundRecord>& rounds, const SpansByRound& spans,
                        const PartsByRound& parts, const std::vector<ClockRecord>& clocks,
                        SeriesToCome& coming, int threads, RunSummary& run) {
  INTERLUDE_ASSIGN_OR_RETURN(RunSeries series, coming.get());
  run.records.samples = std::move(series.samples);
  run.records.memory = std::move(series.memory);
  const CauseTables tables{.workers = workers,
                           .rounds = rounds,
                           .parts = parts.all(),
                           .spans = spans.all(),
                           .samples = run.records.samples,
                           .probes = series.probes};
  const auto beside = threads > 1 ? std::launch::async : std::launch::deferred;
  // Waited for where it leaves its scope.
  std::future<void> causes =
      std::async(beside, [&] { run.causes = FindCauses(tables, &run.excesses); });
  const RunPaths finder(workers, run.events, run.meta, clocks, run.records.samples);
  INTERLUDE_RETURN_IF_ERROR(
      WorkThroughRounds(database, rounds, spans, parts, finder, threads, run));
  std::future<void> summaries = std::async(beside, [&] {
    run.workers = SummarizeWorkers(workers, run.rounds, spans, parts);
    run.typical = SummarizeTypicalRound(run.rounds);
  });
  causes.get();
  const auto config = run.meta.find(kMetaConfig);
  run.findings = FindFindings(
      {.tables = tables,
       .events = run.events,
       .clocks = clocks,
       .parameters = MetaNumber<uint64_t>(run.meta, kMetaParameters),
       .config = config == run.meta.end() ? std::string_view() : std::string_view(config->second)},
      run.causes, DragsOf(run.paths), SharesOf(run.paths));
  summaries.get();
  return OkStatus();
}

StatusOr<RunSummary> Analyze(const RunDatabase& database, SeriesToCome& coming, int threads) {
  RunSummary run;
  INTERLUDE_ASSIGN_OR_RETURN(run.meta, database.Meta());
  INTERLUDE_ASSIGN_OR_RETURN(run.evaluations, database.Evaluations());
  if (const auto classes = run.meta.find(kMetaClasses); classes != run.meta.end()) {
    const auto facts = ReadDataFacts(classes->second, "");
    if (facts.ok()) run.class_names = facts->classes;
  }
  INTERLUDE_ASSIGN_OR_RETURN(run.class_counts, database.ClassCounts());
  INTERLUDE_ASSIGN_OR_RETURN(run.events, database.Events());
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<WorkerRecord> workers, database.Workers());
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<RoundRecord> rounds, database.Rounds());
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<WorkerRoundRecord> read_parts, database.WorkerRounds());
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<Span> read_spans, database.Spans());
  const PartsByRound parts(std::move(read_parts));
  const SpansByRound spans(std::move(read_spans));

  for (const Span& span : spans.all()) run.impossible_spans += IsPossible(span) ? 0 : 1;
  run.before_rounds = SummarizePhases(spans.Of(kBeforeRounds));
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<ClockRecord> clocks, database.Clocks());
  INTERLUDE_RETURN_IF_ERROR(
      SummarizeAndFind(database, workers, rounds, spans, parts, clocks, coming, threads, run));
  run.unrecorded_rounds = RoundsBetween(rounds);
  AddAccuracies(run);
  AddTotals(rounds, parts, run);
  return run;
}

}  // namespace

StatusOr<RunSummary> AnalyzeRun(const RunDatabase& database, int threads) {
  std::promise<StatusOr<RunSeries>> series;
  series.set_value(ReadRunSeries(database));
  SeriesToCome coming = series.get_future();
  return Analyze(database, coming, threads);
}

StatusOr<RunSummary> AnalyzeRunDirectory(const std::string& directory, int threads) {
  const std::string path = directory + "/run.db";
  if (threads == 1) {
    INTERLUDE_ASSIGN_OR_RETURN(const auto database, RunDatabase::OpenReadOnly(path));
    return AnalyzeRun(*database);
  }
  INTERLUDE_ASSIGN_OR_RETURN(const auto database, RunDatabase::OpenToFollow(path));
  // All pages are checked meanwhile. What was read of a damaged file counts for nothing, and might
  // never come to an end. What the check's connection then reads may be newer by a moment, where
  // the run goes on: it is joined by time alone.
  Status damage;
  SeriesToCome series = std::async(std::launch::async, [&]() -> StatusOr<RunSeries> {
    const auto checked = RunDatabase::OpenReadOnly(path);
    if (checked.ok()) return ReadRunSeries(**checked);
    damage = checked.status();
    database->Stop();
    return damage;
  });
  StatusOr<RunSummary> run = Analyze(*database, series, threads);
  if (series.valid()) series.wait();  // where an error came first
  INTERLUDE_RETURN_IF_ERROR(damage);
  return run;
}

}  // namespace interlude
