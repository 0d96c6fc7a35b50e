// Reading what accounts are kept in: each function is one SELECT, checked value by value.
#include <algorithm>

#include "ledger/account_tables.h"
#include "ledger/probe_bytes.h"
#include "ledger/sqlite_border.h"
#include "ledger/sqlite_run_database.h"

namespace interlude::internal {
namespace {

Phase ReadPhase(const Row& row, int column) {
  const std::optional<Phase> phase = PhaseFromName(row.View(column));
  if (!phase) row.Refuse(column, fmt::format("'{}'", row.View(column)));
  return *phase;
}

Span ReadSpan(const Row& row) {
  Span span;
  span.round = row.Fitting<uint32_t>(0);
  span.phase = ReadPhase(row, 1);
  span.recorded_by = row.Fitting<int32_t>(2);
  span.about_worker = row.Fitting<int32_t>(3);
  span.begin_ns = row.Integer(4);
  span.end_ns = row.Integer(5);
  span.busy_ns = row.Integer(6);
  span.cpu_ns = row.Integer(7);
  span.run_delay_ns = row.Integer(8);
  span.blocked_ns = row.Integer(9);
  span.bytes = row.Fitting<uint64_t>(10);
  span.chunks = row.Fitting<uint32_t>(11);
  span.ok = row.Integer(12) != 0;
  return span;
}

template <StampsOrder order>
void ReadStamps(const Row& row, ChunkStamps& stamps) {
  stamps.round = row.Fitting<uint32_t>(0);
  stamps.phase = ReadPhase(row, 1);
  stamps.recorded_by = row.Fitting<int32_t>(2);
  stamps.about_worker = row.Fitting<int32_t>(3);
  const Status decoded = DecodeStampsInto(row.View(4), order, stamps.stamps);
  if (!decoded.ok()) row.Refuse(4, fmt::format("({})", decoded.message()));
}

/// `unit` times the value of `column`.
int64_t InUnits(const Row& row, int column, int64_t unit) {
  int64_t value = 0;
  if (__builtin_mul_overflow(row.Integer(column), unit, &value))
    row.Refuse(column, std::to_string(row.Integer(column)));
  return value;
}

ProcessSample ReadSample(const Row& row) {
  ProcessSample sample;
  sample.recorded_by = row.Fitting<int32_t>(0);
  sample.at_ns = InUnits(row, 1, kSampleTimeUnit);
  int column = 2;
  for (const SampleField& field : kSampleFields) {
    sample.*field.value = row.IsNull(column) ? kUnknownFigure : InUnits(row, column, UnitOf(field));
    ++column;
  }
  return sample;
}

/// Schema version 3 has a column for each value as it is.
ProcessSample ReadSampleOf3(const Row& row) {
  ProcessSample sample;
  sample.recorded_by = row.Fitting<int32_t>(0);
  sample.at_ns = row.Integer(1);
  int column = 2;
  for (const SampleField& field : kSampleFields) {
    sample.*field.value = row.IsNull(column) ? kUnknownFigure : row.Integer(column);
    ++column;
  }
  return sample;
}

MemoryRecord ReadMemory(const Row& row) {
  MemoryRecord memory;
  memory.recorded_by = row.Fitting<int32_t>(0);
  memory.at_ns = row.Integer(1);
  memory.owner = row.Text(2);
  memory.bytes = row.Integer(3);
  return memory;
}

ClockProbe ReadProbeOf3(const Row& row) {
  ClockProbe probe;
  probe.worker = row.Fitting<int32_t>(0);
  probe.sent_ns = row.Integer(1);
  probe.received_ns = row.Integer(2);
  probe.replied_ns = row.Integer(3);
  probe.returned_ns = row.Integer(4);
  probe.run_delay_ns = row.Integer(5);
  return probe;
}

std::string SampleColumnsOf3() {
  std::string columns = "recorded_by, at_ns";
  for (const SampleField& field : kSampleFields) columns += fmt::format(", {}", field.name);
  return columns;
}

std::string SampleColumns() {
  std::string columns = "recorded_by, at_us";
  for (const SampleField& field : kSampleFields) {
    const std::string_view name = field.name;
    const int64_t unit = UnitOf(field);
    columns += ", ";
    columns += unit == 1 ? name : name.substr(0, name.rfind('_') + 1);
    if (unit != 1) columns += unit == kSampleTimeUnit ? "us" : "kib";
  }
  return columns;
}

std::string WhereOf(RoundRange rounds) {
  return fmt::format("WHERE round BETWEEN {} AND {} ORDER BY round, id", rounds.first, rounds.last);
}

}  // namespace

StatusOr<std::vector<Span>> SqliteRunDatabase::SelectSpans(const std::string& which,
                                                           size_t expected) const {
  return AtBorder(Context("reading spans"), [&]() -> StatusOr<std::vector<Span>> {
    return Select<Span>(
        database_,
        fmt::format(
            "SELECT round, phase, recorded_by, about_worker, begin_ns, end_ns, busy_ns, cpu_ns, "
            "run_delay_ns, {}, bytes, chunks, ok FROM spans {}",
            version_ < 3 ? "0" : "blocked_ns", which),
        ReadSpan, expected);
  });
}

StatusOr<size_t> SqliteRunDatabase::ExpectedRows(const std::string& table) const {
  constexpr int64_t kMost = 1 << 22;  // a file may name any id
  INTERLUDE_ASSIGN_OR_RETURN(const int64_t last, LastId(table));
  return static_cast<size_t>(std::clamp<int64_t>(last, 0, kMost));
}

StatusOr<std::vector<Span>> SqliteRunDatabase::Spans() const {
  INTERLUDE_ASSIGN_OR_RETURN(const size_t expected, ExpectedRows("spans"));
  return SelectSpans("ORDER BY id", expected);
}

StatusOr<std::vector<Span>> SqliteRunDatabase::SpansOf(RoundRange rounds) const {
  return SelectSpans(WhereOf(rounds));
}

StatusOr<std::vector<ChunkStamps>> SqliteRunDatabase::SelectStamps(
    const std::string& which, std::vector<ChunkStamps> spent) const {
  using Records = std::vector<ChunkStamps>;
  if (version_ < 3) return Records();
  return AtBorder(Context("reading chunk_stamps"), [&]() -> StatusOr<Records> {
    const auto read =
        version_ == 3 ? ReadStamps<StampsOrder::kByEnd> : ReadStamps<StampsOrder::kByBegin>;
    size_t count = 0;
    ForEachRow(database_,
               "SELECT round, phase, recorded_by, about_worker, stamps FROM chunk_stamps " + which,
               [&](const Row& row) {
                 if (count == spent.size()) spent.emplace_back();
                 read(row, spent[count++]);
               });
    spent.resize(count);
    return std::move(spent);
  });
}

StatusOr<std::vector<ChunkStamps>> SqliteRunDatabase::Stamps() const {
  return SelectStamps("ORDER BY id");
}

StatusOr<std::vector<ChunkStamps>> SqliteRunDatabase::StampsOf(
    RoundRange rounds, std::vector<ChunkStamps> spent) const {
  return SelectStamps(WhereOf(rounds), std::move(spent));
}

StatusOr<std::vector<ProcessSample>> SqliteRunDatabase::SelectSamples(const std::string& which,
                                                                      size_t expected) const {
  using Records = std::vector<ProcessSample>;
  if (version_ < 3) return Records();
  return AtBorder(Context("reading process_samples"), [&]() -> StatusOr<Records> {
    if (version_ == 3) {
      return Select<ProcessSample>(
          database_, fmt::format("SELECT {} FROM process_samples {}", SampleColumnsOf3(), which),
          ReadSampleOf3, expected);
    }
    return Select<ProcessSample>(
        database_, fmt::format("SELECT {} FROM sample_rows {}", SampleColumns(), which), ReadSample,
        expected);
  });
}

StatusOr<std::vector<ProcessSample>> SqliteRunDatabase::Samples() const {
  if (version_ < 3) return std::vector<ProcessSample>();
  INTERLUDE_ASSIGN_OR_RETURN(const size_t expected, ExpectedRows(SamplesTable()));
  return SelectSamples("ORDER BY id", expected);
}

StatusOr<std::vector<MemoryRecord>> SqliteRunDatabase::Memory() const {
  using Records = std::vector<MemoryRecord>;
  if (version_ < 3) return Records();
  INTERLUDE_ASSIGN_OR_RETURN(const size_t expected, ExpectedRows("memory"));
  return AtBorder(Context("reading memory"), [&]() -> StatusOr<Records> {
    return Select<MemoryRecord>(database_,
                                "SELECT recorded_by, at_ns, owner, bytes FROM memory ORDER BY id",
                                ReadMemory, expected);
  });
}

StatusOr<std::vector<ClockProbe>> SqliteRunDatabase::Probes() const {
  using Records = std::vector<ClockProbe>;
  if (version_ < 3) return Records();
  return AtBorder(Context("reading clock_probes"), [&]() -> StatusOr<Records> {
    if (version_ == 3) {
      return Select<ClockProbe>(database_,
                                "SELECT worker, sent_ns, received_ns, replied_ns, returned_ns, "
                                "run_delay_ns FROM clock_probes ORDER BY id",
                                ReadProbeOf3);
    }
    Records all;
    ForEachRow(database_, "SELECT worker, probes FROM clock_probes ORDER BY id",
               [&](const Row& row) {
                 const auto probes = DecodeProbes(row.Fitting<int32_t>(0), row.View(1));
                 if (!probes.ok()) row.Refuse(1, fmt::format("({})", probes.status().message()));
                 all.insert(all.end(), probes->begin(), probes->end());
               });
    return all;
  });
}

}  // namespace interlude::internal
