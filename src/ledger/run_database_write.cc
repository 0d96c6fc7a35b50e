// Writing: each function is one transaction. Column order is that of ledger/schema.cc.
#include <cmath>

#include "ledger/sqlite_border.h"
#include "ledger/sqlite_run_database.h"

namespace interlude::internal {
namespace {

/// Binds a row's values one after the other, by kind of value.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {}

  Binder& Integer(int64_t value) {
    return Then([&](int i) { statement_.bind(i, value); });
  }
  Binder& Count(uint64_t value) { return Integer(ToSqlInteger(value)); }
  Binder& Text(const std::string& value) {
    return Then([&](int i) { statement_.bind(i, value); });
  }
  Binder& Null() {
    return Then([&](int i) { statement_.bind(i); });
  }
  /// SQLite has no NaN; it is NULL.
  Binder& Real(double value) {
    if (std::isnan(value)) return Null();
    return Then([&](int i) { statement_.bind(i, value); });
  }
  template <typename T>
  Binder& IntegerOrNull(const std::optional<T>& value) {
    return value ? Integer(*value) : Null();
  }

 private:
  template <typename Bind>
  Binder& Then(Bind bind) {
    bind(++index_);
    return *this;
  }
  SQLite::Statement& statement_;
  int index_ = 0;
};

void InsertSpans(SQLite::Database& database, const std::vector<Span>& spans) {
  SQLite::Statement insert(database,
                           "INSERT INTO spans VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const Span& span : spans) {
    Binder(insert)
        .Integer(span.round)
        .Text(std::string(PhaseName(span.phase)))
        .Integer(span.recorded_by)
        .Integer(span.about_worker)
        .Integer(span.begin_ns)
        .Integer(span.end_ns)
        .Integer(span.busy_ns)
        .Integer(span.cpu_ns)
        .Integer(span.run_delay_ns)
        .Count(span.bytes)
        .Integer(span.chunks)
        .Integer(span.ok ? 1 : 0);
    insert.exec();
    insert.reset();
  }
}

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
  SQLite::Statement insert(database, "INSERT INTO worker_rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (const WorkerRoundRecord& part : parts) {
    Binder(insert)
        .Integer(part.round)
        .Integer(part.worker)
        .Count(part.samples)
        .Real(part.mean_loss)
        .Text(part.root_hash)
        .Integer(part.repaired_chunks)
        .Count(part.upload_bytes)
        .Count(part.download_bytes);
    insert.exec();
    insert.reset();
  }
}

Status CheckPhases(const std::vector<Span>& spans) {
  for (const Span& span : spans) {
    if (PhaseFromNumber(static_cast<int>(span.phase))) continue;
    return InvalidArgumentError("span of round {} from worker {}: {} is no phase", span.round,
                                span.recorded_by, static_cast<int>(span.phase));
  }
  return OkStatus();
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

Status SqliteRunDatabase::AddRound(const RoundRecord& round,
                                   const std::vector<WorkerRoundRecord>& workers,
                                   const std::vector<Span>& spans) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  INTERLUDE_RETURN_IF_ERROR(CheckPhases(spans));
  for (const WorkerRoundRecord& part : workers) {
    if (part.round == round.round) continue;
    return InvalidArgumentError("round {} comes with worker {}'s part of round {}", round.round,
                                part.worker, part.round);
  }
  return AtBorder(Context(fmt::format("adding round {}", round.round)), [&] {
    SQLite::Transaction transaction(database_);  // rolls back when anything below throws
    InsertRound(database_, round);
    InsertWorkerRounds(database_, workers);
    InsertSpans(database_, spans);
    transaction.commit();
    return OkStatus();
  });
}

Status SqliteRunDatabase::AddSpans(const std::vector<Span>& spans) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  INTERLUDE_RETURN_IF_ERROR(CheckPhases(spans));
  return AtBorder(Context("adding spans"), [&] {
    SQLite::Transaction transaction(database_);
    InsertSpans(database_, spans);
    transaction.commit();
    return OkStatus();
  });
}

Status SqliteRunDatabase::AddEvaluation(const EvaluationRecord& evaluation) {
  INTERLUDE_RETURN_IF_ERROR(CheckWritable());
  return AtBorder(Context("adding an evaluation"), [&] {
    SQLite::Statement insert(database_, "INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?)");
    Binder(insert)
        .Integer(evaluation.after_rounds)
        .Count(evaluation.samples)
        .Count(evaluation.correct)
        .Real(evaluation.mean_loss);
    insert.exec();
    return OkStatus();
  });
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
