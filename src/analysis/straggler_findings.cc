// Workers that hold rounds up, over the rounds: who, in which phase, why.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/finding_rules.h"
#include "analysis/wide.h"
#include "base/human_text.h"

namespace interlude::internal {
namespace {

/// Of the measured rounds' wall time; less is not worth a sentence.
constexpr double kLeastSaving = 0.01;

struct Group {
  std::vector<const WorkerRoundCause*> members;
  std::set<int32_t> workers;
  std::set<uint32_t> rounds;
  int64_t saving_ns = 0;

  /// One a round, and most of them another than the worker that is in it most often: nobody is the
  /// slow one.
  bool Rotates() const {
    if (workers.size() < 2 || members.size() > rounds.size()) return false;
    std::map<int32_t, size_t> times;
    size_t most = 0;
    for (const WorkerRoundCause* one : members) most = std::max(most, ++times[one->worker]);
    return 3 * most <= 2 * members.size();
  }
};

Phase MainPhase(const Cause& cause) { return cause.phases.front().phase; }

using Key = std::pair<CauseKind, Phase>;
using OfRound = std::map<uint32_t, std::vector<const WorkerRoundCause*>>;

/// What the round would be shorter without the excess of these: by the critical path where it is
/// one worker's; otherwise by the excess, down to the next slow worker's that is not among them.
int64_t SavingOf(const std::vector<const WorkerRoundCause*>& members,
                 const std::vector<const WorkerRoundCause*>& all, const FindingContext& context) {
  int64_t drag = 0, largest = 0, next = 0;
  for (const WorkerRoundCause* one : all) {
    const bool inside = std::find(members.begin(), members.end(), one) != members.end();
    int64_t& of = inside ? largest : next;
    of = std::max(of, one->cause.excess_ns);
    const auto found = context.drags.find({one->round, one->worker});
    if (inside && found != context.drags.end()) drag = std::max(drag, found->second);
  }
  return members.size() == 1 ? drag : std::max(drag, largest - next);
}

std::map<Key, Group> GroupCauses(const FindingContext& context) {
  OfRound by_round;
  for (const WorkerRoundCause& one : context.causes) {
    if (context.measured.contains(one.round) && !one.cause.phases.empty())
      by_round[one.round].push_back(&one);
  }
  std::map<Key, Group> groups;
  for (const auto& [number, all] : by_round) {
    std::map<Key, std::vector<const WorkerRoundCause*>> parts;
    for (const WorkerRoundCause* one : all)
      parts[{one->cause.kind, MainPhase(one->cause)}].push_back(one);
    const RoundRecord& round = *context.measured.at(number);
    for (const auto& [key, members] : parts) {
      const int64_t saving =
          std::min(SavingOf(members, all, context), round.end_ns - round.begin_ns);
      if (!IsWorthwhile(saving, round)) continue;
      Group& group = groups[key];
      AddTo(group.saving_ns, saving);
      group.rounds.insert(number);
      group.members.insert(group.members.end(), members.begin(), members.end());
      for (const WorkerRoundCause* one : members) group.workers.insert(one->worker);
    }
  }
  return groups;
}

/// The member with the median excess: its figures stand for the others'.
const WorkerRoundCause& Example(const Group& group) {
  std::vector<const WorkerRoundCause*> sorted = group.members;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end(),
                   [](const WorkerRoundCause* a, const WorkerRoundCause* b) {
                     return a->cause.excess_ns < b->cause.excess_ns;
                   });
  return **middle;
}

Grade GradeOf(const Group& group) {
  double observed = 0, all = 0;
  for (const WorkerRoundCause* one : group.members) {
    const auto excess = static_cast<double>(one->cause.excess_ns);
    all += excess;
    if (one->cause.grade == Grade::kObserved) observed += excess;
  }
  return observed >= kObservedShare * all ? Grade::kObserved : Grade::kHypothesis;
}

std::string Advice(CauseKind kind) {
  switch (kind) {
    case CauseKind::kQuota:
      return "Raise the CPU quota of its container or cgroup, or give the worker fewer local "
             "steps.";
    case CauseKind::kOwnThreads:
      return "Start it with --threads no larger than its usable cores.";
    case CauseKind::kNeighbours:
      return "Move the other processes away, pin the worker to cores of its own, or use a machine "
             "that nobody else uses.";
    case CauseKind::kDisk:
      return "Put its data on a local or quicker disk, or read it before training.";
    case CauseKind::kBandwidth:
      return "Use a wider link, a smaller model part per round (more local steps), or look at what "
             "else uses the link.";
    case CauseKind::kLatencyOrLoss:
      return "Look for what loses packets; on a long way let TCP's buffers (net.ipv4.tcp_wmem) "
             "hold "
             "rate x round trip, and use BBR.";
    case CauseKind::kMemory:
      return "Give it more memory, or a smaller batch.";
    case CauseKind::kPictures:
      return "Let it prepare pictures sooner: more data.loader_threads where cores are free, a "
             "quicker disk, a smaller data.decode_side, or memory for decoded ones "
             "(data.cache_mb).";
    case CauseKind::kOtherWork:
      return "Compare its cores, clocks, threads and device with the other workers'; give it less "
             "work a round where they are slower.";
    case CauseKind::kUnknown:
      return "Look at the machine in such a round (perf top, iostat, ss -ti).";
  }
  return "";
}

std::string Slowness(const Group& group, const PhaseExcess& phase, bool against_itself) {
  const bool one = group.workers.size() == 1 || group.Rotates();
  const std::string figures = fmt::format("{} against {}, in {}", HumanNs(phase.taken_ns),
                                          HumanNs(phase.median_ns), RoundsText(group.rounds));
  const double times = static_cast<double>(phase.taken_ns) /
                       static_cast<double>(std::max<int64_t>(1, phase.median_ns));
  const std::string than = against_itself ? "in its own median round" : "as the median worker";
  const std::string text =
      (group.Rotates() ? "now one, now another of " : "") + WorkersText(group.workers);
  if (phase.median_ns == 0 || times > 1000)
    return fmt::format(
        "{} {} much longer to {} {} ({})", text, one ? "takes" : "take", PhaseName(phase.phase),
        against_itself ? "than in its own median round" : "than the median worker", figures);
  return fmt::format("{} {} {:.1f} x as long {} to {} ({})", text, one ? "takes" : "take", times,
                     than, PhaseName(phase.phase), figures);
}

void ShareHosts(const FindingContext& context, const std::set<int32_t>& workers, Finding& finding) {
  std::map<std::string, std::set<int32_t>> hosts;
  for (const WorkerRecord& record : context.input.tables.workers)
    hosts[record.host].insert(record.worker);
  for (const auto& [host, there] : hosts) {
    const bool concerned = std::any_of(there.begin(), there.end(),
                                       [&](int32_t worker) { return workers.contains(worker); });
    if (concerned && there.size() > 1)
      finding.evidence.push_back(fmt::format("On host {} run {}.", host, WorkersText(there)));
  }
}

std::string Query(const Group& group, Phase phase) {
  return fmt::format(
      "SELECT round, recorded_by AS worker, busy_ns / 1e6 AS busy_ms, cpu_ns / 1e6 AS cpu_ms, "
      "run_delay_ns / 1e6 AS run_delay_ms, blocked_ns / 1e6 AS blocked_ms, bytes FROM spans WHERE "
      "phase = '{}' AND round BETWEEN {} AND {} ORDER BY round, busy_ns DESC",
      PhaseName(phase), *group.rounds.begin(), *group.rounds.rbegin());
}

Finding MakeFinding(const Key& key, const Group& group, const FindingContext& context) {
  const WorkerRoundCause& example = Example(group);
  const PhaseExcess& phase = example.cause.phases.front();
  Finding finding;
  finding.id = fmt::format("straggler_{}_{}", CauseName(key.first), PhaseName(key.second));
  finding.workers = group.workers;
  finding.grade = GradeOf(group);
  const std::string whose =
      group.workers.size() == 1 ? "" : fmt::format("of worker {}: ", example.worker);
  finding.text =
      fmt::format("{}: {}{} ({})", Slowness(group, phase, phase.median_round != example.round),
                  whose, example.cause.reason, GradeName(finding.grade));
  context.SetSaving(group.saving_ns, finding);
  finding.evidence.push_back(
      fmt::format("In round {}, worker {}: the cause explains {} of {} more than the median ({}).",
                  example.round, example.worker, HumanNs(example.cause.explained_ns),
                  HumanNs(example.cause.excess_ns), Percent(example.cause.share())));
  finding.evidence.insert(finding.evidence.end(), example.cause.evidence.begin(),
                          example.cause.evidence.end());
  if (finding.grade == Grade::kHypothesis) {
    finding.evidence.insert(finding.evidence.end(), example.cause.missing.begin(),
                            example.cause.missing.end());
  }
  if (key.first == CauseKind::kNeighbours) ShareHosts(context, group.workers, finding);
  finding.records = Query(group, key.second);
  finding.try_this =
      group.Rotates()
          ? "No one machine is the slow one: more local steps a round even such differences out."
          : Advice(key.first);
  return finding;
}

}  // namespace

void FindStragglers(const FindingContext& context, Findings& out) {
  for (const auto& [key, group] : GroupCauses(context)) {
    if (context.ShareOf(group.saving_ns) >= kLeastSaving)
      out.push_back(MakeFinding(key, group, context));
  }
}

}  // namespace interlude::internal
