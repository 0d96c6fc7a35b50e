// Events that should not happen, and results that are wrong.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/finding_rules.h"

namespace interlude::internal {
namespace {

struct EventRule {
  const char* kind;
  const char* words;
  const char* try_this;
};

constexpr EventRule kEventRules[] = {
    {"worker_lost", "a worker's connection broke",
     "Look at that worker's log and at the network between it and the coordinator."},
    {"late", "a round went on without a worker that was late",
     "Mend what makes it slow, or allow more (round.patience)."},
    {"refused", "an update or message was refused",
     "The event says what was wrong with it; look at that worker's machine and configuration."},
    {"coordinator_restarted", "the coordinator was started again",
     "Look at why it ended: its log, the kernel's (out of memory), the machine's."},
    {"no_workers", "no worker was left", "Look at why the workers left."},
    {"snapshot_failed", "a snapshot could not be written",
     "Look at the disk of the run directory: until one is written the journal grows, and a restart "
     "takes longer."},
    {"repair", "chunks had another hash and were sent again",
     "One may be a bit that flipped; more from one worker mean faulty memory."},
};

void FindEvent(const FindingContext& context, const EventRule& rule, Findings& out) {
  size_t times = 0;
  std::set<int32_t> workers;
  const EventRecord* first = nullptr;
  for (const EventRecord& event : context.input.events) {
    if (event.kind != rule.kind) continue;
    ++times;
    if (event.worker != kNoWorker) workers.insert(event.worker);
    if (first == nullptr || event.at_ns < first->at_ns) first = &event;
  }
  if (times == 0) return;
  Finding finding;
  finding.id = fmt::format("event_{}", rule.kind);
  finding.workers = workers;
  finding.grade = Grade::kObserved;
  const std::string who = workers.empty() ? "" : fmt::format(" ({})", WorkersText(workers));
  finding.text = fmt::format("{} x {}{} (observed)", times, rule.words, who);
  const std::string when = first->round ? fmt::format(" in round {}", *first->round) : "";
  finding.evidence.push_back(
      fmt::format("The first{}: {}", when, first->text.empty() ? first->kind : first->text));
  finding.records = fmt::format(
      "SELECT at_ns, round, worker, text FROM events WHERE kind = '{}' ORDER BY at_ns", rule.kind);
  finding.try_this = rule.try_this;
  out.push_back(std::move(finding));
}

}  // namespace

void FindEvents(const FindingContext& context, Findings& out) {
  for (const EventRule& rule : kEventRules) FindEvent(context, rule, out);
}

void FindWrongResults(const FindingContext& context, Findings& out) {
  std::map<uint32_t, const RoundRecord*> rounds;
  for (const RoundRecord& round : context.input.tables.rounds) rounds[round.round] = &round;
  std::set<int32_t> workers;
  std::set<uint32_t> differing;
  for (const WorkerRoundRecord& part : context.input.tables.parts) {
    const auto round = rounds.find(part.round);
    if (round == rounds.end() || part.root_hash.empty() ||
        part.root_hash == round->second->root_hash)
      continue;
    workers.insert(part.worker);
    differing.insert(part.round);
  }
  if (workers.empty()) return;
  Finding finding;
  finding.id = "parameters_differ";
  finding.workers = workers;
  finding.grade = Grade::kObserved;
  finding.text = fmt::format(
      "PARAMETERS DIFFER: {} had other parameters than the coordinator after "
      "{} (observed)",
      WorkersText(workers), RoundsText(differing));
  finding.evidence.push_back("Root hashes over all chunks of the new base.");
  finding.records =
      "SELECT w.round, w.worker, w.root_hash, r.root_hash AS coordinator FROM worker_rounds w JOIN "
      "rounds r USING (round) WHERE w.root_hash != '' AND w.root_hash != r.root_hash";
  finding.try_this = "Test the memory of these machines; do not use their parameters.";
  out.push_back(std::move(finding));
}

}  // namespace interlude::internal
