// Spans of a round -> phases of a round -> phases of a typical round.
#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/analyze_run.h"
#include "ledger/span_math.h"

namespace interlude {
namespace {

/// One process's part in one phase.
struct Part {
  double inside = 0, busy = 0, cpu = 0, delay = 0;
};

PhaseSummary SummarizeParts(Phase phase, const std::vector<Part>& parts) {
  const auto spread = [&](double Part::*figure) {
    std::vector<double> values;
    values.reserve(parts.size());
    for (const Part& part : parts) values.push_back(part.*figure);
    return SpreadOf(std::move(values));
  };
  PhaseSummary summary;
  summary.phase = phase;
  summary.inside_seconds = spread(&Part::inside);
  summary.busy_seconds = spread(&Part::busy);
  summary.cpu_seconds = spread(&Part::cpu);
  summary.run_delay_seconds = spread(&Part::delay);
  return summary;
}

/// The possible ones, by phase and process; those of one process in their order.
std::vector<const Span*> ByPhaseAndProcess(std::span<const Span> spans) {
  std::vector<const Span*> sorted;
  sorted.reserve(spans.size());
  for (const Span& span : spans) {
    if (IsPossible(span)) sorted.push_back(&span);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Span* a, const Span* b) {
    return std::tie(a->phase, a->recorded_by, a->about_worker) <
           std::tie(b->phase, b->recorded_by, b->about_worker);
  });
  return sorted;
}

struct BeforePhase {
  bool operator()(const Span* span, Phase phase) const { return span->phase < phase; }
  bool operator()(Phase phase, const Span* span) const { return phase < span->phase; }
};

PhaseSummary SummarizePhase(std::span<const Span* const> spans) {
  std::vector<Part> parts;
  const Span* before = nullptr;
  double bytes = 0, failed = 0;
  for (const Span* span : spans) {
    const bool same = before != nullptr && before->recorded_by == span->recorded_by &&
                      before->about_worker == span->about_worker;
    Part& part = same ? parts.back() : parts.emplace_back();
    part.inside += InsideSeconds(*span);
    part.busy += Seconds(span->busy_ns);
    part.cpu += Seconds(span->cpu_ns);
    part.delay += Seconds(span->run_delay_ns);
    bytes += static_cast<double>(span->bytes);
    failed += span->ok ? 0 : 1;
    before = span;
  }
  PhaseSummary summary = SummarizeParts(spans.front()->phase, parts);
  summary.bytes = bytes;
  summary.failed = failed;
  return summary;
}

/// The median over rounds of what `get` finds in each.
template <typename Get>
double MedianOver(const std::vector<const PhaseSummary*>& rounds, Get get) {
  std::vector<double> values;
  for (const PhaseSummary* round : rounds) values.push_back(get(*round));
  return MedianOf(std::move(values));
}

Spread MedianSpread(const std::vector<const PhaseSummary*>& rounds, Spread PhaseSummary::*field) {
  Spread spread;
  spread.min = MedianOver(rounds, [&](const PhaseSummary& p) { return (p.*field).min; });
  spread.median = MedianOver(rounds, [&](const PhaseSummary& p) { return (p.*field).median; });
  spread.max = MedianOver(rounds, [&](const PhaseSummary& p) { return (p.*field).max; });
  spread.count = static_cast<size_t>(MedianOver(
      rounds, [&](const PhaseSummary& p) { return static_cast<double>((p.*field).count); }));
  return spread;
}

std::vector<const PhaseSummary*> Find(const std::vector<RoundSummary>& rounds, size_t first,
                                      Phase phase) {
  std::vector<const PhaseSummary*> found;
  for (size_t i = first; i < rounds.size(); ++i) {
    for (const PhaseSummary& summary : rounds[i].phases) {
      if (summary.phase == phase) found.push_back(&summary);
    }
  }
  return found;
}

template <typename Get>
double MedianOverRounds(const std::vector<RoundSummary>& rounds, size_t first, Get get) {
  std::vector<double> values;
  for (size_t i = first; i < rounds.size(); ++i) {
    if (const std::optional<double> value = get(rounds[i])) values.push_back(*value);
  }
  return MedianOf(std::move(values));
}

std::optional<RoundStages> TypicalStages(const std::vector<RoundSummary>& rounds, size_t first) {
  bool any = false;
  for (size_t i = first; i < rounds.size(); ++i) any = any || rounds[i].stages.has_value();
  if (!any) return std::nullopt;
  const auto median = [&](double RoundStages::*field) {
    return MedianOverRounds(rounds, first, [&](const RoundSummary& round) -> std::optional<double> {
      if (!round.stages) return std::nullopt;
      return (*round.stages).*field;
    });
  };
  return RoundStages{median(&RoundStages::until_first_delta_seconds),
                     median(&RoundStages::deltas_arriving_seconds),
                     median(&RoundStages::until_committed_seconds),
                     median(&RoundStages::until_verified_seconds)};
}

Spread TypicalExchange(const std::vector<RoundSummary>& rounds, size_t first) {
  std::vector<double> min, median, max, count;
  for (size_t i = first; i < rounds.size(); ++i) {
    const Spread& exchange = rounds[i].exchange_of_workers;
    if (exchange.count == 0) continue;
    min.push_back(exchange.min);
    median.push_back(exchange.median);
    max.push_back(exchange.max);
    count.push_back(static_cast<double>(exchange.count));
  }
  return {MedianOf(std::move(min)), MedianOf(std::move(median)), MedianOf(std::move(max)),
          static_cast<size_t>(MedianOf(std::move(count)))};
}

}  // namespace

