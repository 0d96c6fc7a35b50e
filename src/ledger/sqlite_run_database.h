// RunDatabase on SQLite. Internal to ledger/: writing is in run_database_write.cc, reading in
// run_database_read.cc, making and opening in run_database.cc. One thread at a time.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/run_database.h"

namespace interlude::internal {

class SqliteRunDatabase final : public RunDatabase {
 public:
  /// `database` is open; for a writer the schema is there and the newest, for a reader a
  /// transaction is begun.
  SqliteRunDatabase(SQLite::Database database, std::string path, bool writable, int version);
  ~SqliteRunDatabase() override;

  Status SetMeta(const std::string& key, const std::string& value) override;
  Status AddWorker(const WorkerRecord& worker) override;
  Status WorkerLeft(int32_t worker, int64_t at_ns, const std::string& reason) override;
  Status AddClassCounts(const ClassCountsRecord& record) override;
  Status AddRound(const RoundRecord& round, const std::vector<WorkerRoundRecord>& workers,
                  const Account& account) override;
  Status AddAccount(const Account& account) override;
  Status AddClock(std::optional<uint32_t> round, const ClockEstimate& estimate) override;
  Status AddEvaluation(const EvaluationRecord& evaluation) override;
  Status AddEvent(const EventRecord& event) override;

  void Stop() const override { stopped_ = true; }

  StatusOr<std::optional<std::string>> GetMeta(const std::string& key) const override;
  StatusOr<std::map<std::string, std::string>> Meta() const override;
  StatusOr<std::vector<WorkerRecord>> Workers() const override;
  StatusOr<std::vector<ClassCountsRecord>> ClassCounts() const override;
  StatusOr<std::vector<RoundRecord>> Rounds() const override;
  StatusOr<std::vector<WorkerRoundRecord>> WorkerRounds() const override;
  StatusOr<std::vector<Span>> Spans() const override;
  StatusOr<std::vector<ChunkStamps>> Stamps() const override;
  StatusOr<std::vector<ChunkStamps>> StampsOf(RoundRange rounds,
                                              std::vector<ChunkStamps> spent) const override;
  StatusOr<std::vector<Span>> SpansOf(RoundRange rounds) const override;
  StatusOr<std::vector<ProcessSample>> Samples() const override;
  StatusOr<std::vector<MemoryRecord>> Memory() const override;
  StatusOr<std::vector<ClockProbe>> Probes() const override;
  StatusOr<std::vector<ClockRecord>> Clocks() const override;
  StatusOr<std::vector<ClockRecord>> ClocksOf(uint32_t round) const override;
  StatusOr<std::vector<EvaluationRecord>> Evaluations() const override;
  StatusOr<std::vector<EventRecord>> Events() const override;
  StatusOr<RunNews> News(RunMark& mark) const override;

 private:
  // Those that `which` (the end of a SELECT) picks.
  StatusOr<std::vector<RoundRecord>> SelectRounds(const std::string& which) const;
  StatusOr<std::vector<WorkerRoundRecord>> SelectWorkerRounds(const std::string& which) const;
  StatusOr<std::vector<Span>> SelectSpans(const std::string& which, size_t expected = 0) const;
  StatusOr<std::vector<ChunkStamps>> SelectStamps(const std::string& which,
                                                  std::vector<ChunkStamps> spent = {}) const;
  StatusOr<std::vector<ProcessSample>> SelectSamples(const std::string& which,
                                                     size_t expected = 0) const;
  StatusOr<std::vector<ClockRecord>> SelectClocks(const std::string& which) const;
  StatusOr<std::vector<EventRecord>> SelectEvents(const std::string& which) const;
  /// Of the samples, in this version.
  std::string SamplesTable() const { return version_ == 3 ? "process_samples" : "sample_rows"; }
  /// For room made beforehand: a vector that grows to a million rows touches twice the memory.
  StatusOr<size_t> ExpectedRows(const std::string& table) const;
  /// The largest id in use, 0 where there is none.
  StatusOr<int64_t> LastId(const std::string& table) const;
  /// "run database PATH: `what`", the beginning of every error.
  std::string Context(std::string_view what) const;
  Status CheckWritable() const;
  /// Version 3 began without the two tables of what is known of an evaluation besides.
  bool HasEvaluationDetails() const;
  void InsertEvaluationDetails(const EvaluationRecord& evaluation);

  mutable std::atomic<bool> stopped_ = false;
  mutable SQLite::Database database_;
  const std::string path_;
  const bool writable_;
  const int version_;  // of the schema
};

}  // namespace interlude::internal
