// What a trace consists of, one piece after the other, and whoever writes the pieces in a format.
// Times are those of the process that a track belongs to; the sink brings them to one clock. One
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ledger/clock_probe.h"
#include "ledger/span.h"

namespace interlude {

struct TraceProcess {
  int32_t process = kNoWorker;  // a worker's id, or kNoWorker for the coordinator
  uint64_t track = 0;           // its own track, the parent of all others
  std::string name;
  /// How its clock is brought to the coordinator's; none for times that are left as they are.
  std::optional<ClockEstimate> clock;
  /// All its times lie between these.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct TraceTrack {
  uint64_t track = 0;  // not 0, unique in the trace
  int32_t process = kNoWorker;
  uint64_t parent = 0;      // the track that it is shown under
  std::string name;         // siblings of one name are lanes of one row
  std::string description;  // for people; may be empty
  int32_t rank = 0;         // among the tracks of its parent, from the top
  /// Of a track of counter values: "bytes", "ns", "s/s"; none for a track of slices and instants.
  std::optional<std::string> unit;
};

/// `name` lives as long as the program.
struct TraceArgument {
  std::string_view name;
  std::variant<int64_t, double, std::string> value;
};

struct TraceSlice {
  uint64_t track = 0;
  std::string name;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::vector<TraceArgument> arguments;
  std::vector<uint64_t> flows;  // slices of one flow are joined by arrows, in order of time
};

/// The order of calls: a process, then its tracks, each before what is on it. What is
/// on one track comes in order of time, and its slices do not overlap.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void AddProcess(const TraceProcess& process) = 0;
  virtual void AddTrack(const TraceTrack& track) = 0;
  virtual void AddSlice(const TraceSlice& slice) = 0;
  /// A slice without length; end_ns and flows are not used.
  virtual void AddInstant(const TraceSlice& instant) = 0;
  /// The value that holds from `at_ns` until the next one.
  virtual void AddCounter(uint64_t track, int64_t at_ns, double value) = 0;
  /// Once, after everything else.
  virtual void Finish() = 0;
};

}  // namespace interlude
