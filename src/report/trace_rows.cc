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

std::vector<TraceArgument> ArgumentsOf(const Span& span) {
  std::vector<TraceArgument> arguments = {{"round", int64_t{span.round}}};
  for (const auto& [name, value] :
       {std::pair{"busy_ns", span.busy_ns}, std::pair{"cpu_ns", span.cpu_ns},
        std::pair{"run_delay_ns", span.run_delay_ns}, std::pair{"blocked_ns", span.blocked_ns},
        std::pair{"bytes", static_cast<int64_t>(span.bytes)},
        std::pair{"chunks", int64_t{span.chunks}}}) {
    if (value != 0) arguments.push_back({name, value});
  }
  return arguments;
}

/// Something on the coordinator's clock, in order of which lanes are filled.
template <typename What>
struct Placed {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t shift_ns = 0;
  const What* what = nullptr;

  friend bool operator<(const Placed& a, const Placed& b) {
    return std::tie(a.begin_ns, a.end_ns) < std::tie(b.begin_ns, b.end_ns);
  }
};

template <typename What>
Placed<What> Place(int64_t begin_ns, int64_t end_ns, int64_t shift_ns, const What& what) {
  return {OnOneClock(begin_ns, shift_ns), OnOneClock(end_ns, shift_ns), shift_ns, &what};
}

}  // namespace

void TraceWriter::WriteRow(const RowKey& key, const Row& row, uint64_t parent) {
  const uint64_t lane = WriteSpans(key, row.spans, parent);
  WriteChunks(key, row.stamps, lane == 0 ? parent : lane);
}

uint64_t TraceWriter::WriteSpans(const RowKey& key, const std::vector<const Span*>& spans,
                                 uint64_t parent) {
  std::vector<Placed<Span>> placed;
  for (const Span* span : spans) {
    placed.push_back(Place(span->begin_ns, span->end_ns, ShiftIn(key.process, span->round), *span));
  }
  std::sort(placed.begin(), placed.end());
  const Phase phase = kAllPhases[key.place];
  const std::string name(PhaseName(phase));
  TraceLanes lanes;
  std::vector<uint64_t> tracks;
  for (const auto& [begin_ns, end_ns, shift_ns, span] : placed) {
    const size_t lane = lanes.Place(begin_ns, end_ns);
    if (lane == tracks.size()) {
      tracks.push_back(NewTrack(key.process, parent, name, PhaseMeaning(phase)));
    }
    TraceSlice slice{tracks[lane],
                     span->ok ? name : name + " (failed)",
                     span->begin_ns,
                     span->end_ns,
                     ArgumentsOf(*span),
                     {},
                     shift_ns};
    if (begin_ns == end_ns) {
      sink_.AddInstant(slice);
    } else {
      sink_.AddSlice(slice);
    }
  }
  return tracks.empty() ? 0 : tracks.front();
}

void TraceWriter::WriteChunks(const RowKey& key, const std::vector<const ChunkStamps*>& stamps,
                              uint64_t parent) {
  using Chunk = std::pair<const ChunkStamp*, const ChunkStamps*>;
  std::vector<Chunk> chunks;
  for (const ChunkStamps* of_round : stamps) {
    for (const ChunkStamp& stamp : of_round->stamps) chunks.push_back({&stamp, of_round});
  }
  std::vector<Placed<Chunk>> placed;
  for (const Chunk& chunk : chunks) {
    placed.push_back(Place(chunk.first->begin_ns, chunk.first->end_ns,
                           ShiftIn(key.process, chunk.second->round), chunk));
  }
  std::sort(placed.begin(), placed.end());
  TraceLanes lanes;
  std::vector<uint64_t> tracks;
  for (const auto& [begin_ns, end_ns, shift_ns, chunk] : placed) {
    const auto& [stamp, of_round] = *chunk;
    const size_t lane = lanes.Place(begin_ns, end_ns);
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
                    FlowsOf(*of_round, stamp->chunk),
                    shift_ns});
  }
}

uint64_t TraceWriter::Flow(uint32_t round, int32_t worker, uint32_t chunk) const {
  const auto index = static_cast<uint64_t>(std::distance(begins_.begin(), begins_.find(worker)));
  return ((uint64_t{round} * (begins_.size() + 1) + index) << 24) + chunk + 1;
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
