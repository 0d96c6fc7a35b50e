#include "report/chrome_trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

namespace interlude {
namespace {

using Json = nlohmann::ordered_json;

struct Track {
  int pid = 0;
  std::string path;  // the names of the tracks above it and its own
  std::string unit;  // of a counter
};

/// A slice that a flow passes through.
struct FlowStep {
  uint64_t flow = 0;
  int64_t at_ns = 0;
  uint64_t track = 0;
};

class ChromeSink : public TraceSink {
 public:
  explicit ChromeSink(std::ostream& out) : out_(out) {
    out_ << R"({"displayTimeUnit":"ms","traceEvents":[)";
  }

  void AddProcess(const TraceProcess& process) override;
  void AddTrack(const TraceTrack& track) override;
  void AddSlice(const TraceSlice& slice) override;
  void AddInstant(const TraceSlice& instant) override;
  void AddValue(const TraceValue& value) override;
  void Finish() override;

 private:
  static double Microseconds(int64_t ns) { return static_cast<double>(ns) / 1000.0; }
  Json Event(const char* kind, const std::string& name, uint64_t track, int64_t at_ns) const;
  void AddMetadata(const char* what, int pid, uint64_t tid, Json arguments);
  void Put(const Json& event);

  std::ostream& out_;
  bool first_ = true;
  std::unordered_map<uint64_t, Track> tracks_;
  std::map<int32_t, uint64_t> process_tracks_;
  std::vector<FlowStep> steps_;
};

Json ArgumentsOf(const TraceSlice& slice) {
  Json arguments = Json::object();
  for (const TraceArgument& argument : slice.arguments) {
    std::visit([&](const auto& value) { arguments[std::string(argument.name)] = value; },
               argument.value);
  }
  return arguments;
}

void ChromeSink::Put(const Json& event) {
  out_ << (first_ ? "\n" : ",\n")
       << event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  first_ = false;
}

Json ChromeSink::Event(const char* kind, const std::string& name, uint64_t track,
                       int64_t at_ns) const {
  return {{"ph", kind},
          {"name", name},
          {"pid", tracks_.at(track).pid},
          {"tid", track},
          {"ts", Microseconds(at_ns)}};
}

void ChromeSink::AddMetadata(const char* what, int pid, uint64_t tid, Json arguments) {
  Put({{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", std::move(arguments)}});
}

void ChromeSink::AddProcess(const TraceProcess& process) {
  // Process ids of different machines may be equal.
  const int pid = process.process + 2;
  tracks_[process.track] = {pid, "", ""};
  process_tracks_[process.process] = process.track;
  AddMetadata("process_name", pid, 0, {{"name", process.name}});
  AddMetadata("process_sort_index", pid, 0, {{"sort_index", pid}});
}

void ChromeSink::AddTrack(const TraceTrack& track) {
  const Track& process = tracks_.at(process_tracks_.at(track.process));
  const std::string& above = tracks_.at(track.parent).path;
  Track added{process.pid, above.empty() ? track.name : above + ": " + track.name,
              track.unit.value_or("")};
  if (!track.unit) {
    AddMetadata("thread_name", added.pid, track.track, {{"name", added.path}});
    AddMetadata("thread_sort_index", added.pid, track.track, {{"sort_index", track.track}});
  }
  tracks_[track.track] = std::move(added);
}

void ChromeSink::AddSlice(const TraceSlice& slice) {
  const int64_t begin_ns = OnOneClock(slice.begin_ns, slice.shift_ns);
  Json event = Event("X", slice.name, slice.track, begin_ns);
  event["dur"] = Microseconds(OnOneClock(slice.end_ns, slice.shift_ns) - begin_ns);
  event["args"] = ArgumentsOf(slice);
  Put(event);
  for (const uint64_t flow : slice.flows) steps_.push_back({flow, begin_ns, slice.track});
}

void ChromeSink::AddInstant(const TraceSlice& instant) {
  Json event =
      Event("i", instant.name, instant.track, OnOneClock(instant.begin_ns, instant.shift_ns));
  event["s"] = "t";
  event["args"] = ArgumentsOf(instant);
  Put(event);
}

void ChromeSink::AddValue(const TraceValue& value) {
  const Track& track = tracks_.at(value.track);
  Json event = Event("C", track.path, value.track, OnOneClock(value.at_ns, value.shift_ns));
  event["args"] = {{track.unit.empty() ? "value" : track.unit, value.value}};
  Put(event);
}

void ChromeSink::Finish() {
  std::sort(steps_.begin(), steps_.end(), [](const FlowStep& a, const FlowStep& b) {
    return std::tie(a.flow, a.at_ns, a.track) < std::tie(b.flow, b.at_ns, b.track);
  });
  for (size_t i = 0; i < steps_.size(); ++i) {
    const bool begins = i == 0 || steps_[i - 1].flow != steps_[i].flow;
    const bool ends = i + 1 == steps_.size() || steps_[i + 1].flow != steps_[i].flow;
    if (begins && ends) continue;  // it leads nowhere
    Json event = Event(begins ? "s" : ends ? "f" : "t", "chunk", steps_[i].track, steps_[i].at_ns);
    event["cat"] = "chunk";
    event["id"] = steps_[i].flow;
    if (!begins) event["bp"] = "e";  // to the slice around it, not to the next one
    Put(event);
  }
  out_ << "\n]}\n";
  out_.flush();
}

}  // namespace

std::unique_ptr<TraceSink> MakeChromeSink(std::ostream& out) {
  return std::make_unique<ChromeSink>(out);
}

}  // namespace interlude
