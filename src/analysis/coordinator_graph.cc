#include "analysis/coordinator_graph.h"

#include <algorithm>

#include "analysis/decisions.h"

namespace interlude {
namespace {

Activity OfCoordinator(ActivityKind kind, const ChunkStamp& stamp, Places after) {
  return {.kind = kind,
          .chunk = stamp.chunk,
          .begin_ns = stamp.begin_ns,
          .end_ns = stamp.end_ns,
          .after = std::move(after)};
}

/// What of the workers, but for `except`, the coordinator last heard by `ns`.
template <typename Heard>
MaybeActivity LastHeard(const std::vector<WorkerParts>& workers, int32_t except,
                        const GraphBuilder& builder, const Heard& heard) {
  MaybeActivity last;
  for (const WorkerParts& parts : workers) {
    const MaybeActivity one = parts.worker == except ? std::nullopt : heard(parts);
    if (one && (!last || builder.EndOf(*one) > builder.EndOf(*last))) last = one;
  }
  return last;
}

/// All waited for `worker` since `after`.
uint32_t AddClosing(int32_t worker, int64_t at_ns, MaybeActivity after, GraphBuilder& builder) {
  const int64_t begin_ns = after ? builder.EndOf(*after) : at_ns;
  return builder.Add({.kind = ActivityKind::kWaitDeadline,
                      .worker = worker,
                      .begin_ns = std::min(begin_ns, at_ns),
                      .end_ns = at_ns,
                      .after = Known({after})});
}

std::map<int32_t, uint32_t> AddClosings(const std::vector<WorkerParts>& workers,
                                        const Closings& closings, GraphBuilder& builder) {
  std::map<int32_t, uint32_t> activities;
  for (const auto& [worker, at_ns] : closings) {
    const MaybeActivity others =
        LastHeard(workers, worker, builder,
                  [at_ns = at_ns](const WorkerParts& of) { return of.received.LastBy(at_ns); });
    activities[worker] = AddClosing(worker, at_ns, others, builder);
  }
  return activities;
}

/// What a merge that began at `begin_ns` had waited for.
class MergeGate {
 public:
  MergeGate(const std::vector<WorkerParts>& workers, const std::map<int32_t, uint32_t>& closings,
            const GraphBuilder& builder)
      : workers_(workers), closings_(closings), builder_(builder) {}

  /// `decided_ns`: from when it is known who had come.
  Places OfChunk(uint32_t chunk, int64_t decided_ns, int64_t begin_ns) const {
    Places after;
    after.reserve(workers_.size() + 2);  // the ledger, a thread
    for (const WorkerParts& parts : workers_) {
      const MaybeActivity came = parts.received.FirstOfChunk(chunk);
      if (came && builder_.EndOf(*came) <= decided_ns) {
        after.push_back(*came);
      } else {
        AddClosing(parts.worker, begin_ns, after);
      }
    }
    return after;
  }
  /// Of all chunks, however late they came where `begin_ns` says nothing.
  Places OfAll(std::optional<int64_t> begin_ns) const {
    Places after;
    for (const WorkerParts& parts : workers_) {
      for (const uint32_t came : parts.received.All()) {
        if (!begin_ns || builder_.EndOf(came) <= *begin_ns) after.push_back(came);
      }
      if (begin_ns) AddClosing(parts.worker, *begin_ns, after);
    }
    return after;
  }

 private:
  void AddClosing(int32_t worker, int64_t begin_ns, Places& after) const {
    const auto found = closings_.find(worker);
    if (found != closings_.end() && builder_.EndOf(found->second) <= begin_ns)
      after.push_back(found->second);
  }

