// Why a worker was asleep without a message to wait for: memory that came back from a disk, or the
// disk itself.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/cause_rules.h"
#include "base/human_text.h"

namespace interlude::internal {
namespace {

constexpr int64_t kFewFaults = 16;
/// Of the excess: a stall for memory beside which more CPU time is supposed to be the kernel's.
constexpr double kScarce = 0.2;
constexpr int64_t kFewBytes = int64_t{1} << 20;
/// A figure of the worker counts as its own only where it is so many times the median worker's.
constexpr int64_t kMoreThanOthers = 2;

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

}  // namespace

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

}  // namespace interlude::internal
