#include "bench/exchange_summary.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/spread.h"
#include "ledger/span_math.h"

namespace interlude {
namespace {

using Key = std::tuple<size_t, int32_t, int32_t>;  // place in kAllPhases, recorder, about

size_t PlaceOf(Phase phase) {
  return static_cast<size_t>(std::find(kAllPhases.begin(), kAllPhases.end(), phase) -
                             kAllPhases.begin());
}

std::vector<ProcessPhase> PhasesOf(const std::vector<Span>& spans) {
  std::map<Key, ProcessPhase> phases;
  for (const Span& span : spans) {
    if (!IsPossible(span)) continue;
    ProcessPhase& phase = phases[{PlaceOf(span.phase), span.recorded_by, span.about_worker}];
    phase.phase = span.phase;
    phase.recorded_by = span.recorded_by;
    phase.about_worker = span.about_worker;
    phase.inside_seconds += InsideSeconds(span);
    phase.busy_seconds += Seconds(span.busy_ns);
    phase.cpu_seconds += Seconds(span.cpu_ns);
    phase.run_delay_seconds += Seconds(span.run_delay_ns);
    phase.bytes += span.bytes;
  }
  std::vector<ProcessPhase> list;
  for (auto& [key, phase] : phases) list.push_back(phase);
  return list;
}

std::optional<double> MergeToSync(const std::vector<Span>& spans) {
  std::optional<int64_t> merged;
  std::optional<int64_t> sent;
  const auto earlier = [](std::optional<int64_t>& first, int64_t at) {
    first = first ? std::min(*first, at) : at;
  };
  for (const Span& span : spans) {
    if (span.recorded_by != kNoWorker || !IsPossible(span)) continue;
    if (span.phase == Phase::kMerge) earlier(merged, span.begin_ns);
    if (span.phase == Phase::kSend) earlier(sent, span.begin_ns);
  }
  if (!merged || !sent) return std::nullopt;
  return SecondsBetween(*merged, *sent);
}

std::optional<double> Extreme(const std::map<int32_t, double>& values, bool largest) {
  std::optional<double> found;
  for (const auto& [worker, value] : values) {
    if (!found || (largest ? value > *found : value < *found)) found = value;
  }
  return found;
}

// The phases of each stage.
const std::vector<std::pair<std::string, std::vector<Phase>>>& Stages() {
  static const std::vector<std::pair<std::string, std::vector<Phase>>> stages = {
      {"encode", {Phase::kEncode}},     {"upload", {Phase::kUpload}},
      {"receive", {Phase::kReceive}},   {"journal", {Phase::kJournal}},
      {"merge", {Phase::kMerge}},       {"save", {Phase::kSave}},
      {"send", {Phase::kSend}},         {"wait", {Phase::kWait}},
      {"download", {Phase::kDownload}}, {"apply", {Phase::kApply, Phase::kVerify}}};
  return stages;
}

}  // namespace

std::optional<double> ExchangeRound::longest_exchange() const {
  return Extreme(exchange_seconds, true);
}

std::optional<double> ExchangeRound::shortest_exchange() const {
  return Extreme(exchange_seconds, false);
}

std::vector<const ExchangeRound*> ExchangeSummary::warm() const {
  std::vector<const ExchangeRound*> list;
  for (size_t i = rounds.size() > 1 ? 1 : 0; i < rounds.size(); ++i) list.push_back(&rounds[i]);
  return list;
}

std::optional<double> ExchangeSummary::Typical(
    const std::function<std::optional<double>(const ExchangeRound&)>& get) const {
  std::vector<double> values;
  for (const ExchangeRound* round : warm()) {
    if (const auto value = get(*round)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return MedianOf(std::move(values));
}

StatusOr<ExchangeSummary> SummarizeExchange(const RunDatabase& database) {
  INTERLUDE_ASSIGN_OR_RETURN(const auto rounds, database.Rounds());
  INTERLUDE_ASSIGN_OR_RETURN(const auto parts, database.WorkerRounds());
  INTERLUDE_ASSIGN_OR_RETURN(const auto spans, database.Spans());
  if (rounds.empty()) return FailedPreconditionError("the run has no finished round");
  std::map<uint32_t, std::vector<Span>> spans_of;
  for (const Span& span : spans) spans_of[span.round].push_back(span);

  ExchangeSummary summary;
  for (const RoundRecord& record : rounds) {
    ExchangeRound round{.round = record.round,
                        .wall_seconds = SecondsBetween(record.begin_ns, record.end_ns),
                        .end_ns = record.end_ns};
    const std::vector<Span>& of_round = spans_of[record.round];
    round.exchange_seconds = ExchangeSecondsByWorker(of_round);
    round.merge_to_sync_seconds = MergeToSync(of_round);
    round.phases = PhasesOf(of_round);
    for (const WorkerRoundRecord& part : parts) {
      if (part.round != record.round) continue;
      round.upload_bytes[part.worker] = part.upload_bytes;
      round.download_bytes[part.worker] = part.download_bytes;
      round.repaired_chunks += part.repaired_chunks;
      summary.hashes_agree = summary.hashes_agree && part.root_hash == record.root_hash;
    }
    summary.final_root = record.root_hash;
    summary.rounds.push_back(std::move(round));
  }
  return summary;
}

std::optional<StageTime> StageOf(const ExchangeRound& round, const std::string& stage) {
  const auto found = std::find_if(Stages().begin(), Stages().end(),
                                  [&](const auto& known) { return known.first == stage; });
  if (found == Stages().end()) return std::nullopt;
  std::map<std::pair<int32_t, int32_t>, StageTime> processes;
  for (const ProcessPhase& phase : round.phases) {
    const auto& phases = found->second;
    if (std::find(phases.begin(), phases.end(), phase.phase) == phases.end()) continue;
    StageTime& time = processes[{phase.recorded_by, phase.about_worker}];
    time.inside_seconds = std::max(time.inside_seconds, phase.inside_seconds);
    time.busy_seconds += phase.busy_seconds;
    time.cpu_seconds += phase.cpu_seconds;
  }
  if (processes.empty()) return std::nullopt;
  StageTime longest;
  for (const auto& [process, time] : processes) {
    longest.inside_seconds = std::max(longest.inside_seconds, time.inside_seconds);
    longest.busy_seconds = std::max(longest.busy_seconds, time.busy_seconds);
    longest.cpu_seconds += time.cpu_seconds;
  }
  return longest;
}

const std::vector<std::string>& StageNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, phases] : Stages()) list.push_back(name);
    return list;
  }();
  return names;
}

}  // namespace interlude
