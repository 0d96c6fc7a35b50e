// The run database: DIR/run.db, SQLite in WAL mode. The schema is documented in
// docs/run-database.md so that people can use SQL. Written by the coordinator alone, read by
// analysis/.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/account.h"
#include "ledger/confusion.h"
#include "ledger/data_facts.h"

namespace interlude {

/// Version of the schema; stored in `meta`, and in SQLite's user_version.
inline constexpr int kRunDatabaseVersion = 4;

/// Keys of `meta` that have a meaning; others may be set too. All are optional.
inline constexpr char kMetaTitle[] = "title";                  // what is trained; one line
inline constexpr char kMetaSoftware[] = "software";            // version text of the coordinator
inline constexpr char kMetaStartedAt[] = "started_at";         // wall time, ISO 8601 UTC
inline constexpr char kMetaConfig[] = "config";                // the run's whole TOML
inline constexpr char kMetaParameters[] = "parameters";        // number of parameters, decimal
inline constexpr char kMetaExchange[] = "exchange";            // "pipelined" or "barrier"
inline constexpr char kMetaCodec[] = "codec";                  // "q4", "q8" or "fp32"
inline constexpr char kMetaClasses[] = "classes";              // their names (ledger/data_facts.h)
inline constexpr char kMetaNormalization[] = "normalization";  // of pixels (ledger/data_facts.h)
inline constexpr char kMetaMergeThreads[] = "merge_threads";   // the coordinator's; decimal
inline constexpr char kMetaAccount[] = "account";              // kNoAccount, or not there
inline constexpr char kMetaOutcome[] = "outcome";  // "finished", or why the run ended early

/// The coordinator, at one of its starts at least, kept no account (ledger/recording.h).
inline constexpr char kNoAccount[] = "none";

/// What is known of a worker when it joins.
struct WorkerRecord {
  int32_t worker = 0;
  std::string host;
  int64_t process_id = 0;
  int32_t visible_cores = 0;
  double quota_cores = 0;  // 0: none
  int32_t usable_cores = 0;
  int32_t threads = 0;    // of its compute pools; 0 until it has made its model
  std::string software;   // version text
  int64_t joined_ns = 0;  // coordinator's monotonic clock
  std::optional<int64_t> left_ns;
  std::string left_reason;  // empty while it is there
};

/// A committed round, on the coordinator's clock. Rounds tile the run: a round begins where the one
/// before ended.
struct RoundRecord {
  uint32_t round = 0;  // from 1
  int64_t begin_ns = 0;
  int64_t end_ns = 0;          // the last worker reported that it has applied and verified
  int64_t committed_ns = 0;    // all chunks merged
  int64_t first_delta_ns = 0;  // the first delta chunk arrived
  int64_t last_delta_ns = 0;   // the last one
  int64_t first_sync_ns = 0;   // the first sync chunk was ready to send
  std::string root_hash;       // hex
  uint32_t workers = 0;        // that contributed
  uint64_t samples = 0;
  double mean_loss = 0;  // over samples
};

/// One worker's part in one round.
struct WorkerRoundRecord {
  uint32_t round = 0;
  int32_t worker = 0;
  uint64_t samples = 0;
  double mean_loss = 0;
  std::string root_hash;  // hex, as the worker computed it
  uint32_t repaired_chunks = 0;
  uint64_t upload_bytes = 0;    // payload
  uint64_t download_bytes = 0;  // payload
  uint32_t scaled_chunks = 0;   // of its delta, scaled down to the norm bound by the merge
  /// Share of its delta's values that a trimmed mean or median left out for being among the
  /// extremes: the mean over its merged chunks of their shares, each in a sample. 0 with other
  /// rules. The mean over a round's workers is what is usual; always exaggerating gives 1.
  double cut_share = 0;
};

/// How many pictures of each class a worker has.
struct ClassCountsRecord {
  int32_t worker = kNoWorker;  // kNoWorker: one data set, split among all
  ClassCounts counts;

