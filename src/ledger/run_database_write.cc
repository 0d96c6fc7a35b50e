// Writing: each function is one transaction. Column order is that of ledger/schema.cc.
#include <cmath>

#include "ledger/account_tables.h"
#include "ledger/clock_method.h"
#include "ledger/sqlite_binder.h"
#include "ledger/sqlite_run_database.h"

namespace interlude::internal {
namespace {

void InsertRound(SQLite::Database& database, const RoundRecord& round) {
  SQLite::Statement insert(database, "INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Binder(insert)
      .Integer(round.round)
      .Integer(round.begin_ns)
      .Integer(round.end_ns)
      .Integer(round.committed_ns)
      .Integer(round.first_delta_ns)
      .Integer(round.last_delta_ns)
      .Integer(round.first_sync_ns)
      .Text(round.root_hash)
      .Integer(round.workers)
      .Count(round.samples)
      .Real(round.mean_loss);
  insert.exec();
}

void InsertWorkerRounds(SQLite::Database& database, const std::vector<WorkerRoundRecord>& parts) {
  SQLite::Statement insert(database,
                           "INSERT INTO worker_rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const WorkerRoundRecord& part : parts) {
    Binder(insert)
        .Integer(part.round)
        .Integer(part.worker)
        .Count(part.samples)
        .Real(part.mean_loss)
        .Text(part.root_hash)
        .Integer(part.repaired_chunks)
        .Count(part.upload_bytes)
        .Count(part.download_bytes)
        .Integer(part.scaled_chunks)
        .Real(part.cut_share);
    insert.exec();
    insert.reset();
  }
}

}  // namespace

Status SqliteRunDatabase::SetMeta(const std::string& key, const std::string& value) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  if (key == "schema_version") {
    return InvalidArgumentError("meta key {} belongs to the run database itself", key);
  }
  return AtBorder(Context("setting meta " + key), [&] {
    SQLite::Statement insert(database_, "INSERT OR REPLACE INTO meta VALUES (?, ?)");
    Binder(insert).Text(key).Text(value);
    insert.exec();
    return OkStatus();
  });
}

Status SqliteRunDatabase::AddWorker(const WorkerRecord& worker) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  return AtBorder(Context(fmt::format("adding worker {}", worker.worker)), [&] {
    SQLite::Statement insert(
        database_, "INSERT OR REPLACE INTO workers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    Binder binder(insert);
    binder.Integer(worker.worker)
        .Text(worker.host)
        .Integer(worker.process_id)
        .Integer(worker.visible_cores);
    if (worker.quota_cores == 0) {
      binder.Null();
    } else {
      binder.Real(worker.quota_cores);
    }
    binder.Integer(worker.usable_cores)
        .Integer(worker.threads)
        .Text(worker.software)
        .Integer(worker.joined_ns)
        .IntegerOrNull(worker.left_ns)
        .Text(worker.left_reason);
    insert.exec();
    return OkStatus();
  });
}

Status SqliteRunDatabase::WorkerLeft(int32_t worker, int64_t at_ns, const std::string& reason) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  return AtBorder(Context(fmt::format("worker {} leaving", worker)), [&] {
    SQLite::Statement update(database_,
                             "UPDATE workers SET left_ns = ?, left_reason = ? WHERE worker = ?");
    Binder(update).Integer(at_ns).Text(reason).Integer(worker);
    if (update.exec() == 0)
      return NotFoundError("run database {}: worker {} never joined", path_, worker);
    return OkStatus();
  });
}

Status SqliteRunDatabase::AddClassCounts(const ClassCountsRecord& record) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  const auto& [train, test] = record.counts;
  if (train.size() != test.size()) {
    return InvalidArgumentError("worker {}: pictures of {} classes for training, of {} for testing",
                                record.worker, train.size(), test.size());
  }
  return AtBorder(Context(fmt::format("adding worker {}'s classes", record.worker)), [&] {
    SQLite::Transaction transaction(database_);
    database_.exec(fmt::format("DELETE FROM class_counts WHERE worker = {}", record.worker));
    SQLite::Statement insert(database_, "INSERT INTO class_counts VALUES (?, ?, ?, ?)");
    for (size_t label = 0; label < train.size(); ++label) {
      Binder(insert)
          .Integer(record.worker)
          .Integer(static_cast<int64_t>(label))
          .Count(train[label])
          .Count(test[label]);
      insert.exec();
      insert.reset();
    }
    transaction.commit();
    return OkStatus();
  });
}

