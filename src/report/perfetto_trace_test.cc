#include "report/perfetto_trace.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/rng.h"
#include "report/perfetto_subset.pb.h"
#include "report/published_schema.h"
#include "report/run_trace.h"
#include "report/trace_test_run.h"

namespace interlude {
namespace {

namespace pb = perfetto::protos;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string WriteTestRun(TraceClocks clocks = TraceClocks::kCorrected) {
  std::ostringstream out;
  WriteTrace(*ReadTraceRun(*MakeTraceTestRun()), clocks, *MakePerfettoSink(out));
  EXPECT_TRUE(out.good());
  return out.str();
}

/// What a viewer makes of a trace, by Perfetto's rules: clocks by the last snapshot, names by the
/// sequence's index, events in order of time and then of the file.
class ReadTrace {
 public:
  struct Slice {
    std::string name;
    uint64_t track = 0;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    std::vector<uint64_t> flows;
    std::map<std::string, std::string> arguments;
  };

  explicit ReadTrace(const std::string& bytes) {
    pb::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(bytes));
    for (const pb::TracePacket& packet : trace.packet()) Take(packet);
    std::stable_sort(events_.begin(), events_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [at_ns, packet] : events_) Replay(at_ns, packet);
    EXPECT_TRUE(open_.empty()) << "slices without an end";
  }

  std::map<uint64_t, pb::TrackDescriptor> tracks;
  std::vector<Slice> slices;
  std::vector<Slice> instants;
  std::map<uint64_t, std::vector<std::pair<int64_t, double>>> counters;
  size_t on_the_trace_clock = 0;  // events of a worker that are not on its own clock

 private:
  struct Sequence {
    uint32_t clock = 0;
    std::map<uint32_t, std::map<int64_t, int64_t>> snapshots;  // clock: its time to the trace's
    std::map<uint64_t, std::string> event_names;
    std::map<uint64_t, std::string> argument_names;
  };

  void Take(const pb::TracePacket& packet) {
    Sequence& sequence = sequences_[packet.trusted_packet_sequence_id()];
    if (packet.has_trace_packet_defaults()) {
      EXPECT_TRUE(packet.first_packet_on_sequence());
      EXPECT_EQ(packet.sequence_flags(), 3u);
      sequence.clock = packet.trace_packet_defaults().timestamp_clock_id();
    }
    for (const auto& name : packet.interned_data().event_names()) {
      EXPECT_TRUE(sequence.event_names.emplace(name.iid(), name.name()).second);
    }
    for (const auto& name : packet.interned_data().debug_annotation_names()) {
      EXPECT_TRUE(sequence.argument_names.emplace(name.iid(), name.name()).second);
    }
    if (packet.has_clock_snapshot()) TakeSnapshot(packet.clock_snapshot(), sequence);
    if (packet.has_track_descriptor()) {
      const auto& track = packet.track_descriptor();
      EXPECT_TRUE(!track.has_parent_uuid() || tracks.contains(track.parent_uuid()));
      EXPECT_TRUE(tracks.emplace(track.uuid(), track).second);
    }
    if (packet.has_track_event()) events_.push_back({TraceTime(packet, sequence), packet});
  }

  static void TakeSnapshot(const pb::ClockSnapshot& snapshot, Sequence& sequence) {
    if (snapshot.has_primary_trace_clock()) {
      EXPECT_EQ(snapshot.primary_trace_clock(), pb::BUILTIN_CLOCK_MONOTONIC);
      return;
    }
    ASSERT_EQ(snapshot.clocks_size(), 2);
    EXPECT_EQ(snapshot.clocks(1).clock_id(), 3u);
    auto& times = sequence.snapshots[snapshot.clocks(0).clock_id()];
    const auto own = static_cast<int64_t>(snapshot.clocks(0).timestamp());
    EXPECT_TRUE(times.empty() || times.rbegin()->first < own) << "must be monotonic";
    times[own] = static_cast<int64_t>(snapshot.clocks(1).timestamp());
  }

