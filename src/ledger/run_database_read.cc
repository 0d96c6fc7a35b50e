// Reading: each function is one SELECT, checked value by value.
#include "ledger/clock_method.h"
#include "ledger/sqlite_border.h"
#include "ledger/sqlite_run_database.h"

namespace interlude::internal {
namespace {

WorkerRecord ReadWorker(const Row& row) {
  WorkerRecord worker;
  worker.worker = row.Fitting<int32_t>(0);
  worker.host = row.Text(1);
  worker.process_id = row.Integer(2);
  worker.visible_cores = row.Fitting<int32_t>(3);
  worker.quota_cores = row.IsNull(4) ? 0 : row.Real(4);
  worker.usable_cores = row.Fitting<int32_t>(5);
  worker.threads = row.Fitting<int32_t>(6);
  worker.software = row.Text(7);
  worker.joined_ns = row.Integer(8);
  if (!row.IsNull(9)) worker.left_ns = row.Integer(9);
  worker.left_reason = row.Text(10);
  return worker;
}

RoundRecord ReadRound(const Row& row) {
  RoundRecord round;
  round.round = row.Fitting<uint32_t>(0);
  round.begin_ns = row.Integer(1);
  round.end_ns = row.Integer(2);
  round.committed_ns = row.Integer(3);
  round.first_delta_ns = row.Integer(4);
  round.last_delta_ns = row.Integer(5);
  round.first_sync_ns = row.Integer(6);
  round.root_hash = row.Text(7);
  round.workers = row.Fitting<uint32_t>(8);
  round.samples = row.Fitting<uint64_t>(9);
  round.mean_loss = row.RealOrNan(10);
  return round;
}

WorkerRoundRecord ReadWorkerRound(const Row& row) {
  WorkerRoundRecord part;
  part.round = row.Fitting<uint32_t>(0);
  part.worker = row.Fitting<int32_t>(1);
  part.samples = row.Fitting<uint64_t>(2);
  part.mean_loss = row.RealOrNan(3);
  part.root_hash = row.Text(4);
  part.repaired_chunks = row.Fitting<uint32_t>(5);
  part.upload_bytes = row.Fitting<uint64_t>(6);
  part.download_bytes = row.Fitting<uint64_t>(7);
  part.scaled_chunks = row.Fitting<uint32_t>(8);
  part.cut_share = row.Real(9);
  return part;
}

ClockRecord ReadClock(const Row& row) {
  const std::optional<ClockMethod> method = ClockMethodFromName(row.View(2));
  if (!method) row.Refuse(2, "'" + row.Text(2) + "'");
  ClockRecord clock;
  clock.estimate.worker = row.Fitting<int32_t>(0);
  if (!row.IsNull(1)) clock.round = row.Fitting<uint32_t>(1);
  clock.estimate.method = *method;
  clock.estimate.at_ns = row.Integer(3);
  clock.estimate.offset_ns = row.Integer(4);
  clock.estimate.drift = row.Real(5);
  clock.estimate.error_ns = row.Integer(6);
  clock.estimate.probes = row.Fitting<uint32_t>(7);
  return clock;
}

EvaluationRecord ReadEvaluation(const Row& row) {
  EvaluationRecord evaluation;
  evaluation.after_rounds = row.Fitting<uint32_t>(0);
  evaluation.samples = row.Fitting<uint64_t>(1);
  evaluation.correct = row.Fitting<uint64_t>(2);
  evaluation.mean_loss = row.RealOrNan(3);
  return evaluation;
}

EventRecord ReadEvent(const Row& row) {
  EventRecord event;
  event.at_ns = row.Integer(0);
  if (!row.IsNull(1)) event.round = row.Fitting<uint32_t>(1);
  event.worker = row.Fitting<int32_t>(2);
  event.kind = row.Text(3);
  event.text = row.Text(4);
  return event;
}

}  // namespace

StatusOr<std::optional<std::string>> SqliteRunDatabase::GetMeta(const std::string& key) const {
  INTERLUDE_ASSIGN_OR_RETURN(const auto meta, Meta());
  const auto found = meta.find(key);
  if (found == meta.end()) return std::optional<std::string>();
  return std::optional<std::string>(found->second);
}

StatusOr<std::map<std::string, std::string>> SqliteRunDatabase::Meta() const {
  using Map = std::map<std::string, std::string>;
  return AtBorder(Context("reading meta"), [&]() -> StatusOr<Map> {
    Map meta;
    ForEachRow(database_, "SELECT key, value FROM meta",
               [&](const Row& row) { meta[row.Text(0)] = row.Text(1); });
    return meta;
  });
}

StatusOr<std::vector<WorkerRecord>> SqliteRunDatabase::Workers() const {
  return AtBorder(Context("reading workers"), [&]() -> StatusOr<std::vector<WorkerRecord>> {
    return Select<WorkerRecord>(
        database_,
        "SELECT worker, host, process_id, visible_cores, quota_cores, usable_cores, "
        "threads, software, joined_ns, left_ns, left_reason FROM workers ORDER BY worker",
        ReadWorker);
  });
}

StatusOr<std::vector<ClassCountsRecord>> SqliteRunDatabase::ClassCounts() const {
  using Records = std::vector<ClassCountsRecord>;
  return AtBorder(Context("reading class_counts"), [&]() -> StatusOr<Records> {
    Records records;
    if (!database_.tableExists("class_counts")) return records;
    ForEachRow(database_,
               "SELECT worker, label, train_pictures, test_pictures FROM class_counts "
               "ORDER BY worker, label",
               [&](const Row& row) {
                 const auto worker = row.Fitting<int32_t>(0);
                 if (records.empty() || records.back().worker != worker)
                   records.push_back({.worker = worker, .counts = {}});
                 auto& [train, test] = records.back().counts;
                 if (row.Integer(1) != static_cast<int64_t>(train.size()))
                   row.Refuse(1, fmt::format("{} where {} belongs", row.Integer(1), train.size()));
                 train.push_back(row.Fitting<uint64_t>(2));
                 test.push_back(row.Fitting<uint64_t>(3));
               });
    return records;
  });
}

StatusOr<std::vector<RoundRecord>> SqliteRunDatabase::SelectRounds(const std::string& which) const {
  return AtBorder(Context("reading rounds"), [&]() -> StatusOr<std::vector<RoundRecord>> {
    return Select<RoundRecord>(database_,
                               "SELECT round, begin_ns, end_ns, committed_ns, first_delta_ns, "
                               "last_delta_ns, first_sync_ns, root_hash, "
                               "workers, samples, mean_loss FROM rounds " +
                                   which,
                               ReadRound);
  });
}

StatusOr<std::vector<WorkerRoundRecord>> SqliteRunDatabase::SelectWorkerRounds(
    const std::string& which) const {
  return AtBorder(
      Context("reading worker_rounds"), [&]() -> StatusOr<std::vector<WorkerRoundRecord>> {
        return Select<WorkerRoundRecord>(
            database_,
            fmt::format("SELECT round, worker, samples, mean_loss, root_hash, repaired_chunks, "
                        "upload_bytes, download_bytes, {} FROM worker_rounds {}",
                        version_ < 3 ? "0, 0.0" : "scaled_chunks, cut_share", which),
            ReadWorkerRound);
      });
}

bool SqliteRunDatabase::HasEvaluationDetails() const {
  return database_.tableExists("evaluation_details") && database_.tableExists("confusion");
}

StatusOr<std::vector<EvaluationRecord>> SqliteRunDatabase::Evaluations() const {
  using Evaluations = std::vector<EvaluationRecord>;
  return AtBorder(Context("reading evaluations"), [&]() -> StatusOr<Evaluations> {
    Evaluations evaluations = Select<EvaluationRecord>(
        database_,
        "SELECT after_rounds, samples, correct, mean_loss FROM evaluations ORDER BY after_rounds",
        ReadEvaluation);
    if (!HasEvaluationDetails()) return evaluations;
    std::map<uint32_t, EvaluationRecord*> by_round;
    for (EvaluationRecord& evaluation : evaluations)
      by_round[evaluation.after_rounds] = &evaluation;
    ForEachRow(database_, "SELECT after_rounds, classes, top5 FROM evaluation_details",
               [&](const Row& row) {
                 const auto found = by_round.find(row.Fitting<uint32_t>(0));
                 if (found == by_round.end()) return;
                 found->second->classes = row.Fitting<uint32_t>(1);
                 found->second->top5 = row.Fitting<uint64_t>(2);
               });
    ForEachRow(
        database_,
        "SELECT after_rounds, label, predicted, count FROM confusion "
        "ORDER BY after_rounds, label, predicted",
        [&](const Row& row) {
          const auto found = by_round.find(row.Fitting<uint32_t>(0));
          if (found == by_round.end()) return;
          found->second->confusion.push_back(
              {row.Fitting<uint32_t>(1), row.Fitting<uint32_t>(2), row.Fitting<uint64_t>(3)});
        });
    return evaluations;
  });
}

StatusOr<std::vector<EventRecord>> SqliteRunDatabase::SelectEvents(const std::string& which) const {
  return AtBorder(Context("reading events"), [&]() -> StatusOr<std::vector<EventRecord>> {
    return Select<EventRecord>(
        database_, "SELECT at_ns, round, worker, kind, text FROM events " + which, ReadEvent);
  });
}

StatusOr<std::vector<ClockRecord>> SqliteRunDatabase::SelectClocks(const std::string& which) const {
  using Clocks = std::vector<ClockRecord>;
  if (version_ < 3) return Clocks();
  return AtBorder(Context("reading clocks"), [&]() -> StatusOr<Clocks> {
    return Select<ClockRecord>(
        database_,
        "SELECT worker, round, method, at_ns, offset_ns, drift, error_ns, probes FROM clocks " +
            which,
        ReadClock);
  });
}

StatusOr<std::vector<RoundRecord>> SqliteRunDatabase::Rounds() const {
  return SelectRounds("ORDER BY round");
}

StatusOr<std::vector<WorkerRoundRecord>> SqliteRunDatabase::WorkerRounds() const {
  return SelectWorkerRounds("ORDER BY round, worker");
}

StatusOr<std::vector<EventRecord>> SqliteRunDatabase::Events() const {
  return SelectEvents("ORDER BY at_ns, id");
}

StatusOr<std::vector<ClockRecord>> SqliteRunDatabase::Clocks() const {
  return SelectClocks("ORDER BY worker, round IS NULL, round");
}

StatusOr<std::vector<ClockRecord>> SqliteRunDatabase::ClocksOf(uint32_t round) const {
  // By worker, so that the index finds both.
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<WorkerRecord> workers, Workers());
  std::vector<ClockRecord> clocks;
  for (const WorkerRecord& worker : workers) {
    INTERLUDE_ASSIGN_OR_RETURN(
        const std::vector<ClockRecord> of_worker,
        SelectClocks(fmt::format("WHERE worker = {} AND ifnull(round, -1) IN (-1, {}) "
                                 "ORDER BY round IS NULL",
                                 worker.worker, round)));
    clocks.insert(clocks.end(), of_worker.begin(), of_worker.end());
  }
  return clocks;
}

