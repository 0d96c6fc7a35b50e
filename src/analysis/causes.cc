#include "analysis/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/cause_rules.h"
#include "base/human_text.h"

namespace interlude {
namespace {

using internal::Explanation;

struct KindText {
  std::string_view name;
  char letter;
};

constexpr std::array<KindText, kCauseKinds> kKinds = {{{"quota", 'Q'},
                                                       {"own_threads", 'T'},
                                                       {"neighbours", 'N'},
                                                       {"disk", 'D'},
                                                       {"bandwidth", 'B'},
                                                       {"latency_or_loss", 'L'},
                                                       {"memory", 'M'},
                                                       {"pictures", 'P'},
                                                       {"other_work", 'W'},
                                                       {"unknown", '?'}}};

/// A phase beside which a smaller excess of the same worker is no more than noise.
constexpr int64_t kSmallest = 10;

/// Of the excess; evidence of what explains less is left out.
constexpr double kLeastToldShare = 0.05;

/// A phase with an excess.
struct Slow {
  PhaseExcess excess;
  const PhaseFacts* own;
  const PhaseFacts* median;
};
using SlowByWorker = std::map<int32_t, std::vector<Slow>>;

void AddIfSlow(const PhaseFacts& own, const PhaseFacts& median, SlowByWorker& slow) {
  const PhaseExcess excess = {own.phase, own.split.busy_ns(), median.split.busy_ns(), median.worker,
                              median.round};
  std::vector<Slow>& of_worker = slow[own.worker];
  if (excess.excess_ns() > 0) of_worker.push_back({excess, &own, &median});
}

std::string Against(const PhaseExcess& excess, uint32_t round) {
  return excess.median_round == round
             ? fmt::format("worker {}, the median,", excess.median_worker)
             : fmt::format("its own median round, {},", excess.median_round);
}

std::string SplitSentence(const Slow& slow) {
  const SpanSplit &own = slow.own->split, &median = slow.median->split;
  return fmt::format(
      "{} took {}, on {} {}: on a CPU {} against {}, waiting for a CPU {} against {}, asleep {} "
      "against {}.",
      PhaseName(slow.excess.phase), HumanNs(slow.excess.taken_ns),
      Against(slow.excess, slow.own->round), HumanNs(slow.excess.median_ns), HumanNs(own.on_cpu_ns),
      HumanNs(median.on_cpu_ns), HumanNs(own.run_delay_ns), HumanNs(median.run_delay_ns),
      HumanNs(own.blocked_ns), HumanNs(median.blocked_ns));
}

void AddOnce(const std::vector<std::string>& sentences, std::vector<std::string>& to) {
  for (const std::string& sentence : sentences) {
    if (std::find(to.begin(), to.end(), sentence) == to.end()) to.push_back(sentence);
  }
}

size_t Largest(const Cause& cause) {
  size_t largest = static_cast<size_t>(CauseKind::kUnknown);
  for (size_t kind = 0; kind < kCauseKinds; ++kind) {
    if (cause.shares[kind].all_ns() > cause.shares[largest].all_ns()) largest = kind;
  }
  return largest;
}

void Conclude(const std::vector<Explanation>& parts, Cause& cause) {
  const size_t largest = Largest(cause);
  const CauseShare& share = cause.shares[largest];
  const auto excess = static_cast<double>(cause.excess_ns);
  const bool enough = static_cast<double>(share.all_ns()) >= kLeastShare * excess;
  cause.kind = enough ? static_cast<CauseKind>(largest) : CauseKind::kUnknown;
  cause.letter = CauseLetter(cause.kind);
  cause.explained_ns = enough ? share.all_ns() : 0;
  const bool observed = enough && static_cast<double>(share.measured_ns) >= kObservedShare * excess;
  cause.grade = observed ? Grade::kObserved : Grade::kHypothesis;
  for (size_t i = 0; i < kCauseKinds; ++i) {
    const size_t kind = i == 0 ? largest : i <= largest ? i - 1 : i;  // the largest first
    const bool small = static_cast<double>(cause.shares[kind].all_ns()) < kLeastToldShare * excess;
    for (const Explanation& part : parts) {
      if (!small) AddOnce(part.evidence[kind], cause.evidence);
      if (kind == largest && cause.reason.empty()) cause.reason = part.reason[kind];
    }
  }
  if (!observed) {
    for (const Explanation& part : parts) AddOnce(part.missing, cause.missing);
    if (cause.missing.empty()) {
      cause.missing.push_back(
          "The figures explain it in part only: a profile of the process in such a round would "
          "settle it.");
    }
  }
  if (!enough || cause.reason.empty()) cause.reason = "no recorded figure explains it";
}

/// The largest first, and without those that are no more than noise beside it.
void KeepLargest(std::vector<Slow>& slow) {
  std::stable_sort(slow.begin(), slow.end(), [](const Slow& a, const Slow& b) {
    return a.excess.excess_ns() > b.excess.excess_ns();
  });
  const int64_t largest = slow.empty() ? 0 : slow.front().excess.excess_ns();
  std::erase_if(slow,
                [&](const Slow& one) { return one.excess.excess_ns() < largest / kSmallest; });
}

/// `slow` has what KeepLargest keeps.
Cause MakeCause(const std::vector<Slow>& slow) {
  Cause cause;
  std::vector<Explanation> parts;
  for (const Slow& one : slow) {
    cause.phases.push_back(one.excess);
    cause.excess_ns += one.excess.excess_ns();
    cause.evidence.push_back(SplitSentence(one));
    parts.push_back(internal::Explain(*one.own, *one.median));
    for (size_t kind = 0; kind < kCauseKinds; ++kind) {
      cause.shares[kind].measured_ns += parts.back().shares[kind].measured_ns;
      cause.shares[kind].supposed_ns += parts.back().shares[kind].supposed_ns;
    }
  }
  Conclude(parts, cause);
  return cause;
}

int64_t Total(const std::vector<Slow>& slow) {
  return std::accumulate(slow.begin(), slow.end(), int64_t{0},
                         [](int64_t sum, const Slow& one) { return sum + one.excess.excess_ns(); });
}

/// Of a run's only worker, the round with the median time of each phase. The first is no measure.
std::map<Phase, PhaseFacts> MedianRounds(const FactsSource& source) {
  std::map<Phase, FactsByWorker> rounds;  // by the round's number in place of a worker's
  for (const uint32_t number : source.Rounds()) {
    if (number <= 1) continue;
    for (const auto& [phase, of_phase] : source.OfRound(number)) {
      for (const auto& [worker, own] : of_phase) rounds[phase][static_cast<int32_t>(number)] = own;
    }
  }
  std::map<Phase, PhaseFacts> medians;
  for (const auto& [phase, of_phase] : rounds) medians[phase] = *MedianWorker(of_phase);
  return medians;
}

}  // namespace

std::string_view CauseName(CauseKind kind) { return kKinds[static_cast<size_t>(kind)].name; }

char CauseLetter(CauseKind kind) { return kKinds[static_cast<size_t>(kind)].letter; }

std::string_view GradeName(Grade grade) {
  return grade == Grade::kObserved ? "observed" : "hypothesis";
}

std::vector<WorkerRoundCause> FindCauses(const CauseTables& tables, Excesses* excesses) {
  const FactsSource source(tables);
  std::map<uint32_t, RoundRecord> rounds;
  for (const RoundRecord& round : tables.rounds) rounds[round.round] = round;
  const std::map<Phase, PhaseFacts> itself =
      tables.workers.size() > 1 ? std::map<Phase, PhaseFacts>() : MedianRounds(source);
  std::vector<WorkerRoundCause> causes;
  for (const uint32_t number : source.Rounds()) {
    const auto round = rounds.find(number);
    if (round == rounds.end()) continue;
    const FactsByPhase facts = source.OfRound(number);
    SlowByWorker slow;
    for (const auto& [phase, of_phase] : facts) {
      const auto median = itself.find(phase);
      const PhaseFacts* against = of_phase.size() > 1 ? MedianWorker(of_phase) : nullptr;
      if (median != itself.end() && number > 1) against = &median->second;
      if (against == nullptr) continue;
      for (const auto& [worker, own] : of_phase) AddIfSlow(own, *against, slow);
    }
    for (auto& [worker, of_worker] : slow) {
      const bool worthwhile = IsWorthwhile(Total(of_worker), round->second);
      KeepLargest(of_worker);
      if (excesses != nullptr) (*excesses)[{number, worker}] = Total(of_worker);
      if (worthwhile) causes.push_back({number, worker, MakeCause(of_worker)});
    }
  }
  return causes;
}

Drags DragsFromExcess(const std::vector<WorkerRoundCause>& causes) {
  struct Top {
    int32_t worker = kNoWorker;
    int64_t first = 0, second = 0;
  };
  std::map<uint32_t, Top> rounds;
  for (const WorkerRoundCause& one : causes) {
    Top& top = rounds[one.round];
    if (one.cause.excess_ns > top.first) {
      top = {one.worker, one.cause.excess_ns, top.first};
    } else {
      top.second = std::max(top.second, one.cause.excess_ns);
    }
  }
  Drags drags;
  for (const auto& [round, top] : rounds) drags[{round, top.worker}] = top.first - top.second;
  return drags;
}

bool IsWorthwhile(int64_t ns, const RoundRecord& round) {
  const double wall = static_cast<double>(round.end_ns) - static_cast<double>(round.begin_ns);
  return ns >= kWorthwhileNs && static_cast<double>(ns) >= kWorthwhileShare * wall;
}

}  // namespace interlude
