#include "report/run_trace.h"

#include <algorithm>

#include "report/trace_writer.h"

namespace interlude {
namespace internal {
namespace {

size_t PlaceInRound(Phase phase) {
  return static_cast<size_t>(std::find(kAllPhases.begin(), kAllPhases.end(), phase) -
                             kAllPhases.begin());
}

}  // namespace

void TraceWriter::See(int32_t process, int64_t begin_ns) {
  const auto [begin, first] = begins_.try_emplace(process, begin_ns);
  begin->second = std::min(begin->second, begin_ns);
}

void TraceWriter::Gather() {
  for (const RoundRecord& round : run_.rounds) See(kNoWorker, round.begin_ns);
  for (const EventRecord& event : run_.events) See(kNoWorker, event.at_ns);
  for (const Span& span : run_.account.spans) {
    // The round itself is drawn from its record, which says more.
    if (span.end_ns < span.begin_ns || span.phase == Phase::kRound) continue;
    See(span.recorded_by, span.begin_ns);
    rows_[{span.recorded_by, span.about_worker, PlaceInRound(span.phase)}].spans.push_back(&span);
  }
  for (const ChunkStamps& stamps : run_.account.stamps) {
    rows_[{stamps.recorded_by, stamps.about_worker, PlaceInRound(stamps.phase)}].stamps.push_back(
        &stamps);
    for (const ChunkStamp& stamp : stamps.stamps) {
      See(stamps.recorded_by, stamp.begin_ns);
    }
    if (stamps.phase == Phase::kReceive) {
      merged_workers_[stamps.round].insert(stamps.about_worker);
    }
  }
  for (const ProcessSample& sample : run_.account.samples) {
    See(sample.recorded_by, sample.at_ns - sample.interval_ns);
  }
  for (const MemoryRecord& memory : run_.account.memory) {
    See(memory.recorded_by, memory.at_ns);
  }
  begins_.try_emplace(kNoWorker, 0);
}

TraceProcess TraceWriter::Describe(int32_t process) {
  TraceProcess described{process, ++tracks_, "coordinator", {}, begins_.at(process)};
  if (process == kNoWorker) return described;
  described.name = fmt::format("worker {}", process);
  for (const WorkerRecord& worker : run_.workers) {
    if (worker.worker == process) {
      described.name += fmt::format(" ({}, pid {})", worker.host, worker.process_id);
    }
  }
  if (clocks_ == TraceClocks::kRaw) {
    described.name += ", its own clock";
    return described;
  }
  const TraceClock& clock = run_.clocks.at(process);
  if (clock.rounds.begin()->second.source == ClockSource::kNone) {
    described.name += ", clock unknown: placed where it joined";
  } else {
    described.name += fmt::format(", clock {}within {:.3f} ms",
                                  clock.probed() ? "" : "not probed, by its messages ",
                                  static_cast<double>(clock.error_ns()) / 1e6);
  }
  described.shifts = clock.shifts;
  return described;
}

int64_t TraceWriter::ShiftIn(int32_t process, uint32_t round) const {
  if (process == kNoWorker || clocks_ == TraceClocks::kRaw) return 0;
  return run_.clocks.at(process).ShiftIn(round);
}

int64_t TraceWriter::ShiftAt(int32_t process, int64_t own_ns) const {
  if (process == kNoWorker || clocks_ == TraceClocks::kRaw) return 0;
  return run_.clocks.at(process).ShiftAt(own_ns);
}

uint64_t TraceWriter::NewTrack(int32_t process, uint64_t parent, const std::string& name,
                               std::string_view description, std::optional<std::string> unit) {
  auto& siblings = ranks_[parent];
  const int32_t rank = siblings.try_emplace(name, siblings.size()).first->second;
  sink_.AddTrack(
      {++tracks_, process, parent, name, std::string(description), rank, std::move(unit)});
  return tracks_;
}

void TraceWriter::WriteProcess(int32_t process) {
  const TraceProcess described = Describe(process);
  sink_.AddProcess(described);
  if (process == kNoWorker) {
    WriteRounds(described.track);
    WriteEvents(described.track);
    WriteResults(described.track);
  }
  std::map<int32_t, uint64_t> groups;  // at the coordinator, by the worker it is about
  for (auto row = rows_.lower_bound({process}); row != rows_.end() && row->first.process == process;
       ++row) {
    const int32_t about = row->first.about_worker;
    uint64_t& group = groups[about];
    if (group == 0) {
      group = about == kNoWorker
                  ? described.track
                  : NewTrack(process, described.track, fmt::format("worker {}", about));
    }
    WriteRow(row->first, row->second, group);
  }
  WriteSamples(process, described.track);
  WriteMemory(process, described.track);
}

}  // namespace internal

void WriteTrace(const TraceRun& run, TraceClocks clocks, TraceSink& sink) {
  internal::TraceWriter(run, clocks, sink).Write();
}

}  // namespace interlude