  const std::vector<WorkerParts>& workers_;
  const std::map<int32_t, uint32_t>& closings_;
  const GraphBuilder& builder_;
};

void AddSave(const PhaseTimes& times, GraphBuilder& builder, CoordinatorParts& parts) {
  parts.all_merged = builder.Join(parts.merged.All());
  for (const ChunkStamp& stamp : times.Of(Phase::kSave, kNoWorker)) {
    parts.saved = builder.Add(
        OfCoordinator(ActivityKind::kSave, stamp, Known({parts.all_merged, parts.saved})));
  }
  if (parts.saved) parts.all_merged = builder.Join(Known({parts.all_merged, parts.saved}));
}

uint32_t AddDecision(const ChunkStamp& stamp, Places after, GraphBuilder& builder,
                     const CoordinatorParts& parts) {
  if (parts.ledger && builder.EndOf(*parts.ledger) <= stamp.begin_ns)
    after.push_back(*parts.ledger);
  return builder.AddTail(OfCoordinator(ActivityKind::kDecide, stamp, std::move(after)));
}

void AddPosts(const std::vector<ChunkStamp>& stamps, GraphBuilder& builder,
              CoordinatorParts& parts) {
  parts.posted.Expect(stamps.size());
  for (const ChunkStamp& stamp : stamps) {
    const MaybeActivity ready =
        parts.barrier ? parts.all_merged : parts.merged.OfChunk(stamp.chunk, stamp.begin_ns);
    parts.posted.Add(stamp.chunk, stamp.end_ns, AddDecision(stamp, Known({ready}), builder, parts));
  }
  parts.posted.Sort();
}

/// When the worker's call for the sync delta came.
MaybeActivity AddAsk(const PhaseTimes& times, GraphBuilder& builder, const WorkerParts& parts) {
  const std::span<const ChunkStamp> asks = times.Of(Phase::kAsk, parts.worker);
  if (asks.empty()) return std::nullopt;
  const MaybeActivity before = parts.barrier ? parts.uploaded.Last() : parts.trained;
  Activity ask = OfCoordinator(ActivityKind::kAsk, asks.front(), Known({before}));
  ask.worker = parts.worker;
  if (before) {  // on its way since then
    ask.begin_ns = std::min(ask.end_ns, builder.EndOf(*before));
    ask.begin_clock = parts.worker;
  }
  return builder.Add(std::move(ask));
}

/// Reports that came in time; where nobody's was recorded, what each had verified.
Places LastWords(const std::vector<WorkerParts>& workers, const Closings& closings,
                 const GraphBuilder& builder) {
  const bool reports = std::any_of(workers.begin(), workers.end(),
                                   [](const WorkerParts& of) { return of.reported.has_value(); });
  Places words;
  for (const WorkerParts& parts : workers) {
    const MaybeActivity word = reports ? parts.reported : parts.verified;
    const auto closed = closings.find(parts.worker);
    if (!word || (closed != closings.end() && builder.EndOf(*word) > closed->second)) continue;
    words.push_back(*word);
  }
  return words;
}

/// The round ended without these workers' reports.
Places AddLastClosings(const std::vector<WorkerParts>& workers, const CoordinatorParts& coordinator,
                       GraphBuilder& builder) {
  Places waits;
  for (const auto& [worker, at_ns] : coordinator.closings) {
    const auto in_time = [&builder, at_ns = at_ns](const WorkerParts& of) {
      return of.reported && builder.EndOf(*of.reported) <= at_ns ? of.reported : std::nullopt;
    };
    const bool reported =
        std::any_of(workers.begin(), workers.end(), [&, worker = worker](const WorkerParts& of) {
          return of.worker == worker && in_time(of).has_value();
        });
    if (reported) continue;
    MaybeActivity others = LastHeard(workers, worker, builder, in_time);
    if (!others) others = coordinator.merged.LastBy(at_ns);
    if (others) waits.push_back(AddClosing(worker, at_ns, others, builder));
  }
  return waits;
}

}  // namespace

Closings ClosingsOf(const RoundRecords& records) {
  Closings closings;
  for (const EventRecord& event : records.events) {
    const bool closes = event.kind == "late" || event.kind == "worker_left";
    const bool within = event.at_ns > records.round.begin_ns && event.at_ns <= records.round.end_ns;
    if (!closes || !within || event.worker == kNoWorker) continue;
    const auto [it, fresh] = closings.try_emplace(event.worker, event.at_ns);
    if (!fresh) it->second = std::min(it->second, event.at_ns);
  }
  return closings;
}

MaybeActivity AddLedger(const PhaseTimes& times, GraphBuilder& builder) {
  const std::span<const ChunkStamp> ledgers = times.Of(Phase::kLedger, kNoWorker);
  if (ledgers.empty()) return std::nullopt;
  return builder.Add(OfCoordinator(ActivityKind::kLedger, ledgers.front(), Known({})));
}

void AddMerges(const PhaseTimes& times, const std::vector<WorkerParts>& workers,
               GraphBuilder& builder, CoordinatorParts& parts) {
  const std::map<int32_t, uint32_t> closings = AddClosings(workers, parts.closings, builder);
  const MergeGate gate(workers, closings, builder);
  const std::pmr::vector<ChunkStamp> merges =
      ByBegin(times.Of(Phase::kMerge, kNoWorker), builder.memory());
  PoolThreads pool(merges, parts.threads);
  Decisions decisions(times);
  parts.merged.Expect(merges.size());
  MaybeActivity all;
  if (parts.barrier && !merges.empty()) all = builder.Join(gate.OfAll(merges.front().begin_ns));
  for (const ChunkStamp& stamp : merges) {
    const std::optional<ChunkStamp> order = decisions.Order(stamp.chunk, stamp.begin_ns);
    Places after;
    if (all) {
      after = {*all};
    } else if (stamp.chunk == kNoChunk) {
      after = gate.OfAll(std::nullopt);
    } else {
      after = gate.OfChunk(stamp.chunk, order ? order->begin_ns : stamp.begin_ns, stamp.begin_ns);
    }
    if (order) after = Known({AddDecision(*order, std::move(after), builder, parts)});
    if (const MaybeActivity before = pool.Take()) after.push_back(*before);
    Activity merge = OfCoordinator(ActivityKind::kMerge, stamp, std::move(after));
    const uint32_t activity =
        stamp.chunk == kNoChunk ? builder.AddTail(std::move(merge)) : builder.Add(std::move(merge));
    pool.Occupy(stamp.end_ns, activity);
    parts.merged.Add(stamp.chunk, stamp.end_ns, activity);
  }
  parts.merged.Sort();
  AddSave(times, builder, parts);
  AddPosts(decisions.Rest(), builder, parts);
}

void AddSends(const PhaseTimes& times, const std::vector<WorkerParts>& workers,
              const CoordinatorParts& coordinator, GraphBuilder& builder, WorkerParts& parts) {
  const MaybeActivity ask = AddAsk(times, builder, parts);
  MaybeActivity before;
  const std::span<const ChunkStamp> sends = times.Of(Phase::kSend, parts.worker);
  parts.sent.Expect(sends.size());
  for (const ChunkStamp& stamp : sends) {
    MaybeActivity ready = coordinator.posted.OfChunk(stamp.chunk, stamp.begin_ns);
    if (!ready) {
      ready = parts.barrier ? coordinator.all_merged
                            : coordinator.merged.OfChunk(stamp.chunk, stamp.begin_ns);
    }
    if (!ready) {  // no record of its merge: what it may have waited for
      ready = LastHeard(workers, kNoWorker, builder,
                        [&](const WorkerParts& of) { return of.received.LastBy(stamp.begin_ns); });
    }
    const bool asked = ask && builder.EndOf(*ask) <= stamp.begin_ns;
    Activity send = OfCoordinator(ActivityKind::kSend, stamp,
                                  Known({ready, before, asked ? ask : std::nullopt}));
    send.worker = parts.worker;
    before =
        stamp.chunk == kNoChunk ? builder.AddTail(std::move(send)) : builder.Add(std::move(send));
    parts.sent.Add(stamp.chunk, stamp.end_ns, *before);
  }
  parts.sent.Sort();
}

uint32_t AddEnd(const RoundRecords& records, const std::vector<WorkerParts>& workers,
                const CoordinatorParts& coordinator, GraphBuilder& builder) {
  Places after = LastWords(workers, coordinator.closings, builder);
  for (const uint32_t wait : AddLastClosings(workers, coordinator, builder)) after.push_back(wait);
  if (coordinator.saved) after.push_back(*coordinator.saved);
  if (after.empty()) {
    const MaybeActivity heard = LastHeard(workers, kNoWorker, builder,
                                          [](const WorkerParts& of) { return of.received.Last(); });
    after = Known({coordinator.all_merged, heard});
  }
  return builder.Add({.begin_ns = records.round.end_ns,
                      .end_ns = records.round.end_ns,
                      .after = std::move(after)});
}

}  // namespace interlude