  int64_t TraceTime(const pb::TracePacket& packet, const Sequence& sequence) {
    const auto at_ns = static_cast<int64_t>(packet.timestamp());
    const uint32_t clock =
        packet.has_timestamp_clock_id() ? packet.timestamp_clock_id() : sequence.clock;
    if (clock != sequence.clock) ++on_the_trace_clock;
    if (clock == 3) return at_ns;
    const auto& times = sequence.snapshots.at(clock);
    auto after = times.upper_bound(at_ns);
    if (after == times.begin()) ++after;
    --after;
    return after->second + (at_ns - after->first);
  }

  Slice Named(int64_t at_ns, const pb::TracePacket& packet) const {
    const Sequence& sequence = sequences_.at(packet.trusted_packet_sequence_id());
    const auto& event = packet.track_event();
    Slice slice{sequence.event_names.at(event.name_iid()),
                event.track_uuid(),
                at_ns,
                at_ns,
                {event.flow_ids().begin(), event.flow_ids().end()},
                {}};
    for (const auto& argument : event.debug_annotations()) {
      slice.arguments[sequence.argument_names.at(argument.name_iid())] =
          argument.has_string_value() ? argument.string_value()
                                      : std::to_string(argument.int_value());
    }
    return slice;
  }

  void Replay(int64_t at_ns, const pb::TracePacket& packet) {
    const auto& event = packet.track_event();
    ASSERT_TRUE(tracks.contains(event.track_uuid()));
    EXPECT_EQ(tracks.at(event.track_uuid()).has_counter(),
              event.type() == pb::TrackEvent::TYPE_COUNTER);
    if (event.type() == pb::TrackEvent::TYPE_COUNTER) {
      counters[event.track_uuid()].push_back({at_ns, event.double_counter_value()});
    } else if (event.type() == pb::TrackEvent::TYPE_INSTANT) {
      instants.push_back(Named(at_ns, packet));
    } else if (event.type() == pb::TrackEvent::TYPE_SLICE_BEGIN) {
      EXPECT_TRUE(open_.emplace(event.track_uuid(), Named(at_ns, packet)).second) << "overlap";
    } else {
      const auto open = open_.find(event.track_uuid());
      ASSERT_NE(open, open_.end()) << "an end before its begin";
      open->second.end_ns = at_ns;
      slices.push_back(open->second);
      open_.erase(open);
    }
  }

  std::map<uint32_t, Sequence> sequences_;
  std::vector<std::pair<int64_t, pb::TracePacket>> events_;
  std::map<uint64_t, Slice> open_;
};

TEST(PerfettoTrace, IsReadByPerfettosPublishedSchemaWithNothingLeftOver) {
  PublishedSchema published("perfetto");
  ExpectSameFields(*pb::Trace::descriptor(), published.Message("perfetto.protos.Trace"));
  for (const TraceClocks clocks : {TraceClocks::kCorrected, TraceClocks::kRaw}) {
    const std::string bytes = WriteTestRun(clocks);
    const auto read = published.New("perfetto.protos.Trace");
    ASSERT_TRUE(read->ParseFromString(bytes));
    EXPECT_EQ(UnknownFields(*read), 0u);
    pb::Trace own;
    ASSERT_TRUE(own.ParseFromString(bytes));
    std::string by_published, by_own;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(*read, &by_published));
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(own, &by_own));
    EXPECT_EQ(by_published, by_own);  // the same names, types and values
  }
}

