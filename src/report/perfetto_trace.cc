#include "report/perfetto_trace.h"

#include <iterator>
#include <map>
#include <unordered_map>

#include "report/perfetto_subset.pb.h"

namespace interlude {
namespace {

namespace pb = perfetto::protos;

/// Clocks from 64 to 127 mean something within one packet sequence only; each process has its own.
constexpr uint32_t kWorkerClock = 64;
/// A packet sequence that holds one packet, before all others.
constexpr uint32_t kTraceClockSequence = 1'000'000;
/// What Perfetto remembers of a process's packets, and so what need not be said again.
struct Sequence {
  uint32_t id = 0;
  std::map<int64_t, int64_t> snapshots;  // a time of its clock, the coordinator's
  bool on_own_clock = false;
  bool begun = false;
  std::unordered_map<std::string, uint64_t> event_names;
  std::unordered_map<std::string_view, uint64_t> argument_names;
};

/// The coordinator's time that Perfetto makes of a time: by the last snapshot before it, and before
/// the first one by that. There is one.
int64_t BySnapshots(const std::map<int64_t, int64_t>& snapshots, int64_t own_ns) {
  const auto after = snapshots.upper_bound(own_ns);
  const auto& [at_ns, coordinator_ns] = *(after == snapshots.begin() ? after : std::prev(after));
  int64_t shift_ns = 0;
  if (__builtin_sub_overflow(coordinator_ns, at_ns, &shift_ns)) return coordinator_ns;
  return OnOneClock(own_ns, shift_ns);
}

class PerfettoSink : public TraceSink {
 public:
  explicit PerfettoSink(std::ostream& out) : out_(out) {}

  void AddProcess(const TraceProcess& process) override;
  void AddTrack(const TraceTrack& track) override;
  void AddSlice(const TraceSlice& slice) override;
  void AddInstant(const TraceSlice& instant) override { PutEvent(instant, instant.begin_ns, true); }
  void AddValue(const TraceValue& value) override;
  void Finish() override { out_.flush(); }

 private:
  static void AddClock(pb::ClockSnapshot& snapshot, uint32_t clock, int64_t ns) {
    auto* reading = snapshot.add_clocks();
    reading->set_clock_id(clock);
    reading->set_timestamp(static_cast<uint64_t>(ns));
  }
  void PutTraceClock(int64_t ns);
  void PutSnapshots(Sequence& sequence, const std::map<int64_t, int64_t>& shifts);
  void PutEvent(const TraceSlice& slice, int64_t at_ns, bool instant);
  static void SetTime(pb::TracePacket& packet, const Sequence& sequence, int64_t own_ns,
                      int64_t shift_ns);
  void SetName(pb::TracePacket& packet, Sequence& sequence, const std::string& name);
  void AddArgument(pb::TracePacket& packet, Sequence& sequence, const TraceArgument& argument);
  void Put(Sequence& sequence, pb::TracePacket& packet);
  void Put(const pb::TracePacket& packet);

