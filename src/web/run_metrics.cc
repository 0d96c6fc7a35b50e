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
void WriteByWorker(OpenMetricsText& out, const std::map<int32_t, Value>& values) {
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

void WritePath(const std::map<std::string, double>& seconds, OpenMetricsText& out) {
  if (seconds.empty()) return;
  out.Family("interlude_last_round_critical_path_seconds", Type::kGauge, kSeconds,
             "What the newest finished round waited for; sums to its wall time.");
  for (const auto& [what, value] : seconds) out.Sample({{"what", what}}, value);
}

}  // namespace

Status RunMetrics::Read(const RunDatabase& database) {
  INTERLUDE_ASSIGN_OR_RETURN(auto meta, database.Meta());
  INTERLUDE_ASSIGN_OR_RETURN(const auto workers, database.Workers());
  INTERLUDE_ASSIGN_OR_RETURN(const auto evaluations, database.Evaluations());
  RunMark mark = mark_;
  INTERLUDE_ASSIGN_OR_RETURN(RunNews news, database.News(mark));
  const uint32_t newest = mark.round;
  std::vector<Span> newest_spans;
  if (newest != kBeforeRounds) {
    INTERLUDE_ASSIGN_OR_RETURN(newest_spans, database.SpansOf({newest, newest}));
  }

  mark_ = mark;
  records_read_ += news.size();
  meta_ = std::move(meta);
  workers_present_ = 0;
  for (const WorkerRecord& worker : workers) workers_present_ += worker.left_ns ? 0 : 1;
  if (!evaluations.empty()) evaluation_ = evaluations.back();
  rounds_ += news.rounds.size();
  for (const RoundRecord& round : news.rounds)
    wall_seconds_ += SecondsBetween(round.begin_ns, round.end_ns);
  if (!news.rounds.empty()) newest_ = news.rounds.back();
  AddParts(news.parts);
  AddSpans(news.spans, phase_seconds_);
  newest_phase_seconds_.clear();
  AddSpans(newest_spans, newest_phase_seconds_);
  for (const ProcessSample& sample : news.samples) {  // those of one process in order of time
    if (sample.rss_bytes != kUnknownFigure) resident_bytes_[sample.recorded_by] = sample.rss_bytes;
  }
  if (!news.rounds.empty()) KeepNewest(std::move(news.samples), newest_spans);
  AddEvents(std::move(news.events));
  return OkStatus();
}

/// Those of a process that end after the newest round began for it; both on its own clock.
void RunMetrics::KeepNewest(std::vector<ProcessSample> samples,
                            const std::vector<Span>& newest_spans) {
  std::map<int32_t, int64_t> begins;
  for (const Span& span : newest_spans) {
    int64_t& begin_ns = begins.try_emplace(span.recorded_by, span.begin_ns).first->second;
    begin_ns = std::min(begin_ns, span.begin_ns);
  }
  std::erase_if(samples, [&](const ProcessSample& sample) {
    const auto begin = begins.find(sample.recorded_by);
    return begin == begins.end() || sample.at_ns <= begin->second;
  });
  newest_samples_ = std::move(samples);
}

void RunMetrics::AddSpans(const std::vector<Span>& spans, PhaseSeconds& seconds) {
  for (const Span& span : spans) {
    if (!IsPossible(span)) continue;
    const int32_t whose = IsWorkerPhase(span.phase) ? span.recorded_by : span.about_worker;
    seconds[{LabelOrder(whose), span.phase}] += InsideSeconds(span);
  }
}

void RunMetrics::AddParts(const std::vector<WorkerRoundRecord>& parts) {
  for (const WorkerRoundRecord& part : parts) {
    const int32_t worker = LabelOrder(part.worker);
    samples_[worker] += part.samples;
    upload_bytes_[worker] += part.upload_bytes;
    download_bytes_[worker] += part.download_bytes;
    repaired_chunks_[worker] += part.repaired_chunks;
  }
}

void RunMetrics::AddEvents(std::vector<EventRecord> events) {
  for (EventRecord& event : events) {
    ++event_kinds_[event.kind];
    newest_events_.push_back(std::move(event));
  }
  if (!newest_) return;
  std::erase_if(newest_events_,
                [&](const EventRecord& event) { return event.at_ns < newest_->begin_ns; });
}