  friend bool operator==(const ClassCountsRecord&, const ClassCountsRecord&) = default;
};

struct EvaluationRecord {
  uint32_t after_rounds = 0;  // rounds committed when it was made
  uint64_t samples = 0;
  uint64_t correct = 0;
  double mean_loss = 0;
  // Not known where there are 0 classes.
  uint32_t classes = 0;
  uint64_t top5 = 0;    // samples whose class is among the five that were likeliest
  Confusion confusion;  // empty: not known

  /// Of at least one sample.
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(samples); }
};

/// Something that happened at one moment: a worker joined or left, a refused message, a repair.
struct EventRecord {
  int64_t at_ns = 0;  // coordinator's clock
  std::optional<uint32_t> round;
  int32_t worker = kNoWorker;
  std::string kind;  // short and stable: "worker_left"
  std::string text;  // for people
};

/// Rounds from `first` to `last`, both included.
struct RoundRange {
  uint32_t first = 0;
  uint32_t last = std::numeric_limits<uint32_t>::max();
};

/// An estimate of a worker's clock.
struct ClockRecord {
  std::optional<uint32_t> round;  // as it stood when this round ended; none: the final one
  ClockEstimate estimate;

  friend bool operator==(const ClockRecord&, const ClockRecord&) = default;
};

/// How far somebody who follows a run has read.
struct RunMark {
  uint32_t round = 0;
  int64_t span = 0, sample = 0, event = 0;
};

/// What was stored since.
struct RunNews {
  std::vector<RoundRecord> rounds;
  std::vector<WorkerRoundRecord> parts;
  std::vector<Span> spans;
  std::vector<ProcessSample> samples;
  std::vector<EventRecord> events;

  size_t size() const {
    return rounds.size() + parts.size() + spans.size() + samples.size() + events.size();
  }
};

/// One thread at a time. Each Add* call is atomic; after a crash of the process the database holds
/// whole calls (after a power cut the last ones may be missing: synchronous = NORMAL).
///
/// Values are stored as they come, with three exceptions: a count above 2^63 - 1 is stored as
/// 2^63 - 1, a loss that is NaN is stored as NULL and read back as NaN, and the times and the
/// resident memory of samples are cut to whole microseconds and KiB. Errors besides those
/// named below: ResourceExhausted (disk full), PermissionDenied, Unavailable (locked for more than
/// 5 s by another program), Internal (I/O).
class RunDatabase {
 public:
  /// Makes DIR/run.db. AlreadyExists when there is one: a run directory holds one run. ":memory:"
  /// is a database that lives as long as the object and can be read through it.
  static StatusOr<std::unique_ptr<RunDatabase>> Create(const std::string& path);
  /// Opens an existing one to go on with its run. Errors as OpenReadOnly, and FailedPrecondition
  /// for another version of the schema. The only writer, as after Create.
  static StatusOr<std::unique_ptr<RunDatabase>> Reopen(const std::string& path);
  /// Opens an existing one for reading, as it is at this moment: what a writer adds later is not
  /// seen. NotFound; DataLoss when it is no run database or damaged; FailedPrecondition when a
  /// newer version of the program wrote it. Every page is checked: the cost grows with the file.
  static StatusOr<std::unique_ptr<RunDatabase>> OpenReadOnly(const std::string& path);
  /// As OpenReadOnly, but pages are not checked before they are read: for following a run that this
  /// program writes, at a cost that does not grow with the file.
  static StatusOr<std::unique_ptr<RunDatabase>> OpenToFollow(const std::string& path);
  /// The writer's leaves one plain file, without the -wal beside it, when nobody else has it open.
  virtual ~RunDatabase() = default;

