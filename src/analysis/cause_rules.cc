// What a phase has to explain, and the rules for a worker that did more or on less.
#include "analysis/cause_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"

namespace interlude::internal {
namespace {

int64_t Part(int64_t of, double share) {
  return static_cast<int64_t>(static_cast<double>(of) * std::clamp(share, 0.0, 1.0));
}

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

/// A loader without threads works in the trainer's own, on a CPU.
void ExplainPictures(PhaseCase& phase) {
  const PhaseFacts &own = phase.own, &median = phase.median;
  const int64_t wanted = own.waited_ns - median.waited_ns;
  int64_t taken = phase.Take(CauseKind::kPictures, &Budget::blocked_ns, wanted, true);
  taken += phase.Take(CauseKind::kPictures, &Budget::on_cpu_ns, wanted - taken, true);
  if (taken == 0) return;
  phase.Say(CauseKind::kPictures,
            fmt::format("it waited for pictures for {} of it", HumanNs(taken)),
            fmt::format("It stood still until pictures were ready for {}, worker {} for {}.",
                        HumanNs(own.waited_ns), median.worker, HumanNs(median.waited_ns)));
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

std::string Allowance(const PhaseFacts& facts) {
  if (facts.quota_cores <= 0) return "its cgroup has a CPU quota";
  return fmt::format("its cgroup allows {:.3g} of {} visible CPUs", facts.quota_cores,
                     facts.visible_cores);
}

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

void ExplainWork(PhaseCase& phase) {
  ExplainFewerThreads(phase);
  ExplainPictures(phase);
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