StatusOr<int64_t> SqliteRunDatabase::LastId(const std::string& table) const {
  return AtBorder(Context("reading " + table), [&]() -> StatusOr<int64_t> {
    int64_t last = 0;
    ForEachRow(database_, "SELECT ifnull(max(id), 0) FROM " + table,
               [&](const Row& row) { last = row.Integer(0); });
    return last;
  });
}

StatusOr<RunNews> SqliteRunDatabase::News(RunMark& mark) const {
  const auto since = [](int64_t id) { return fmt::format("WHERE id > {} ORDER BY id", id); };
  RunNews news;
  RunMark next = mark;
  INTERLUDE_ASSIGN_OR_RETURN(
      news.rounds, SelectRounds(fmt::format("WHERE round > {} ORDER BY round", mark.round)));
  INTERLUDE_ASSIGN_OR_RETURN(
      news.parts,
      SelectWorkerRounds(fmt::format("WHERE round > {} ORDER BY round, worker", mark.round)));
  if (!news.rounds.empty()) next.round = news.rounds.back().round;
  INTERLUDE_ASSIGN_OR_RETURN(news.spans, SelectSpans(since(mark.span)));
  INTERLUDE_ASSIGN_OR_RETURN(next.span, LastId("spans"));
  if (version_ >= 3) {
    INTERLUDE_ASSIGN_OR_RETURN(news.samples, SelectSamples(since(mark.sample)));
    INTERLUDE_ASSIGN_OR_RETURN(next.sample, LastId(SamplesTable()));
  }
  INTERLUDE_ASSIGN_OR_RETURN(news.events, SelectEvents(since(mark.event)));
  INTERLUDE_ASSIGN_OR_RETURN(next.event, LastId("events"));
  mark = next;
  return news;
}

}  // namespace interlude::internal