  /// Sets or replaces. InvalidArgument for "schema_version", which belongs to the database itself.
  virtual Status SetMeta(const std::string& key, const std::string& value) = 0;
  /// A worker that joins again under its id replaces its row; events keep the history.
  virtual Status AddWorker(const WorkerRecord& worker) = 0;
  /// NotFound when no such worker joined.
  virtual Status WorkerLeft(int32_t worker, int64_t at_ns, const std::string& reason) = 0;
  /// Replaces what was said before of the same worker. InvalidArgument where train and test are not
  /// of the same classes.
  virtual Status AddClassCounts(const ClassCountsRecord& record) = 0;
  /// A finished round with its workers' parts and all accounts that belong to it, in one
  /// transaction. AlreadyExists when the round is there or a worker occurs twice; InvalidArgument
  /// when a span's or a stamp's phase is no phase, the stamps are not such as EncodeStamps can
  /// store, or a part is of another round. Then nothing of the round is stored.
  virtual Status AddRound(const RoundRecord& round, const std::vector<WorkerRoundRecord>& workers,
                          const Account& account) = 0;
  /// What belongs to no finished round (preparation, evaluation after the last round). All of it or
  /// none; InvalidArgument as AddRound.
  virtual Status AddAccount(const Account& account) = 0;
  /// Replaces an older estimate of the same worker and round. InvalidArgument for a method that is
  /// none, and for a drift that is no number.
  virtual Status AddClock(std::optional<uint32_t> round, const ClockEstimate& estimate) = 0;
  /// A second evaluation after the same number of rounds replaces the first: the parameters are the
  /// same.
  virtual Status AddEvaluation(const EvaluationRecord& evaluation) = 0;
  virtual Status AddEvent(const EventRecord& event) = 0;

  /// From any thread: what another one reads, now or later, fails. Only of a reader.
  virtual void Stop() const = 0;

  // Readers: rows by round and worker (an account's: in order of storing), DataLoss for a value
  // that cannot be. What a file of an older version does not have is empty, or 0.
  virtual StatusOr<std::optional<std::string>> GetMeta(const std::string& key) const = 0;
  virtual StatusOr<std::map<std::string, std::string>> Meta() const = 0;
  virtual StatusOr<std::vector<WorkerRecord>> Workers() const = 0;
  virtual StatusOr<std::vector<ClassCountsRecord>> ClassCounts() const = 0;
  virtual StatusOr<std::vector<RoundRecord>> Rounds() const = 0;
  virtual StatusOr<std::vector<WorkerRoundRecord>> WorkerRounds() const = 0;
  virtual StatusOr<std::vector<Span>> Spans() const = 0;
  virtual StatusOr<std::vector<ChunkStamps>> Stamps() const = 0;
  /// By round: a long run's are more than one wants in memory. In a file that has no index of them
  /// (schema version 3) each call goes through the whole table.
  StatusOr<std::vector<ChunkStamps>> StampsOf(RoundRange rounds) const {
    return StampsOf(rounds, {});
  }
  /// The same in the memory of `spent`, which earlier calls have returned.
  virtual StatusOr<std::vector<ChunkStamps>> StampsOf(RoundRange rounds,
                                                      std::vector<ChunkStamps> spent) const = 0;
  virtual StatusOr<std::vector<Span>> SpansOf(RoundRange rounds) const = 0;
  virtual StatusOr<std::vector<ProcessSample>> Samples() const = 0;
  virtual StatusOr<std::vector<MemoryRecord>> Memory() const = 0;
  virtual StatusOr<std::vector<ClockProbe>> Probes() const = 0;
  /// By worker, then by round; a worker's final estimate is its last.
  virtual StatusOr<std::vector<ClockRecord>> Clocks() const = 0;
  /// The round's, and the final ones.
  virtual StatusOr<std::vector<ClockRecord>> ClocksOf(uint32_t round) const = 0;
  virtual StatusOr<std::vector<EvaluationRecord>> Evaluations() const = 0;
  virtual StatusOr<std::vector<EventRecord>> Events() const = 0;
  /// What was stored since `mark`, which moves on to the end. Rounds are stored in their order.
  virtual StatusOr<RunNews> News(RunMark& mark) const = 0;
};

}  // namespace interlude