void RunMetrics::WriteRounds(OpenMetricsText& out) const {
  out.Family("interlude_rounds", Type::kCounter, "", "Finished rounds.");
  out.Sample({}, rounds_);
  out.Family("interlude_rounds_wall_seconds", Type::kCounter, kSeconds,
             "Wall time of the finished rounds together.");
  out.Sample({}, wall_seconds_);
  if (!newest_) return;
  out.Family("interlude_last_round_wall_seconds", Type::kGauge, kSeconds,
             "Wall time of the newest finished round.");
  out.Sample({}, SecondsBetween(newest_->begin_ns, newest_->end_ns));
  out.Family("interlude_last_round_workers", Type::kGauge, "",
             "Workers whose delta is in the newest finished round.");
  out.Sample({}, newest_->workers);
  out.Family("interlude_loss", Type::kGauge, "",
             "Mean training loss of the newest finished round, over samples.");
  out.Sample({}, newest_->mean_loss);
}

void RunMetrics::WriteEvaluation(OpenMetricsText& out) const {
  if (!evaluation_ || evaluation_->samples == 0) return;
  out.Family("interlude_accuracy_ratio", Type::kGauge, "ratio",
             "Share of the test set that the newest evaluation got right.");
  out.Sample({}, evaluation_->accuracy());
  out.Family("interlude_evaluated_after_rounds", Type::kGauge, "",
             "Rounds finished when the newest evaluation was made.");
  out.Sample({}, evaluation_->after_rounds);
}

void RunMetrics::WriteParts(OpenMetricsText& out) const {
  out.Family("interlude_samples", Type::kCounter, "", "Samples trained on.");
  WriteByWorker(out, samples_);
  out.Family("interlude_upload_bytes", Type::kCounter, kBytes, "Payload of deltas.");
  WriteByWorker(out, upload_bytes_);
  out.Family("interlude_download_bytes", Type::kCounter, kBytes, "Payload of sync deltas.");
  WriteByWorker(out, download_bytes_);
  out.Family("interlude_repaired_chunks", Type::kCounter, "",
             "Chunks fetched again because their hash was another one.");
  WriteByWorker(out, repaired_chunks_);
}

void RunMetrics::WritePhases(OpenMetricsText& out) const {
  const auto write = [&](const PhaseSeconds& seconds) {
    for (const auto& [key, value] : seconds) {
      out.Sample({{"worker", WorkerLabel(key.first)}, {"phase", PhaseName(key.second)}}, value);
    }
  };
  out.Family("interlude_phase_seconds", Type::kCounter, kSeconds,
             "Time from a phase's begin to its end, over all rounds. Phases overlap: they do not "
             "add up.");
  write(phase_seconds_);
  out.Family("interlude_last_round_phase_seconds", Type::kGauge, kSeconds,
             "The same in the newest finished round.");
  write(newest_phase_seconds_);
}

void RunMetrics::WriteMemory(OpenMetricsText& out) const {
  if (resident_bytes_.empty()) return;
  ByWorker<int64_t> bytes;
  for (const auto& [process, rss] : resident_bytes_) bytes[LabelOrder(process)] += rss;
  out.Family("interlude_resident_memory_bytes", Type::kGauge, kBytes,
             "Resident memory of each process as it last reported it.");
  WriteByWorker(out, bytes);
}

std::string RunMetrics::Format(const std::map<std::string, double>& path_seconds) const {
  OpenMetricsText out;
  WriteRun(meta_, out);
  WriteRounds(out);
  WriteEvaluation(out);
  out.Family("interlude_workers", Type::kGauge, "", "Workers that have joined and not left.");
  out.Sample({}, workers_present_);
  WriteParts(out);
  WritePhases(out);
  WritePath(path_seconds, out);
  WriteMemory(out);
  out.Family("interlude_events", Type::kCounter, "", "Events by kind.");
  for (const auto& [kind, count] : event_kinds_) out.Sample({{"kind", kind}}, count);
  return std::move(out).Finish();
}

}  // namespace interlude
