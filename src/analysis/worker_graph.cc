#include "analysis/worker_graph.h"

#include <algorithm>
#include <limits>

namespace interlude {
namespace {

Activity OfWorker(ActivityKind kind, const WorkerParts& parts, const ChunkStamp& stamp,
                  Places after) {
  return {.kind = kind,
          .worker = parts.worker,
          .chunk = stamp.chunk,
          .begin_ns = stamp.begin_ns,
          .end_ns = stamp.end_ns,
          .begin_clock = parts.worker,
          .end_clock = parts.worker,
          .after = std::move(after)};
}

/// A whole phase overlaps with the one before it, chunk by chunk: only its tail is its own.
uint32_t AddChunk(ActivityKind kind, const ChunkStamp& stamp, Places after, GraphBuilder& builder,
                  const WorkerParts& parts) {
  Activity activity = OfWorker(kind, parts, stamp, std::move(after));
  return stamp.chunk == kNoChunk ? builder.AddTail(std::move(activity))
                                 : builder.Add(std::move(activity));
}

struct Step {
  ActivityKind kind;
  ChunkStamp stamp;
};

/// What the main thread does before the exchange, one after the other.
std::vector<Step> StepsOf(const PhaseTimes& times, const WorkerParts& parts) {
  std::vector<Step> steps;
  const auto add = [&](Phase phase, ActivityKind kind) {
    for (const ChunkStamp& stamp : times.Of(phase, parts.worker)) steps.push_back({kind, stamp});
  };
  add(Phase::kAwaitRound, ActivityKind::kAwaitRound);
  add(Phase::kShareBase, ActivityKind::kShareBase);
  add(Phase::kEvaluate, ActivityKind::kEvaluate);
  add(Phase::kTrain, ActivityKind::kTrain);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.stamp.end_ns < b.stamp.end_ns; });
  return steps;
}

MaybeActivity AddStart(const PhaseTimes& times, GraphBuilder& builder, const WorkerParts& parts) {
  const std::span<const ChunkStamp> starts = times.Of(Phase::kStart, parts.worker);
  if (starts.empty()) return std::nullopt;
  return builder.Add({.kind = ActivityKind::kStart,
                      .worker = parts.worker,
                      .begin_ns = starts.front().begin_ns,
                      .end_ns = starts.front().end_ns,
                      .after = Known({parts.ledger})});
}

void AddSteps(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts) {
  MaybeActivity start = AddStart(times, builder, parts);
  for (const Step& step : StepsOf(times, parts)) {
    Activity activity = OfWorker(step.kind, parts, step.stamp, Known({parts.trained, start}));
    if (step.kind == ActivityKind::kAwaitRound && start) {
      activity.kind = ActivityKind::kStart;  // the message's way
      activity.flight = true;
      parts.trained = builder.AddTail(std::move(activity));
    } else {
      parts.trained = builder.Add(std::move(activity));
    }
    start.reset();  // the first step stands for it
  }
  if (start) parts.trained = start;
}

/// Tasks of the worker's pool: `ready` says what a chunk of the phase waits for besides a thread.
template <typename Ready>
void AddTasks(ActivityKind kind, std::span<const ChunkStamp> stamps, const Ready& ready,
              GraphBuilder& builder, WorkerParts& parts, Stage& into) {
  into.Expect(stamps.size());
  for (const ChunkStamp& stamp : ByBegin(stamps, builder.memory())) {
    const uint32_t task =
        AddChunk(kind, stamp, Known({ready(stamp), parts.pool->Take()}), builder, parts);
    parts.pool->Occupy(stamp.end_ns, task);
    into.Add(stamp.chunk, stamp.end_ns, task);
  }
  into.Sort();
}

/// Calls that ended by `until_ns` and are not in the graph yet, after `before`.
void AddCalls(const PhaseTimes& times, int64_t until_ns, MaybeActivity before,
              GraphBuilder& builder, WorkerParts& parts) {
  const std::span<const ChunkStamp> calls = times.Of(Phase::kCall, parts.worker);
  for (size_t i = parts.called.size(); i < calls.size() && calls[i].end_ns <= until_ns; ++i) {
    const uint32_t call =
        builder.AddTail(OfWorker(ActivityKind::kCall, parts, calls[i], Known({before})));
    parts.called.Add(kNoChunk, calls[i].end_ns, call);
  }
  parts.called.Sort();
}

void AddUploads(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts) {
  const std::span<const ChunkStamp> uploads = times.Of(Phase::kUpload, parts.worker);
  const MaybeActivity all =
      parts.barrier ? builder.Join(parts.encoded.All()) : MaybeActivity(std::nullopt);
  if (!uploads.empty())
    AddCalls(times, uploads.back().begin_ns, all ? all : parts.trained, builder, parts);
  MaybeActivity before;
  parts.uploaded.Expect(uploads.size());
  for (const ChunkStamp& stamp : uploads) {
    MaybeActivity ready = all ? all : parts.encoded.OfChunk(stamp.chunk, stamp.begin_ns);
    if (!ready) ready = parts.trained;
    const MaybeActivity called = parts.called.LastBy(stamp.begin_ns);
    before = AddChunk(ActivityKind::kUpload, stamp, Known({ready, before, called}), builder, parts);
    parts.uploaded.Add(stamp.chunk, stamp.end_ns, *before);
  }
  parts.uploaded.Sort();
}

