#include "ledger/account_tables.h"

#include <algorithm>
#include <span>

#include "ledger/probe_bytes.h"
#include "ledger/sqlite_binder.h"

namespace interlude::internal {
namespace {

/// One row for each record; `bind` gives its values after the id.
template <typename Record, typename Bind>
void InsertAll(SQLite::Database& database, const std::vector<Record>& records, const char* table,
               int values, Bind bind) {
  if (records.empty()) return;
  std::string sql = fmt::format("INSERT INTO {} VALUES (NULL", table);
  for (int i = 0; i < values; ++i) sql += ", ?";
  SQLite::Statement insert(database, sql + ")");
  for (const Record& record : records) {
    bind(Binder(insert), record);
    insert.exec();
    insert.reset();
  }
}

void BindSpan(Binder row, const Span& span) {
  row.Integer(span.round)
      .Text(PhaseName(span.phase))
      .Integer(span.recorded_by)
      .Integer(span.about_worker)
      .Integer(span.begin_ns)
      .Integer(span.end_ns)
      .Integer(span.busy_ns)
      .Integer(span.cpu_ns)
      .Integer(span.run_delay_ns)
      .Integer(span.blocked_ns)
      .Count(span.bytes)
      .Integer(span.chunks)
      .Integer(span.ok ? 1 : 0);
}

void BindStamps(Binder row, const ChunkStamps& stamps) {
  row.Integer(stamps.round)
      .Text(PhaseName(stamps.phase))
      .Integer(stamps.recorded_by)
      .Integer(stamps.about_worker)
      .Blob(EncodeStamps(stamps.stamps));
}

void BindSample(Binder row, const ProcessSample& sample) {
  row.Integer(sample.recorded_by).Integer(sample.at_ns / kSampleTimeUnit);
  for (const SampleField& field : kSampleFields) {
    const int64_t value = sample.*field.value;
    value == kUnknownFigure ? row.Null() : row.Integer(value / UnitOf(field));
  }
}

void BindMemory(Binder row, const MemoryRecord& memory) {
  row.Integer(memory.recorded_by).Integer(memory.at_ns).Text(memory.owner).Integer(memory.bytes);
}

/// A row for all of a worker's that stand together.
void InsertProbes(SQLite::Database& database, std::span<const ClockProbe> probes) {
  if (probes.empty()) return;
  SQLite::Statement insert(database, "INSERT INTO clock_probes VALUES (NULL, ?, ?)");
  while (!probes.empty()) {
    const int32_t worker = probes.front().worker;
    const auto other =
        std::ranges::find_if(probes, [&](const auto& probe) { return probe.worker != worker; });
    const auto count = static_cast<size_t>(other - probes.begin());
    Binder(insert).Integer(worker).Blob(EncodeProbes(probes.first(count)));
    insert.exec();
    insert.reset();
    probes = probes.subspan(count);
  }
}

template <typename Record>
Status CheckPhase(std::string_view what, const Record& record) {
  const int number = static_cast<int>(record.phase);
  if (PhaseFromNumber(number)) return OkStatus();
  return InvalidArgumentError("{} of round {} from worker {}: {} is no phase", what, record.round,
                              record.recorded_by, number);
}

Status CheckStamps(const ChunkStamps& stamps) {
  INTERLUDE_RETURN_IF_ERROR(CheckPhase("chunk stamps", stamps));
  const auto refuse = [&](std::string_view why) {
    return InvalidArgumentError("chunk stamps of {} in round {} from worker {}: {}",
                                PhaseName(stamps.phase), stamps.round, stamps.recorded_by, why);
  };
  if (stamps.stamps.size() > kMaxStamps)
    return refuse(fmt::format("{} of them, {} are the most", stamps.stamps.size(), kMaxStamps));
  for (const ChunkStamp& stamp : stamps.stamps) {
    if (stamp.begin_ns >= 0 && stamp.end_ns >= stamp.begin_ns) continue;
    return refuse(
        fmt::format("chunk {} from {} to {} ns", stamp.chunk, stamp.begin_ns, stamp.end_ns));
  }
  return OkStatus();
}

}  // namespace

int64_t UnitOf(const SampleField& field) {
  const bool kibibytes = field.value == &ProcessSample::rss_bytes ||
                         field.value == &ProcessSample::anonymous_bytes ||
                         field.value == &ProcessSample::peak_rss_bytes;
  if (kibibytes) return 1024;
  return field.name.ends_with("_ns") ? kSampleTimeUnit : 1;
}

Status CheckAccount(const Account& account) {
  for (const Span& span : account.spans) INTERLUDE_RETURN_IF_ERROR(CheckPhase("span", span));
  for (const ChunkStamps& stamps : account.stamps) INTERLUDE_RETURN_IF_ERROR(CheckStamps(stamps));
  return OkStatus();
}

void InsertAccount(SQLite::Database& database, const Account& account) {
  InsertAll(database, account.spans, "spans", 13, BindSpan);
  InsertAll(database, account.stamps, "chunk_stamps", 5, BindStamps);
  InsertAll(database, account.samples, "sample_rows", 2 + kSampleFields.size(), BindSample);
  InsertAll(database, account.memory, "memory", 4, BindMemory);
  InsertProbes(database, account.probes);
}

}  // namespace interlude::internal