Status SqliteRunDatabase::AddRound(const RoundRecord& round,
                                   const std::vector<WorkerRoundRecord>& workers,
                                   const Account& account) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  INTERLUDE_RETURN_IF_ERROR(CheckAccount(account));
  for (const WorkerRoundRecord& part : workers) {
    if (part.round == round.round) continue;
    return InvalidArgumentError("round {} comes with worker {}'s part of round {}", round.round,
                                part.worker, part.round);
  }
  return AtBorder(Context(fmt::format("adding round {}", round.round)), [&] {
    SQLite::Transaction transaction(database_);  // rolls back when anything below throws
    InsertRound(database_, round);
    InsertWorkerRounds(database_, workers);
    InsertAccount(database_, account);
    transaction.commit();
    return OkStatus();
  });
}

Status SqliteRunDatabase::AddAccount(const Account& account) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  INTERLUDE_RETURN_IF_ERROR(CheckAccount(account));
  return AtBorder(Context("adding an account"), [&] {
    SQLite::Transaction transaction(database_);
    InsertAccount(database_, account);
    transaction.commit();
    return OkStatus();
  });
}

Status SqliteRunDatabase::AddClock(std::optional<uint32_t> round, const ClockEstimate& estimate) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  const std::string_view method = ClockMethodName(estimate.method);
  if (!ClockMethodFromName(method) || !std::isfinite(estimate.drift)) {
    return InvalidArgumentError("clock of worker {}: method {}, drift {}", estimate.worker,
                                static_cast<int>(estimate.method), estimate.drift);
  }
  return AtBorder(Context(fmt::format("adding the clock of worker {}", estimate.worker)), [&] {
    SQLite::Statement insert(database_,
                             "INSERT OR REPLACE INTO clocks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)");
    Binder(insert)
        .Integer(estimate.worker)
        .IntegerOrNull(round)
        .Text(method)
        .Integer(estimate.at_ns)
        .Integer(estimate.offset_ns)
        .Real(estimate.drift)
        .Integer(estimate.error_ns)
        .Integer(estimate.probes);
    insert.exec();
    return OkStatus();
  });
}

Status SqliteRunDatabase::AddEvaluation(const EvaluationRecord& evaluation) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  INTERLUDE_RETURN_IF_ERROR(CheckConfusion(evaluation.confusion, evaluation.classes,
                                           evaluation.samples, evaluation.correct));
  return AtBorder(Context("adding an evaluation"), [&] {
    SQLite::Transaction transaction(database_);
    SQLite::Statement insert(database_, "INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?)");
    Binder(insert)
        .Integer(evaluation.after_rounds)
        .Count(evaluation.samples)
        .Count(evaluation.correct)
        .Real(evaluation.mean_loss);
    insert.exec();
    InsertEvaluationDetails(evaluation);
    transaction.commit();
    return OkStatus();
  });
}

void SqliteRunDatabase::InsertEvaluationDetails(const EvaluationRecord& evaluation) {
  for (const char* table : {"evaluation_details", "confusion"}) {
    database_.exec(
        fmt::format("DELETE FROM {} WHERE after_rounds = {}", table, evaluation.after_rounds));
  }
  if (evaluation.classes == 0) return;
  SQLite::Statement details(database_, "INSERT INTO evaluation_details VALUES (?, ?, ?)");
  Binder(details)
      .Integer(evaluation.after_rounds)
      .Integer(evaluation.classes)
      .Count(evaluation.top5);
  details.exec();
  SQLite::Statement insert(database_, "INSERT INTO confusion VALUES (?, ?, ?, ?)");
  for (const ConfusionCell& cell : evaluation.confusion) {
    Binder(insert)
        .Integer(evaluation.after_rounds)
        .Integer(cell.label)
        .Integer(cell.predicted)
        .Count(cell.count);
    insert.exec();
    insert.reset();
  }
}

Status SqliteRunDatabase::AddEvent(const EventRecord& event) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  return AtBorder(Context("adding event " + event.kind), [&] {
    SQLite::Statement insert(database_, "INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)");
    Binder(insert)
        .Integer(event.at_ns)
        .IntegerOrNull(event.round)
        .Integer(event.worker)
        .Text(event.kind)
        .Text(event.text);
    insert.exec();
    return OkStatus();
  });
}

}  // namespace interlude::internal
