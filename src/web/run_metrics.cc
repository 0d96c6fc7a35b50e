#include "web/run_metrics.h"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ledger/span_math.h"
#include "web/open_metrics.h"

namespace interlude {
namespace {

using Type = OpenMetricsText::Type;

constexpr char kSeconds[] = "seconds";
constexpr char kBytes[] = "bytes";

std::string WorkerLabel(int32_t worker) {
  if (worker < 0) return "coordinator";
  return worker < kMostLabelledWorkers ? std::to_string(worker) : "other";
}

/// Ids in order, which text is not; "other" and the coordinator by the numbers that stand for them.
int32_t LabelOrder(int32_t worker) {
  if (worker < 0) return kNoWorker;
  return worker < kMostLabelledWorkers ? worker : kMostLabelledWorkers;
}

template <typename Value>
using ByWorker = std::map<int32_t, Value>;  // keys: LabelOrder

template <typename Value>
void WriteByWorker(OpenMetricsText& out, const ByWorker<Value>& values) {
  for (const auto& [worker, value] : values) out.Sample({{"worker", WorkerLabel(worker)}}, value);
}

void WriteRun(const std::map<std::string, std::string>& meta, OpenMetricsText& out) {
  out.Family("interlude_run", Type::kInfo, "", "What is trained, and by which program.");
  std::vector<std::string> values;
  const std::vector<const char*> keys = {"run_id",      kMetaTitle, kMetaSoftware,
                                         kMetaExchange, kMetaCodec, kMetaStartedAt};
  OpenMetricsText::Labels labels;
  for (const char* key : keys) {
    const auto found = meta.find(key);
    labels.emplace_back(key, found == meta.end() ? "" : std::string_view(found->second));
  }
  out.Sample(labels, 1);
}

void WriteRounds(const std::vector<RoundRecord>& rounds, OpenMetricsText& out) {
  out.Family("interlude_rounds", Type::kCounter, "", "Finished rounds.");
  out.Sample({}, rounds.size());
  double wall = 0;
  for (const RoundRecord& round : rounds) wall += SecondsBetween(round.begin_ns, round.end_ns);
  out.Family("interlude_rounds_wall_seconds", Type::kCounter, kSeconds,
             "Wall time of the finished rounds together.");
  out.Sample({}, wall);
  if (rounds.empty()) return;
  const RoundRecord& last = rounds.back();
  out.Family("interlude_last_round_wall_seconds", Type::kGauge, kSeconds,
             "Wall time of the newest finished round.");
  out.Sample({}, SecondsBetween(last.begin_ns, last.end_ns));
  out.Family("interlude_last_round_workers", Type::kGauge, "",
             "Workers whose delta is in the newest finished round.");
  out.Sample({}, last.workers);
  out.Family("interlude_loss", Type::kGauge, "",
             "Mean training loss of the newest finished round, over samples.");
  out.Sample({}, last.mean_loss);
}

void WriteEvaluation(const std::vector<EvaluationRecord>& evaluations, OpenMetricsText& out) {
  if (evaluations.empty() || evaluations.back().samples == 0) return;
  const EvaluationRecord& last = evaluations.back();
  out.Family("interlude_accuracy_ratio", Type::kGauge, "ratio",
             "Share of the test set that the newest evaluation got right.");
  out.Sample({}, static_cast<double>(last.correct) / static_cast<double>(last.samples));
  out.Family("interlude_evaluated_after_rounds", Type::kGauge, "",
             "Rounds finished when the newest evaluation was made.");
  out.Sample({}, last.after_rounds);
}

void WriteParts(const std::vector<WorkerRoundRecord>& parts, OpenMetricsText& out) {
  ByWorker<uint64_t> samples, up, down, repaired;
  for (const WorkerRoundRecord& part : parts) {
    const int32_t worker = LabelOrder(part.worker);
    samples[worker] += part.samples;
    up[worker] += part.upload_bytes;
    down[worker] += part.download_bytes;
    repaired[worker] += part.repaired_chunks;
  }
  out.Family("interlude_samples", Type::kCounter, "", "Samples trained on.");
  WriteByWorker(out, samples);
  out.Family("interlude_upload_bytes", Type::kCounter, kBytes, "Payload of deltas.");
  WriteByWorker(out, up);
  out.Family("interlude_download_bytes", Type::kCounter, kBytes, "Payload of sync deltas.");
  WriteByWorker(out, down);
  out.Family("interlude_repaired_chunks", Type::kCounter, "",
             "Chunks fetched again because their hash was another one.");
  WriteByWorker(out, repaired);
}

/// Seconds by whom and phase. Of a coordinator's phase that is done for each worker: that worker.
using PhaseSeconds = std::map<std::pair<int32_t, Phase>, double>;

void WritePhaseSeconds(const PhaseSeconds& seconds, OpenMetricsText& out) {
  for (const auto& [key, value] : seconds) {
    out.Sample({{"worker", WorkerLabel(key.first)}, {"phase", PhaseName(key.second)}}, value);
  }
}

void WritePhases(const std::vector<Span>& spans, uint32_t last_round, OpenMetricsText& out) {
  PhaseSeconds total, last;
  for (const Span& span : spans) {
    if (!IsPossible(span)) continue;
    const int32_t whose = IsWorkerPhase(span.phase) ? span.recorded_by : span.about_worker;
    const std::pair key(LabelOrder(whose), span.phase);
    total[key] += InsideSeconds(span);
    if (span.round == last_round && last_round != kBeforeRounds) last[key] += InsideSeconds(span);
  }
  out.Family("interlude_phase_seconds", Type::kCounter, kSeconds,
             "Time from a phase's begin to its end, over all rounds. Phases overlap: they do not "
             "add up.");
  WritePhaseSeconds(total, out);
  out.Family("interlude_last_round_phase_seconds", Type::kGauge, kSeconds,
             "The same in the newest finished round.");
  WritePhaseSeconds(last, out);
}

void WritePresent(const std::vector<WorkerRecord>& workers, OpenMetricsText& out) {
  size_t present = 0;
  for (const WorkerRecord& worker : workers) present += worker.left_ns ? 0 : 1;
  out.Family("interlude_workers", Type::kGauge, "", "Workers that have joined and not left.");
  out.Sample({}, present);
}

void WriteMemory(const std::vector<ProcessSample>& samples, OpenMetricsText& out) {
  std::map<int32_t, int64_t> newest;  // by process; samples of one are in order of time
  for (const ProcessSample& sample : samples)
    if (sample.rss_bytes != kUnknownFigure) newest[sample.recorded_by] = sample.rss_bytes;
  if (newest.empty()) return;
  ByWorker<int64_t> bytes;
  for (const auto& [process, rss] : newest) bytes[LabelOrder(process)] += rss;
  out.Family("interlude_resident_memory_bytes", Type::kGauge, kBytes,
             "Resident memory of each process as it last reported it.");
  WriteByWorker(out, bytes);
}

void WriteEvents(const std::vector<EventRecord>& events, OpenMetricsText& out) {
  std::map<std::string, uint64_t> kinds;  // the coordinator's own words: a few
  for (const EventRecord& event : events) ++kinds[event.kind];
  out.Family("interlude_events", Type::kCounter, "", "Events by kind.");
  for (const auto& [kind, count] : kinds) out.Sample({{"kind", kind}}, count);
}

void WritePath(const std::map<std::string, double>& seconds, OpenMetricsText& out) {
  if (seconds.empty()) return;
  out.Family("interlude_last_round_critical_path_seconds", Type::kGauge, kSeconds,
             "What the newest finished round waited for; sums to its wall time.");
  for (const auto& [what, value] : seconds) out.Sample({{"what", what}}, value);
}

}  // namespace

StatusOr<std::string> FormatRunMetrics(const RunDatabase& database,
                                       const std::map<std::string, double>& path_seconds) {
  INTERLUDE_ASSIGN_OR_RETURN(const auto meta, database.Meta());
  INTERLUDE_ASSIGN_OR_RETURN(const auto rounds, database.Rounds());
  INTERLUDE_ASSIGN_OR_RETURN(const auto workers, database.Workers());
  INTERLUDE_ASSIGN_OR_RETURN(const auto parts, database.WorkerRounds());
  INTERLUDE_ASSIGN_OR_RETURN(const auto spans, database.Spans());
  INTERLUDE_ASSIGN_OR_RETURN(const auto samples, database.Samples());
  INTERLUDE_ASSIGN_OR_RETURN(const auto evaluations, database.Evaluations());
  INTERLUDE_ASSIGN_OR_RETURN(const auto events, database.Events());
  OpenMetricsText out;
  WriteRun(meta, out);
  WriteRounds(rounds, out);
  WriteEvaluation(evaluations, out);
  WritePresent(workers, out);
  WriteParts(parts, out);
  WritePhases(spans, rounds.empty() ? kBeforeRounds : rounds.back().round, out);
  WritePath(path_seconds, out);
  WriteMemory(samples, out);
  WriteEvents(events, out);
  return std::move(out).Finish();
}

}  // namespace interlude
