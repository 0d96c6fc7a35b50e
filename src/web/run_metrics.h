// A run's figures as OpenMetrics, for Prometheus and its like. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ledger/run_database.h"
#include "web/open_metrics.h"

namespace interlude {

/// Workers with this id and above share the label "other", so that no run has more series than
/// somebody planned for.
inline constexpr int32_t kMostLabelledWorkers = 256;

/// What docs/live.md lists, of a run that goes on. What was read once is kept as sums, so that a
/// look costs what is new, however long the run is.
class RunMetrics {
 public:
  /// Takes in what was stored since the last call; always the same run's. Errors are the
  /// database's; then nothing was taken in.
  Status Read(const RunDatabase& database);

  /// `path_seconds`: the newest round's critical path by what it went through; empty where it is
  /// not known.
  std::string Format(const std::map<std::string, double>& path_seconds = {}) const;

  const std::optional<RoundRecord>& newest_round() const { return newest_; }
  /// Those since the newest round began, in order of storing.
  const std::vector<EventRecord>& newest_events() const { return newest_events_; }
  /// Those that were stored with the newest round and end within it, or later.
  const std::vector<ProcessSample>& newest_samples() const { return newest_samples_; }
  /// Of rounds, parts, spans, samples and events.
  size_t records_read() const { return records_read_; }

 private:
  /// By worker as its label has it (LabelOrder in the .cc file).
  template <typename Value>
  using ByWorker = std::map<int32_t, Value>;
  /// By whom and phase. Of a coordinator's phase that is done for each worker: that worker.
  using PhaseSeconds = std::map<std::pair<int32_t, Phase>, double>;

  void KeepNewest(std::vector<ProcessSample> samples, const std::vector<Span>& newest_spans);
  static void AddSpans(const std::vector<Span>& spans, PhaseSeconds& seconds);
  void AddParts(const std::vector<WorkerRoundRecord>& parts);
  void AddEvents(std::vector<EventRecord> events);
  void WriteRounds(OpenMetricsText& out) const;
  void WriteEvaluation(OpenMetricsText& out) const;
  void WriteParts(OpenMetricsText& out) const;
  void WritePhases(OpenMetricsText& out) const;
  void WriteMemory(OpenMetricsText& out) const;

  RunMark mark_;
  size_t records_read_ = 0;
  std::map<std::string, std::string> meta_;
  uint64_t rounds_ = 0;
  double wall_seconds_ = 0;  // of all rounds
  std::optional<RoundRecord> newest_;
  std::vector<EventRecord> newest_events_;
  std::vector<ProcessSample> newest_samples_;
  std::optional<EvaluationRecord> evaluation_;
  size_t workers_present_ = 0;
  ByWorker<uint64_t> samples_, upload_bytes_, download_bytes_, repaired_chunks_;
  PhaseSeconds phase_seconds_, newest_phase_seconds_;
  std::map<int32_t, int64_t> resident_bytes_;    // by process, as it last reported it
  std::map<std::string, uint64_t> event_kinds_;  // the coordinator's own words: a few
};

}  // namespace interlude