std::vector<PhaseSummary> SummarizePhases(std::span<const Span> spans) {
  const std::vector<const Span*> sorted = ByPhaseAndProcess(spans);
  std::vector<PhaseSummary> phases;
  for (const Phase phase : kAllPhases) {
    const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), phase, BeforePhase());
    if (begin != end) phases.push_back(SummarizePhase({begin, end}));
  }
  return phases;
}

TypicalRound SummarizeTypicalRound(const std::vector<RoundSummary>& rounds) {
  const size_t first = rounds.size() > 1 ? 1 : 0;
  const auto median = [&](auto get) { return MedianOverRounds(rounds, first, get); };
  TypicalRound typical;
  typical.rounds = static_cast<uint32_t>(rounds.size() - first);
  typical.wall_seconds =
      median([](const RoundSummary& r) { return std::optional(r.wall_seconds); });
  typical.slowest_train_seconds =
      median([](const RoundSummary& r) { return r.slowest_train_seconds; });
  typical.exchange_of_workers = TypicalExchange(rounds, first);
  typical.slowest_train_share =
      median([](const RoundSummary& r) { return std::optional(r.train_share.max); });
  typical.upload_bytes =
      median([](const RoundSummary& r) { return std::optional(r.upload_bytes.median); });
  typical.download_bytes =
      median([](const RoundSummary& r) { return std::optional(r.download_bytes.median); });
  typical.stages = TypicalStages(rounds, first);
  for (const Phase phase : kAllPhases) {
    std::vector<const PhaseSummary*> found = Find(rounds, first, phase);
    if (found.empty())
      found = Find(rounds, 0, phase);  // what joiners repair comes in the first round, as a rule
    if (found.empty()) continue;
    PhaseSummary summary;
    summary.phase = phase;
    summary.inside_seconds = MedianSpread(found, &PhaseSummary::inside_seconds);
    summary.busy_seconds = MedianSpread(found, &PhaseSummary::busy_seconds);
    summary.cpu_seconds = MedianSpread(found, &PhaseSummary::cpu_seconds);
    summary.run_delay_seconds = MedianSpread(found, &PhaseSummary::run_delay_seconds);
    summary.bytes = MedianOver(found, [](const PhaseSummary& p) { return p.bytes; });
    summary.failed = MedianOver(found, [](const PhaseSummary& p) { return p.failed; });
    typical.phases.push_back(summary);
  }
  return typical;
}

}  // namespace interlude
