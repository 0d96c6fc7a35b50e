#include "analysis/cause_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_text.h"

namespace interlude::internal {
namespace {

constexpr int64_t kFewFaults = 16;
/// Of the excess: a stall for memory beside which more CPU time is supposed to be the kernel's.
constexpr double kScarce = 0.2;
constexpr int64_t kFewBytes = int64_t{1} << 20;
/// A figure of the worker counts as its own only where it is so many times the median worker's.
constexpr int64_t kMoreThanOthers = 2;

int64_t Part(int64_t of, double share) {
  return static_cast<int64_t>(static_cast<double>(of) * std::clamp(share, 0.0, 1.0));
}

int64_t TimesCores(int64_t ns, int64_t cores) {
  return static_cast<int64_t>(
      std::min(static_cast<double>(ns) * static_cast<double>(cores), 0x1p62));
}

bool Exceeds(int64_t own, int64_t median, int64_t least) {
  return own >= least && own > kMoreThanOthers * std::max<int64_t>(0, median);
}

bool HasFaults(const PhaseCase& phase) {
  return Exceeds(phase.own.host.major_faults, phase.median.host.major_faults, kFewFaults);
}

/// The kernel's "some" of the whole machine is the mean over its CPUs, weighted by the time in
/// which each was not idle. One thread that waits beside other busy CPUs counts as its share of
/// them.
int64_t StalledOf(const PhaseFacts& facts, int64_t some_ns) {
  const auto busy = static_cast<double>(std::max<int64_t>(1, facts.split.busy_ns()));
  const double others = static_cast<double>(std::max<int64_t>(0, facts.host.machine_busy_ns)) -
                        static_cast<double>(facts.cpu_meanwhile_ns);
  const double most = static_cast<double>(facts.visible_cores - 1) * busy;
  const double times = 1 + std::clamp(others, 0.0, std::max(0.0, most)) / busy;
  return static_cast<int64_t>(std::min(static_cast<double>(some_ns) * times, 0x1p61));
}

int64_t DiskBytes(const HostFigures& host) {
  if (host.disk_read_bytes < 0 || host.disk_write_bytes < 0) return kUnknownFigure;
  return host.disk_read_bytes + host.disk_write_bytes;
}

// ---- run delay ----

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

std::string Allowance(const PhaseFacts& facts) {
  if (facts.quota_cores <= 0) return "its cgroup has a CPU quota";
  return fmt::format("its cgroup allows {:.3g} of {} visible CPUs", facts.quota_cores,
                     facts.visible_cores);
}

/// The wall time that all of the worker's threads were held up together, by a quota.
int64_t ThrottledWall(const PhaseFacts& facts) {
  const int64_t cpus =
      std::clamp<int64_t>(facts.threads, 1, std::max<int64_t>(1, facts.visible_cores));
  return facts.host.throttled_ns / cpus;
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

// ---- work ----

void ExplainFewerThreads(PhaseCase& phase) {
  const PhaseFacts &own = phase.own, &median = phase.median;
  const bool on_threads =
      ChargesWholeProcess(own.phase) || own.phase == Phase::kEncode || own.phase == Phase::kApply;
  if (!on_threads || own.threads <= 0 || own.threads >= median.threads) return;
  const bool by_quota = own.quota_cores > 0 && own.usable_cores < median.usable_cores;
  const CauseKind kind = by_quota ? CauseKind::kQuota : CauseKind::kOtherWork;
  const double share = 1 - static_cast<double>(own.threads) / static_cast<double>(median.threads);
  const int64_t taken =
      phase.Take(kind, &Budget::on_cpu_ns, Part(own.split.on_cpu_ns, share), true);
  if (taken == 0) return;
  const std::string reason =
      by_quota ? Allowance(own) : fmt::format("it has {} threads", own.threads);
  phase.Say(kind, reason,
            fmt::format("It worked with {} threads on {} usable cores, worker {} with {} on {}.",
                        own.threads, own.usable_cores, median.worker, median.threads,
                        median.usable_cores));
}

void ExplainMoreSamples(PhaseCase& phase) {
  const PhaseFacts &own = phase.own, &median = phase.median;
  if (own.phase != Phase::kTrain || median.samples == 0 || own.samples <= median.samples) return;
  const double share = 1 - static_cast<double>(median.samples) / static_cast<double>(own.samples);
  const int64_t wanted = Part(own.split.busy_ns(), share);
  int64_t taken = phase.Take(CauseKind::kOtherWork, &Budget::on_cpu_ns, wanted, true);
  taken += phase.Take(CauseKind::kOtherWork, &Budget::blocked_ns, wanted - taken, true);
  if (taken == 0) return;
  phase.Say(CauseKind::kOtherWork, fmt::format("it trained on {} samples", own.samples),
            fmt::format("It trained on {} samples, worker {} on {}.", own.samples, median.worker,
                        median.samples));
}

void ExplainMoreCpu(PhaseCase& phase) {
  const PhaseFacts &own = phase.own, &median = phase.median;
  if (phase.Take(CauseKind::kOtherWork, &Budget::on_cpu_ns, phase.left.on_cpu_ns, true) == 0)
    return;
  phase.Say(
      CauseKind::kOtherWork, "it ran for longer on its CPUs: they are slower, or its work was more",
      fmt::format("A thread of it ran for {} on a CPU, worker {}'s for {}; all threads "
                  "together {} against {}.",
                  HumanNs(own.split.on_cpu_ns), median.worker, HumanNs(median.split.on_cpu_ns),
                  HumanNs(own.cpu_ns), HumanNs(median.cpu_ns)));
}

void ExplainDevice(PhaseCase& phase) {
  const PhaseFacts &own = phase.own, &median = phase.median;
  if (!ChargesWholeProcess(own.phase)) return;
  if (phase.Take(CauseKind::kOtherWork, &Budget::blocked_ns, phase.left.blocked_ns, false) == 0)
    return;
  phase.Say(
      CauseKind::kOtherWork, "its device took longer, or it waited for something unrecorded",
      fmt::format("It was asleep for {}, worker {} for {}, and no disk, memory or CPU wait "
                  "explains that.",
                  HumanNs(own.split.blocked_ns), median.worker, HumanNs(median.split.blocked_ns)));
  phase.Miss("The device's own clocks and load (nvidia-smi dmon) would show whether it is slow.");
}

}  // namespace

PhaseCase::PhaseCase(const PhaseFacts& own_facts, const PhaseFacts& median_facts)
    : own(own_facts), median(median_facts) {
  const SpanSplit &mine = own.split, &theirs = median.split;
  result.excess_ns = mine.busy_ns() - theirs.busy_ns();
  // Whose work is twice as much waits twice as long at the same machine; that is no cause of its
  // own.
  const double times = theirs.on_cpu_ns > 0 ? static_cast<double>(mine.on_cpu_ns) /
                                                  static_cast<double>(theirs.on_cpu_ns)
                                            : 1;
  const auto fair = static_cast<int64_t>(
      std::min(static_cast<double>(theirs.run_delay_ns) * std::max(1.0, times), 0x1p61));
  const int64_t more_delay = std::max<int64_t>(0, mine.run_delay_ns - theirs.run_delay_ns);
  left.run_delay_ns = std::clamp<int64_t>(mine.run_delay_ns - fair, 0, more_delay);
  left.on_cpu_ns =
      std::max<int64_t>(0, mine.on_cpu_ns - theirs.on_cpu_ns + more_delay - left.run_delay_ns);
  left.blocked_ns = std::max<int64_t>(0, mine.blocked_ns - theirs.blocked_ns);
}

int64_t PhaseCase::Take(CauseKind kind, int64_t Budget::*from, int64_t wanted, bool measured) {
  const int64_t taken = std::clamp<int64_t>(wanted, 0, left.*from);
  left.*from -= taken;
  CauseShare& share = result.shares[static_cast<size_t>(kind)];
  (measured ? share.measured_ns : share.supposed_ns) += taken;
  return taken;
}

void PhaseCase::Say(CauseKind kind, std::string reason, std::string sentence) {
  std::string& said = result.reason[static_cast<size_t>(kind)];
  if (said.empty()) said = std::move(reason);
  result.evidence[static_cast<size_t>(kind)].push_back(std::move(sentence));
}

void PhaseCase::Miss(std::string sentence) { result.missing.push_back(std::move(sentence)); }

void ExplainMemory(PhaseCase& phase) {
  if (!HasFaults(phase)) return;
  const int64_t some = phase.own.host.memory_some_ns;
  if (some < 0) {
    phase.Miss(
        "The kernel gives no memory pressure, so that pages read again cannot be told from pages "
        "read first.");
    return;
  }
  const int64_t stalled = StalledOf(phase.own, some);
  int64_t taken = phase.Take(CauseKind::kMemory, &Budget::blocked_ns, stalled, true);
  taken += phase.Take(CauseKind::kMemory, &Budget::on_cpu_ns, stalled - taken, true);
  if (static_cast<double>(taken) >= kScarce * static_cast<double>(phase.result.excess_ns) &&
      phase.Take(CauseKind::kMemory, &Budget::on_cpu_ns, phase.left.on_cpu_ns, false) > 0) {
    phase.Miss(
        "No figure divides its CPU time into its own and the kernel's, which takes pages away and "
        "maps them again.");
  }
  if (taken == 0) return;
  phase.Say(CauseKind::kMemory, fmt::format("it lacked memory for {} of it", HumanNs(taken)),
            fmt::format("Of the pressure for memory {} fall to it, and it had {} major "
                        "faults against {}.",
                        HumanNs(stalled), phase.own.host.major_faults,
                        std::max<int64_t>(0, phase.median.host.major_faults)));
}

void ExplainRunDelay(PhaseCase& phase) {
  ExplainSteal(phase);
  const int64_t throttled = ExplainThrottling(phase);
  ExplainNeighbours(phase, throttled);
  ExplainOwnThreads(phase);
}

void ExplainDisk(PhaseCase& phase) {
  const HostFigures& own = phase.own.host;
  const int64_t bytes = DiskBytes(own);
  // How much the others moved says nothing: the same bytes from a slower disk take longer.
  const bool uses_disk = bytes >= kFewBytes || own.major_faults >= kFewFaults;
  if (!uses_disk) {
    if (bytes < 0 && own.io_some_ns > 0)
      phase.Miss("No sample says how much of the machine's waiting for a disk was its own.");
    return;
  }
  const std::string used = fmt::format("it moved {} from and to a disk, with {} major faults",
                                       HumanBytes(static_cast<double>(std::max<int64_t>(0, bytes))),
                                       std::max<int64_t>(0, own.major_faults));
  if (own.io_some_ns < 0) {
    if (phase.Take(CauseKind::kDisk, &Budget::blocked_ns, phase.left.blocked_ns, false) > 0)
      phase.Say(CauseKind::kDisk, used, "It was asleep, and " + used + ".");
    phase.Miss("The kernel gives no I/O pressure, which would show how long a disk held it up.");
    return;
  }
  const int64_t stalled = StalledOf(phase.own, own.io_some_ns);
  const int64_t taken =
      phase.Take(CauseKind::kDisk, &Budget::blocked_ns, stalled, /*measured=*/true);
  if (taken == 0) return;
  phase.Say(CauseKind::kDisk, fmt::format("it waited for a disk for {} of it", HumanNs(taken)),
            fmt::format("Of the pressure on disks {} fall to it, and {}.", HumanNs(stalled), used));
}

void ExplainWork(PhaseCase& phase) {
  ExplainFewerThreads(phase);
  ExplainMoreSamples(phase);
  ExplainMoreCpu(phase);
  ExplainDevice(phase);
}

Explanation Explain(const PhaseFacts& own, const PhaseFacts& median) {
  PhaseCase phase(own, median);
  const int64_t budget = phase.left.all_ns();
  if (own.host.covered_ns == 0) phase.Miss("No sample of its process covers the time.");
  ExplainMemory(phase);
  ExplainRunDelay(phase);
  ExplainDisk(phase);
  ExplainLink(phase);
  ExplainWork(phase);
  // Where a part of the time was shorter than the median worker's, it has hidden as much of what
  // was longer: nobody knows of which.
  const int64_t excess = phase.result.excess_ns;
  if (budget > excess) {
    for (CauseShare& share : phase.result.shares) {
      const double scale = static_cast<double>(excess) / static_cast<double>(budget);
      share.measured_ns = static_cast<int64_t>(static_cast<double>(share.measured_ns) * scale);
      share.supposed_ns = static_cast<int64_t>(static_cast<double>(share.supposed_ns) * scale);
    }
  }
  return std::move(phase.result);
}

}  // namespace interlude::internal