/// The quickest chunk's way, from its last byte sent to its last byte received.
int64_t FlightOf(const LinkEnds& link, const GraphBuilder& builder) {
  std::optional<int64_t> flight;
  for (const ChunkStamp& stamp : link.received) {
    const MaybeActivity sent = link.sent->OfChunk(stamp.chunk, stamp.end_ns);
    if (!sent) continue;
    const int64_t took = stamp.end_ns - builder.EndOf(*sent);
    flight = std::min(flight.value_or(took), took);
  }
  return std::max<int64_t>(0, flight.value_or(0));
}

uint32_t AddFlight(const LinkEnds& link, uint32_t sent, uint32_t chunk, int64_t flight_ns,
                   GraphBuilder& builder, const WorkerParts& parts) {
  const Activity& sending = builder.at(sent);
  return builder.Add({.kind = link.on_the_way,
                      .flight = true,
                      .worker = parts.worker,
                      .chunk = chunk,
                      .begin_ns = sending.end_ns,
                      .end_ns = sending.end_ns + flight_ns,
                      .begin_clock = sending.end_clock,
                      .end_clock = link.receiver_clock,
                      .after = {sent}});
}

}  // namespace

void AddWayUp(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts) {
  AddSteps(times, builder, parts);
  const std::span<const ChunkStamp> encodes = times.Of(Phase::kEncode, parts.worker);
  const std::span<const ChunkStamp> applies = times.Of(Phase::kApply, parts.worker);
  std::pmr::vector<ChunkStamp> tasks(builder.memory());
  tasks.reserve(encodes.size() + applies.size());
  tasks.insert(tasks.end(), encodes.begin(), encodes.end());
  tasks.insert(tasks.end(), applies.begin(), applies.end());
  parts.pool.emplace(ByBegin(tasks, builder.memory()), parts.threads);
  AddTasks(
      ActivityKind::kEncode, encodes, [&](const ChunkStamp&) { return parts.trained; }, builder,
      parts, parts.encoded);
  AddUploads(times, builder, parts);
}

void AddWayDown(const PhaseTimes& times, GraphBuilder& builder, WorkerParts& parts) {
  const MaybeActivity all =
      parts.barrier ? builder.Join(parts.downloaded.All()) : MaybeActivity(std::nullopt);
  const MaybeActivity exchanged = parts.uploaded.empty() ? parts.trained : parts.uploaded.Last();
  const MaybeActivity come = parts.downloaded.empty() ? exchanged : parts.downloaded.Last();
  AddCalls(times, std::numeric_limits<int64_t>::max(), come, builder, parts);
  const auto ready = [&](const ChunkStamp& stamp) {
    if (all) {  // and the call for them closed
      const MaybeActivity closed = parts.called.LastBy(stamp.begin_ns);
      return closed && builder.EndOf(*closed) > builder.EndOf(*all) ? closed : all;
    }
    const MaybeActivity chunk = parts.downloaded.OfChunk(stamp.chunk, stamp.begin_ns);
    return chunk ? chunk : exchanged;
  };
  AddTasks(ActivityKind::kApply, times.Of(Phase::kApply, parts.worker), ready, builder, parts,
           parts.applied);
  Places after = parts.applied.All();
  if (after.empty()) after = parts.downloaded.All();
  if (exchanged) after.push_back(*exchanged);
  const std::span<const ChunkStamp> verifies = times.Of(Phase::kVerify, parts.worker);
  if (!verifies.empty()) {
    if (const auto closed = parts.called.LastBy(verifies.back().begin_ns)) after.push_back(*closed);
  }
  parts.verified =
      verifies.empty()
          ? builder.Join(std::move(after))
          : builder.Add(OfWorker(ActivityKind::kVerify, parts, verifies.back(), std::move(after)));
}

void AddLink(const LinkEnds& link, MaybeActivity otherwise, GraphBuilder& builder,
             const WorkerParts& parts) {
  const int64_t flight_ns = FlightOf(link, builder);
  MaybeActivity before;
  link.into->Expect(link.received.size());
  for (const ChunkStamp& stamp : link.received) {
    const MaybeActivity sent = link.sent->OfChunk(stamp.chunk, stamp.end_ns);
    MaybeActivity ready = before ? before : otherwise;
    Activity arrival{.kind = sent ? link.on_the_way : link.from_nowhere,
                     .worker = parts.worker,
                     .chunk = stamp.chunk,
                     .begin_ns = stamp.begin_ns,
                     .end_ns = stamp.end_ns,
                     .begin_clock = link.receiver_clock,
                     .end_clock = link.receiver_clock};
    if (sent) {
      ready = AddFlight(link, *sent, stamp.chunk, flight_ns, builder, parts);
      // From where both have ended, however early its first byte came.
      arrival.begin_ns = std::min(arrival.begin_ns, builder.EndOf(*ready));
    }
    if (ready) arrival.after.push_back(*ready);
    if (sent && before) arrival.after.push_back(*before);
    before = builder.AddTail(std::move(arrival));
    link.into->Add(stamp.chunk, stamp.end_ns, *before);
  }
  link.into->Sort();
}

}  // namespace interlude