  std::ostream& out_;
  std::map<int32_t, Sequence> sequences_;  // by process
  std::unordered_map<uint64_t, Sequence*> tracks_;
  std::string bytes_;
};

void PerfettoSink::Put(const pb::TracePacket& packet) {
  // As the repeated field `packet` of Trace: its tag, the length, the message.
  bytes_.assign(1, '\x0A');
  auto length = static_cast<uint32_t>(packet.ByteSizeLong());
  for (; length >= 0x80; length >>= 7) bytes_ += static_cast<char>(0x80 | (length & 0x7F));
  bytes_ += static_cast<char>(length);
  packet.AppendToString(&bytes_);
  out_.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
}

void PerfettoSink::Put(Sequence& sequence, pb::TracePacket& packet) {
  packet.set_trusted_packet_sequence_id(sequence.id);
  uint32_t flags = pb::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE;
  if (!sequence.begun) {
    sequence.begun = true;
    flags |= pb::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED;
    packet.set_first_packet_on_sequence(true);
    packet.set_previous_packet_dropped(1);
    packet.mutable_trace_packet_defaults()->set_timestamp_clock_id(
        sequence.on_own_clock ? kWorkerClock : uint32_t{pb::BUILTIN_CLOCK_MONOTONIC});
  }
  packet.set_sequence_flags(flags);
  Put(packet);
}

void PerfettoSink::AddProcess(const TraceProcess& process) {
  Sequence& sequence = sequences_[process.process];
  sequence.id = static_cast<uint32_t>(sequences_.size());
  sequence.on_own_clock = !process.shifts.empty();
  tracks_[process.track] = &sequence;
  if (sequences_.size() == 1) PutTraceClock(process.begin_ns);
  pb::TracePacket packet;
  auto* descriptor = packet.mutable_track_descriptor();
  descriptor->set_uuid(process.track);
  descriptor->set_child_ordering(pb::TrackDescriptor::EXPLICIT);
  // Process ids of different machines may be equal, and Perfetto would take them for one process.
  descriptor->mutable_process()->set_pid(process.process + 2);
  descriptor->mutable_process()->set_process_name(process.name);
  descriptor->mutable_process()->set_legacy_sort_index(process.process + 1);
  Put(sequence, packet);
  PutSnapshots(sequence, process.shifts);
}

/// Says that the trace runs on CLOCK_MONOTONIC, by which is meant the coordinator's.
void PerfettoSink::PutTraceClock(int64_t ns) {
  pb::TracePacket packet;
  packet.mutable_clock_snapshot()->set_primary_trace_clock(pb::BUILTIN_CLOCK_MONOTONIC);
  AddClock(*packet.mutable_clock_snapshot(), pb::BUILTIN_CLOCK_MONOTONIC, ns);
  packet.set_trusted_packet_sequence_id(kTraceClockSequence);
  Put(packet);
}

/// Perfetto refuses a clock that is set back, so no such snapshot is written; nor one that says
/// nothing new.
void PerfettoSink::PutSnapshots(Sequence& sequence, const std::map<int64_t, int64_t>& shifts) {
  auto& snapshots = sequence.snapshots;
  for (const auto& [own_ns, shift_ns] : shifts) {
    const int64_t coordinator_ns = OnOneClock(own_ns, shift_ns);
    if (!snapshots.empty() && (coordinator_ns <= snapshots.rbegin()->second ||
                               coordinator_ns == BySnapshots(snapshots, own_ns)))
      continue;
    snapshots[own_ns] = coordinator_ns;
    pb::TracePacket packet;
    AddClock(*packet.mutable_clock_snapshot(), kWorkerClock, own_ns);
    AddClock(*packet.mutable_clock_snapshot(), pb::BUILTIN_CLOCK_MONOTONIC, coordinator_ns);
    Put(sequence, packet);
  }
}

void PerfettoSink::AddTrack(const TraceTrack& track) {
  Sequence& sequence = sequences_.at(track.process);
  tracks_[track.track] = &sequence;
  pb::TracePacket packet;
  auto* descriptor = packet.mutable_track_descriptor();
  descriptor->set_uuid(track.track);
  descriptor->set_parent_uuid(track.parent);
  descriptor->set_name(track.name);
  if (!track.description.empty()) descriptor->set_description(track.description);
  descriptor->set_child_ordering(pb::TrackDescriptor::EXPLICIT);
  descriptor->set_sibling_order_rank(track.rank);
  if (track.unit) {
    auto* counter = descriptor->mutable_counter();
    if (*track.unit == "bytes") {
      counter->set_unit(pb::CounterDescriptor::UNIT_SIZE_BYTES);
    } else if (*track.unit == "ns") {
      counter->set_unit(pb::CounterDescriptor::UNIT_TIME_NS);
    } else if (!track.unit->empty()) {
      counter->set_unit_name(*track.unit);
    }
  }
  Put(sequence, packet);
}

/// A time of the process's own, where the snapshots put it right; else on the coordinator's clock.
void PerfettoSink::SetTime(pb::TracePacket& packet, const Sequence& sequence, int64_t own_ns,
                           int64_t shift_ns) {
  const int64_t coordinator_ns = OnOneClock(own_ns, shift_ns);
  const bool by_snapshots =
      !sequence.on_own_clock || BySnapshots(sequence.snapshots, own_ns) == coordinator_ns;
  if (!by_snapshots) packet.set_timestamp_clock_id(pb::BUILTIN_CLOCK_MONOTONIC);
  packet.set_timestamp(static_cast<uint64_t>(by_snapshots ? own_ns : coordinator_ns));
}

void PerfettoSink::SetName(pb::TracePacket& packet, Sequence& sequence, const std::string& name) {
  const auto [known, is_new] =
      sequence.event_names.try_emplace(name, sequence.event_names.size() + 1);
  packet.mutable_track_event()->set_name_iid(known->second);
  if (!is_new) return;
  auto* interned = packet.mutable_interned_data()->add_event_names();
  interned->set_iid(known->second);
  interned->set_name(name);
}

void PerfettoSink::AddArgument(pb::TracePacket& packet, Sequence& sequence,
                               const TraceArgument& argument) {
  const auto [known, is_new] =
      sequence.argument_names.try_emplace(argument.name, sequence.argument_names.size() + 1);
  if (is_new) {
    auto* interned = packet.mutable_interned_data()->add_debug_annotation_names();
    interned->set_iid(known->second);
    interned->set_name(std::string(argument.name));
  }
  auto* annotation = packet.mutable_track_event()->add_debug_annotations();
  annotation->set_name_iid(known->second);
  if (const auto* number = std::get_if<int64_t>(&argument.value)) {
    annotation->set_int_value(*number);
  } else if (const auto* real = std::get_if<double>(&argument.value)) {
    annotation->set_double_value(*real);
  } else {
    annotation->set_string_value(std::get<std::string>(argument.value));
  }
}

void PerfettoSink::PutEvent(const TraceSlice& slice, int64_t at_ns, bool instant) {
  Sequence& sequence = *tracks_.at(slice.track);
  pb::TracePacket packet;
  SetTime(packet, sequence, at_ns, slice.shift_ns);
  auto* event = packet.mutable_track_event();
  event->set_type(instant ? pb::TrackEvent::TYPE_INSTANT : pb::TrackEvent::TYPE_SLICE_BEGIN);
  event->set_track_uuid(slice.track);
  SetName(packet, sequence, slice.name);
  for (const TraceArgument& argument : slice.arguments) AddArgument(packet, sequence, argument);
  if (!instant) {
    for (const uint64_t flow : slice.flows) event->add_flow_ids(flow);
  }
  Put(sequence, packet);
}

void PerfettoSink::AddSlice(const TraceSlice& slice) {
  PutEvent(slice, slice.begin_ns, false);
  Sequence& sequence = *tracks_.at(slice.track);
  pb::TracePacket end;
  SetTime(end, sequence, slice.end_ns, slice.shift_ns);
  end.mutable_track_event()->set_type(pb::TrackEvent::TYPE_SLICE_END);
  end.mutable_track_event()->set_track_uuid(slice.track);
  Put(sequence, end);
}

void PerfettoSink::AddValue(const TraceValue& value) {
  Sequence& sequence = *tracks_.at(value.track);
  pb::TracePacket packet;
  SetTime(packet, sequence, value.at_ns, value.shift_ns);
  packet.mutable_track_event()->set_type(pb::TrackEvent::TYPE_COUNTER);
  packet.mutable_track_event()->set_track_uuid(value.track);
  packet.mutable_track_event()->set_double_counter_value(value.value);
  Put(sequence, packet);
}

}  // namespace

std::unique_ptr<TraceSink> MakePerfettoSink(std::ostream& out) {
  return std::make_unique<PerfettoSink>(out);
}

}  // namespace interlude
