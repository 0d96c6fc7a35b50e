#include "analysis/round_graph.h"

#include <algorithm>
#include <memory_resource>

#include "analysis/coordinator_graph.h"
#include "analysis/graph_parts.h"
#include "analysis/worker_graph.h"

namespace interlude {
namespace {

/// A worker's own records are of no use without its clock; those about it are.
void AddUp(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts, bool placed) {
  if (placed) AddWayUp(times, builder, parts);
  AddLink({.on_the_way = ActivityKind::kLinkUp,
           .from_nowhere = ActivityKind::kReceive,
           .receiver_clock = kNoWorker,
           .sent = &parts.uploaded,
           .received = times.Of(Phase::kReceive, parts.worker),
           .into = &parts.received},
          parts.trained, builder, parts);
}

/// Where no send was recorded, what the worker recorded of its waiting.
MaybeActivity AddWait(const PhaseTimes& times, GraphBuilder& builder, const WorkerParts& parts) {
  const MaybeActivity before = parts.uploaded.empty() ? parts.trained : parts.uploaded.Last();
  const std::span<const ChunkStamp> waits = times.Of(Phase::kWait, parts.worker);
  if (waits.empty() || !parts.sent.empty()) return before;
  return builder.Add({.kind = ActivityKind::kWait,
                      .worker = parts.worker,
                      .begin_ns = waits.back().begin_ns,
                      .end_ns = waits.back().end_ns,
                      .begin_clock = parts.worker,
                      .end_clock = parts.worker,
                      .after = Known({before})});
}

void AddReport(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts) {
  const std::span<const ChunkStamp> reports = times.Of(Phase::kReport, parts.worker);
  if (reports.empty()) return;
  Activity report{.kind = ActivityKind::kReport,
                  .worker = parts.worker,
                  .begin_ns = reports.front().end_ns,
                  .end_ns = reports.front().end_ns,
                  .after = Known({parts.verified})};
  // On its way since the verification ended, where that is known.
  if (parts.verified && builder.at(*parts.verified).kind == ActivityKind::kVerify) {
    report.begin_ns = std::min(report.end_ns, builder.EndOf(*parts.verified));
    report.begin_clock = parts.worker;
  }
  parts.reported = builder.Add(std::move(report));
}

void AddDown(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts) {
  const MaybeActivity waited = AddWait(times, builder, parts);
  AddLink({.on_the_way = ActivityKind::kLinkDown,
           .from_nowhere = ActivityKind::kDownload,
           .receiver_clock = parts.worker,
           .sent = &parts.sent,
           .received = times.Of(Phase::kDownload, parts.worker),
           .into = &parts.downloaded},
          waited, builder, parts);
  AddWayDown(times, builder, parts);
}

}  // namespace

RoundGraph BuildRoundGraph(const RoundRecords& records, const PhaseTimes& times,
                           const std::map<int32_t, WorkerClock>& clocks) {
  std::pmr::memory_resource* const memory = records.memory;
  GraphBuilder builder(2 * times.size(), memory);  // links are two each
  const MaybeActivity ledger = AddLedger(times, builder);
  std::vector<WorkerParts> workers;
  workers.reserve(times.workers().size());
  const auto placed = [&](int32_t worker) {
    const auto clock = clocks.find(worker);
    return clock != clocks.end() && clock->second.source != ClockSource::kNone;
  };
  const auto threads = [&](int32_t process) {
    const auto known = records.threads.find(process);
    return known == records.threads.end() ? 0 : known->second;
  };
  for (const int32_t worker : times.workers()) {
    WorkerParts& parts = workers.emplace_back(memory);
    parts.worker = worker;
    parts.barrier = records.barrier;
    parts.threads = threads(worker);
    parts.ledger = ledger;
    AddUp(times, builder, parts, placed(worker));
  }
  CoordinatorParts coordinator(memory);
  coordinator.barrier = records.barrier;
  coordinator.threads = threads(kNoWorker);
  coordinator.closings = ClosingsOf(records);
  coordinator.ledger = ledger;
  AddMerges(times, workers, builder, coordinator);
  for (WorkerParts& parts : workers) {
    AddSends(times, workers, coordinator, builder, parts);
    if (placed(parts.worker)) AddDown(times, builder, parts);
    AddReport(times, builder, parts);
  }
  const uint32_t last = AddEnd(records, workers, coordinator, builder);
  return {builder.Take(), last};
}

}  // namespace interlude
