// Why a worker was ready and had no CPU: the hypervisor, its quota, its neighbours or its own
// threads.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/cause_rules.h"
#include "base/human_text.h"

namespace interlude::internal {
namespace {

int64_t TimesCores(int64_t ns, int64_t cores) {
  return static_cast<int64_t>(
      std::min(static_cast<double>(ns) * static_cast<double>(cores), 0x1p62));
}

void ExplainSteal(PhaseCase& phase) {
  const auto stolen_beside = [](const PhaseFacts& facts) {
    if (facts.host.steal_ns <= 0 || facts.host.machine_busy_ns <= 0) return 0.0;
    return static_cast<double>(facts.split.on_cpu_ns) * static_cast<double>(facts.host.steal_ns) /
           static_cast<double>(facts.host.machine_busy_ns);
  };
  const auto more = static_cast<int64_t>(
      std::clamp(stolen_beside(phase.own) - stolen_beside(phase.median), 0.0, 0x1p60));
  int64_t taken = 0;
  for (int64_t Budget::*from : {&Budget::blocked_ns, &Budget::on_cpu_ns, &Budget::run_delay_ns})
    taken += phase.Take(CauseKind::kNeighbours, from, more - taken, true);
  if (taken > 0) {
    phase.Say(
        CauseKind::kNeighbours, "another machine on the same hardware had its CPUs",
        fmt::format("The hypervisor took {} from the machine while its CPUs were busy for {}.",
                    HumanNs(phase.own.host.steal_ns), HumanNs(phase.own.host.machine_busy_ns)));
  }
}

/// The wall time that all of the worker's threads were held up together, by a quota.
int64_t ThrottledWall(const PhaseFacts& facts) {
  return facts.host.throttled_ns / ThrottledCpus(facts.threads, facts.visible_cores);
}

/// What the quota explains of the waiting; how long the threads were held up by it.
int64_t ExplainThrottling(PhaseCase& phase) {
  const PhaseFacts& own = phase.own;
  if (own.host.throttled_ns > 0) {
    const int64_t wall = ThrottledWall(own);
    const int64_t taken =
        phase.Take(CauseKind::kQuota, &Budget::run_delay_ns, wall, /*measured=*/true);
    if (taken == 0) return 0;
    phase.Say(CauseKind::kQuota,
              fmt::format("{} and throttled it for {} of it", Allowance(own), HumanNs(taken)),
              fmt::format("{}; it was throttled for {} while it waited {} for a CPU.",
                          Allowance(own), HumanNs(wall), HumanNs(own.split.run_delay_ns)));
    return taken;
  }
  const bool used_up =
      own.quota_cores > 0 && static_cast<double>(own.cpu_meanwhile_ns) >=
                                 0.8 * own.quota_cores * static_cast<double>(own.split.busy_ns());
  if (own.host.throttled_ns >= 0 || !used_up) return 0;
  phase.Say(CauseKind::kQuota, Allowance(own) + ", all of which it used",
            fmt::format("{}, and its threads ran for {} in {}.", Allowance(own),
                        HumanNs(own.cpu_meanwhile_ns), HumanNs(own.split.busy_ns())));
  phase.Miss("No figure says how long it was throttled (cpu.stat of its cgroup).");
  return phase.Take(CauseKind::kQuota, &Budget::run_delay_ns, phase.left.run_delay_ns, false);
}

/// In a transfer a thread sleeps until the transport's threads, which are in no span, have moved
/// its bytes; and they wait for the same quota. It sleeps as much of that time as of any other, and
/// all together are not more than it was throttled.
void ExplainThrottledTransport(PhaseCase& phase, int64_t throttled_ns) {
  const PhaseFacts& own = phase.own;
  if (own.phase != Phase::kUpload && own.phase != Phase::kDownload) return;
  const int64_t held_up = std::min(own.held_up_ns, own.others_delay_ns);
  const int64_t left = ThrottledWall(own) - throttled_ns;
  if (held_up <= 0 || left <= 0) return;
  const double share =
      static_cast<double>(held_up) / static_cast<double>(std::max(held_up, own.split.busy_ns()));
  const auto asleep = static_cast<int64_t>(share * static_cast<double>(own.split.blocked_ns));
  const int64_t taken =
      phase.Take(CauseKind::kQuota, &Budget::blocked_ns, std::min(left, asleep), true);
  if (taken == 0) return;
  phase.Say(
      CauseKind::kQuota,
      fmt::format("{} and throttled it for {} of it", Allowance(own),
                  HumanNs(throttled_ns + taken)),
      fmt::format("Its quota held the process up for {} of the {}, in which the transport's "
                  "threads waited {} for a CPU, all together: so {} of its {} asleep are theirs.",
                  HumanNs(own.held_up_ns), HumanNs(own.split.busy_ns()),
                  HumanNs(own.others_delay_ns), HumanNs(taken), HumanNs(own.split.blocked_ns)));
}

void ExplainNeighbours(PhaseCase& phase, int64_t throttled_ns) {
  const PhaseFacts& own = phase.own;
  // What its cores did not give it while it was ready: its threads wanted them for `wanted`.
  const int64_t wanted = own.split.on_cpu_ns + own.split.run_delay_ns - throttled_ns;
  const int64_t had = own.cpu_meanwhile_ns / std::max<int64_t>(1, own.usable_cores);
  const int64_t not_given = std::clamp<int64_t>(wanted - had, 0, phase.left.run_delay_ns);
  if (not_given == 0) return;
  const HostFigures& host = own.host;
  if (host.others_cpu_ns < 0) {
    phase.Take(CauseKind::kNeighbours, &Budget::run_delay_ns, not_given, false);
    phase.Say(CauseKind::kNeighbours, "its cores were given to others",
              fmt::format("It was ready to run for {} and its cores gave it {}.", HumanNs(wanted),
                          HumanNs(had)));
    phase.Miss("No sample says how long others used the machine's CPUs meanwhile.");
    return;
  }
  const int64_t others = host.others_cpu_ns;
  const int64_t shown =
      phase.Take(CauseKind::kNeighbours, &Budget::run_delay_ns, std::min(not_given, others), true);
  phase.Take(CauseKind::kNeighbours, &Budget::run_delay_ns, not_given - shown, false);
  phase.Say(CauseKind::kNeighbours,
            fmt::format("other processes had its CPUs for {} of it", HumanNs(not_given)),
            fmt::format("It waited {} for a CPU without being throttled, its cores gave it {} of "
                        "the {} for which it was ready, and others used {} of CPU time meanwhile.",
                        HumanNs(own.split.run_delay_ns - throttled_ns), HumanNs(had),
                        HumanNs(wanted), HumanNs(others)));
}

void ExplainOwnThreads(PhaseCase& phase) {
  const PhaseFacts& own = phase.own;
  const int64_t taken =
      phase.Take(CauseKind::kOwnThreads, &Budget::run_delay_ns, phase.left.run_delay_ns, true);
  if (taken == 0) return;
  phase.Say(CauseKind::kOwnThreads,
            fmt::format("its {} threads waited for each other on {} usable cores for {} of it",
                        own.threads, own.usable_cores, HumanNs(taken)),
            fmt::format("{} threads on {} usable cores; the process itself used {} of the {} that "
                        "these cores have in {}.",
                        own.threads, own.usable_cores, HumanNs(own.cpu_meanwhile_ns),
                        HumanNs(TimesCores(own.split.busy_ns(), own.usable_cores)),
                        HumanNs(own.split.busy_ns())));
}

}  // namespace

void ExplainRunDelay(PhaseCase& phase) {
  ExplainSteal(phase);
  const int64_t throttled = ExplainThrottling(phase);
  ExplainThrottledTransport(phase, throttled);
  ExplainNeighbours(phase, throttled);
  ExplainOwnThreads(phase);
}

}  // namespace interlude::internal
