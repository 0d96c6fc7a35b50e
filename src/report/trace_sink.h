// What a trace consists of, one piece after the other, and whoever writes the pieces in a format.
// Times are those of the process that a track belongs to, beside what brings them onto one clock.
// One thread.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ledger/span.h"

namespace interlude {

struct TraceProcess {
  int32_t process = kNoWorker;  // a worker's id, or kNoWorker for the coordinator
  uint64_t track = 0;           // its own track, the parent of all others
  std::string name;
  /// How its clock is brought to the coordinator's.
  /// From each of these of its times on what is to be added; empty for times that are left as they
  /// are. A slice may say otherwise.
  std::map<int64_t, int64_t> shifts;
  int64_t begin_ns = 0;  // none of its times is earlier
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
  int64_t shift_ns = 0;         // what brings its times onto the coordinator's clock
};

/// From `at_ns` on, until the next one.
struct TraceValue {
  uint64_t track = 0;
  int64_t at_ns = 0;
  double value = 0;
  int64_t shift_ns = 0;  // as a slice's
};

/// A process's time on the coordinator's clock. Saturates.
inline int64_t OnOneClock(int64_t own_ns, int64_t shift_ns) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(own_ns, shift_ns, &sum)) return sum;
  return shift_ns > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

/// The order of calls: a process, then its tracks, each before what is on it. Slices of one track
/// come in order of time on the coordinator's clock and do not overlap there; nor do instants come
/// out of order.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void AddProcess(const TraceProcess& process) = 0;
  virtual void AddTrack(const TraceTrack& track) = 0;
  virtual void AddSlice(const TraceSlice& slice) = 0;
  /// A slice without length; end_ns and flows are not used.
  virtual void AddInstant(const TraceSlice& instant) = 0;
  virtual void AddValue(const TraceValue& value) = 0;
  /// Once, after everything else.
  virtual void Finish() = 0;
};

}  // namespace interlude