TEST(PerfettoTrace, PutsAWorkersTimesWhereItsRoundsClockPutsThem) {
  const ReadTrace trace(WriteTestRun());
  const auto clock = ReadTraceRun(*MakeTraceTestRun())->clocks.at(0);
  size_t seen = 0;
  for (const auto& slice : trace.slices) {
    const auto& track = trace.tracks.at(slice.track);
    if (track.name() != "train") continue;
    const auto& process = trace.tracks.at(track.parent_uuid()).process();
    if (!process.process_name().starts_with("worker 0")) continue;
    const int round = std::stoi(slice.arguments.at("round"));
    const int64_t begin = 50'000 * kTraceMs + (round - 1) * kTraceRoundNs +
                          clock.ShiftIn(static_cast<uint32_t>(round));
    EXPECT_EQ(slice.begin_ns, begin);
    EXPECT_EQ(slice.end_ns, begin + 2'000 * kTraceMs);
    ++seen;
  }
  EXPECT_EQ(seen, kTraceRounds);
  EXPECT_EQ(trace.on_the_trace_clock, 0u) << "the snapshots say it all";
}

TEST(PerfettoTrace, WritesOnTheTracesClockWhatNoSnapshotCanSay) {
  std::ostringstream out;
  const auto sink = MakePerfettoSink(out);
  // Started again at its own time 10 on another machine, where the coordinator's was 5000.
  sink->AddProcess({0, 1, "worker 0", {{10, 4990}, {1000, 50}, {2000, 49}}, 10});
  sink->AddTrack({2, 0, 1, "train", "", 0, std::nullopt});
  const auto add = [&](int64_t begin, int64_t end, int64_t shift) {
    sink->AddSlice({2, "train", begin, end, {}, {}, shift});
  };
  add(1000, 1900, 50);
  add(1950, 2100, 50);
  add(2200, 2300, 49);
  add(10, 500, 4990);
  sink->Finish();
  const ReadTrace trace(out.str());
  ASSERT_EQ(trace.slices.size(), 4u);
  const std::pair<int64_t, int64_t> expected[] = {
      {1050, 1950}, {2000, 2150}, {2249, 2349}, {5000, 5490}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(trace.slices[i].begin_ns, expected[i].first);
    EXPECT_EQ(trace.slices[i].end_ns, expected[i].second);
  }
  EXPECT_EQ(trace.on_the_trace_clock, 6u);
}

TEST(PerfettoTrace, JoinsEachChunksSlicesByAFlow) {
  const ReadTrace trace(WriteTestRun());
  std::map<uint64_t, std::set<std::string>> flows;
  for (const auto& slice : trace.slices) {
    for (const uint64_t flow : slice.flows) {
      flows[flow].insert(trace.tracks.at(slice.track).name());
    }
  }
  EXPECT_THAT(flows, SizeIs(2 * kTraceRounds * kTraceChunks));
  for (const auto& [flow, names] : flows) EXPECT_THAT(names, SizeIs(7));
}

TEST(PerfettoTrace, HasAProcessIdForEachProcessThatIsNotOfAnyMachine) {
  const ReadTrace trace(WriteTestRun());
  std::map<int, std::string> processes;
  for (const auto& [uuid, track] : trace.tracks) {
    if (track.has_process()) processes[track.process().pid()] = track.process().process_name();
  }
  ASSERT_THAT(processes, SizeIs(3));
  EXPECT_EQ(processes[1], "coordinator");
  EXPECT_THAT(processes[2], HasSubstr("worker 0 (gpu-a, pid 4100)"));
}

TEST(PerfettoTrace, ShowsSamplesAsCountersInTheirUnits) {
  const ReadTrace trace(WriteTestRun());
  size_t seen = 0;
  for (const auto& [uuid, values] : trace.counters) {
    const auto& track = trace.tracks.at(uuid);
    if (track.name() == "cpu") {
      EXPECT_EQ(track.counter().unit_name(), "s/s");
      for (const auto& [at_ns, value] : values) EXPECT_DOUBLE_EQ(value, 1.5);
      ++seen;
    } else if (track.name() == "rss") {
      EXPECT_EQ(track.counter().unit(), pb::CounterDescriptor::UNIT_SIZE_BYTES);
      EXPECT_DOUBLE_EQ(values.front().second, 101 << 20);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 4u);
}

}  // namespace
}  // namespace interlude
