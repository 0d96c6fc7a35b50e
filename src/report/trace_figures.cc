// What a trace shows beside the phases: rounds, events, results, samples and memory.
#include <algorithm>
#include <cmath>

#include "report/trace_counters.h"
#include "report/trace_writer.h"

namespace interlude::internal {

void TraceWriter::WriteRounds(uint64_t parent) {
  if (run_.rounds.empty()) return;
  const uint64_t track = NewTrack(kNoWorker, parent, "rounds", PhaseMeaning(Phase::kRound));
  for (const RoundRecord& round : run_.rounds) {
    if (round.end_ns < round.begin_ns) continue;
    sink_.AddSlice({track,
                    fmt::format("round {}", round.round),
                    round.begin_ns,
                    round.end_ns,
                    {{"round", int64_t{round.round}},
                     {"workers", int64_t{round.workers}},
                     {"samples", static_cast<int64_t>(round.samples)},
                     {"mean_loss", round.mean_loss},
                     {"root_hash", round.root_hash}},
                    {}});
  }
  WriteMoments(parent);
}

void TraceWriter::WriteMoments(uint64_t parent) {
  std::vector<TraceSlice> moments;
  const uint64_t track = NewTrack(kNoWorker, parent, "moments of the round");
  for (const RoundRecord& round : run_.rounds) {
    for (const auto& [name, at_ns] : {std::pair{"first delta chunk arrived", round.first_delta_ns},
                                      std::pair{"last delta chunk arrived", round.last_delta_ns},
                                      std::pair{"first sync chunk ready", round.first_sync_ns},
                                      std::pair{"all chunks merged", round.committed_ns}}) {
      if (at_ns < round.begin_ns || at_ns > round.end_ns) continue;  // it was not recorded
      moments.push_back({track, name, at_ns, at_ns, {{"round", int64_t{round.round}}}, {}});
    }
  }
  AddInstants(std::move(moments));
}

void TraceWriter::AddInstants(std::vector<TraceSlice> instants) {
  std::stable_sort(instants.begin(), instants.end(), [](const TraceSlice& a, const TraceSlice& b) {
    return a.begin_ns < b.begin_ns;
  });
  for (const TraceSlice& instant : instants) sink_.AddInstant(instant);
}

void TraceWriter::WriteEvents(uint64_t parent) {
  if (run_.events.empty()) return;
  const uint64_t track = NewTrack(kNoWorker, parent, "events");
  std::vector<TraceSlice> instants;
  for (const EventRecord& event : run_.events) {
    std::vector<TraceArgument> arguments = {{"text", event.text}};
    if (event.round) arguments.push_back({"round", int64_t{*event.round}});
    if (event.worker != kNoWorker) arguments.push_back({"worker", int64_t{event.worker}});
    instants.push_back({track, event.kind, event.at_ns, event.at_ns, std::move(arguments), {}});
  }
  AddInstants(std::move(instants));
}

void TraceWriter::WriteResults(uint64_t parent) {
  if (run_.rounds.empty()) return;
  const uint64_t loss = NewTrack(kNoWorker, parent, "training loss", "", "");
  std::map<uint32_t, int64_t> ends;
  for (const RoundRecord& round : run_.rounds) {
    ends[round.round] = round.end_ns;
    if (std::isfinite(round.mean_loss)) sink_.AddValue({loss, round.end_ns, round.mean_loss});
  }
  uint64_t accuracy = 0;
  for (const EvaluationRecord& evaluation : run_.evaluations) {
    const auto end = ends.find(evaluation.after_rounds);
    if (end == ends.end() || evaluation.samples == 0) continue;
    if (accuracy == 0) accuracy = NewTrack(kNoWorker, parent, "accuracy", "", "");
    sink_.AddValue({accuracy, end->second, evaluation.accuracy()});
  }
}

void TraceWriter::WriteSamples(int32_t process, uint64_t parent) {
  std::vector<const ProcessSample*> samples;
  for (const ProcessSample& sample : run_.account.samples) {
    if (sample.recorded_by == process) samples.push_back(&sample);
  }
  if (samples.empty()) return;
  const uint64_t group = NewTrack(process, parent, "samples",
                                  "What the kernel said once a second; the columns of "
                                  "process_samples in run.db, counters as rates");
  for (const SampleField& field : kSampleFields) {
    if (field.value == &ProcessSample::interval_ns) continue;
    const SampleCounter counter = CounterOf(field);
    uint64_t track = 0;
    for (const ProcessSample* sample : samples) {
      const auto value = ValueOf(field, *sample);
      if (!value) continue;
      if (track == 0) track = NewTrack(process, group, counter.name, field.meaning, counter.unit);
      sink_.AddValue({track, value->at_ns, value->value, ShiftAt(process, value->at_ns)});
    }
  }
}

void TraceWriter::WriteMemory(int32_t process, uint64_t parent) {
  uint64_t group = 0;
  std::map<std::string, uint64_t> tracks;
  for (const MemoryRecord& memory : run_.account.memory) {
    if (memory.recorded_by != process) continue;
    if (group == 0) group = NewTrack(process, parent, "memory", "Who owns how much memory");
    uint64_t& track = tracks[memory.owner];
    if (track == 0) track = NewTrack(process, group, memory.owner, "", "bytes");
    sink_.AddValue(
        {track, memory.at_ns, static_cast<double>(memory.bytes), ShiftAt(process, memory.at_ns)});
  }
}

}  // namespace interlude::internal
