// The rows of a trace: phases, and the chunks that went through them.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "report/trace_lanes.h"
#include "report/trace_writer.h"

namespace interlude::internal {
namespace {

/// The part of a round that moves one worker's chunk; kMerge belongs to all workers.
bool IsOnChunksWay(Phase phase) {
  switch (phase) {
    case Phase::kEncode:
    case Phase::kUpload:
    case Phase::kReceive:
    case Phase::kMerge:
    case Phase::kSend:
    case Phase::kDownload:
    case Phase::kApply:
      return true;
    default:
      return false;
  }
}

int32_t WorkerOf(int32_t recorded_by, int32_t about_worker) {
  return recorded_by == kNoWorker ? about_worker : recorded_by;
}

}  // namespace

void TraceWriter::WriteRow(const RowKey& key, const Row& row, uint64_t parent) {
  const uint64_t lane = WriteSpans(key, row.spans, parent);
  WriteChunks(key, row.stamps, lane == 0 ? parent : lane);
}

uint64_t TraceWriter::WriteSpans(const RowKey& key, std::vector<const Span*> spans,
                                 uint64_t parent) {
  std::sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
    return std::tie(a->begin_ns, a->end_ns) < std::tie(b->begin_ns, b->end_ns);
  });
  const Phase phase = kAllPhases[key.place];
  const std::string name(PhaseName(phase));
  TraceLanes lanes;
  std::vector<uint64_t> tracks;
  for (const Span* span : spans) {
    const size_t lane = lanes.Place(span->begin_ns, span->end_ns);
    if (lane == tracks.size()) {
      tracks.push_back(NewTrack(key.process, parent, name, PhaseMeaning(phase)));
    }
    TraceSlice slice{tracks[lane], span->ok ? name : name + " (failed)", span->begin_ns,
                     span->end_ns, {{"round", int64_t{span->round}}},    {}};
    for (const auto& [argument, value] :
         {std::pair{"busy_ns", span->busy_ns}, std::pair{"cpu_ns", span->cpu_ns},
          std::pair{"run_delay_ns", span->run_delay_ns}, std::pair{"blocked_ns", span->blocked_ns},
          std::pair{"bytes", static_cast<int64_t>(span->bytes)},
          std::pair{"chunks", int64_t{span->chunks}}}) {
      if (value != 0) slice.arguments.push_back({argument, value});
    }
    if (span->begin_ns == span->end_ns) {
      sink_.AddInstant(slice);
    } else {
      sink_.AddSlice(slice);
    }
  }
  return tracks.empty() ? 0 : tracks.front();
}

void TraceWriter::WriteChunks(const RowKey& key, const std::vector<const ChunkStamps*>& stamps,
                              uint64_t parent) {
  std::vector<std::pair<const ChunkStamp*, const ChunkStamps*>> chunks;
  for (const ChunkStamps* of_round : stamps) {
    for (const ChunkStamp& stamp : of_round->stamps) chunks.push_back({&stamp, of_round});
  }
  std::sort(chunks.begin(), chunks.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first->begin_ns, a.first->end_ns) <
           std::tie(b.first->begin_ns, b.first->end_ns);
  });
  TraceLanes lanes;
  std::vector<uint64_t> tracks;
  for (const auto& [stamp, of_round] : chunks) {
    const size_t lane = lanes.Place(stamp->begin_ns, stamp->end_ns);
    if (lane == tracks.size()) {
      tracks.push_back(NewTrack(key.process, parent,
                                fmt::format("{} by chunk", PhaseName(kAllPhases[key.place])),
                                PhaseMeaning(kAllPhases[key.place])));
    }
    sink_.AddSlice({tracks[lane],
                    fmt::format("chunk {}", stamp->chunk),
                    stamp->begin_ns,
                    stamp->end_ns,
                    {{"round", int64_t{of_round->round}}},
                    FlowsOf(*of_round, stamp->chunk)});
  }
}

uint64_t TraceWriter::Flow(uint32_t round, int32_t worker, uint32_t chunk) const {
  const auto index =
      static_cast<uint64_t>(std::distance(processes_.begin(), processes_.find(worker)));
  return ((uint64_t{round} * (processes_.size() + 1) + index) << 24) + chunk + 1;
}

std::vector<uint64_t> TraceWriter::FlowsOf(const ChunkStamps& stamps, uint32_t chunk) const {
  if (!IsOnChunksWay(stamps.phase)) return {};
  if (stamps.phase != Phase::kMerge) {
    return {Flow(stamps.round, WorkerOf(stamps.recorded_by, stamps.about_worker), chunk)};
  }
  std::vector<uint64_t> flows;
  const auto workers = merged_workers_.find(stamps.round);
  if (workers == merged_workers_.end()) return flows;
  for (const int32_t worker : workers->second) flows.push_back(Flow(stamps.round, worker, chunk));
  return flows;
}

}  // namespace interlude::internal
