// Activities and what each had to wait for: the arithmetic of the critical path, of slack and of
// drag. Knows nothing of rounds, clocks or databases. Pure functions; any thread.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ledger/span.h"

namespace interlude {

/// What somebody was doing; the names are those of the report and of JSON.
enum class ActivityKind : uint8_t {
  kStart,         // the round's start message: from its decision until a worker has heard it
  kAwaitRound,    // a worker waits for it; only where no start was recorded
  kShareBase,     // a worker catches up within the round
  kEvaluate,      // a worker's part of the test set
  kTrain,         // local steps
  kEncode,        // a chunk of a delta
  kUpload,        // a chunk handed to the link
  kLinkUp,        // on its way: from the worker's last byte handed over to the last one received
  kReceive,       // a chunk comes in of which nobody knows when it was sent
  kLedger,        // the records of the round before, to run.db
  kDecide,        // from what was heard of a chunk until its merge, or its sending, is ordered
  kMerge,         // a chunk
  kSave,          // a full model to disk
  kAsk,           // a worker's call for the sync delta on its way
  kSend,          // a sync chunk handed to a worker's link
  kLinkDown,      // on its way, from the coordinator's last byte to the worker's
  kDownload,      // a sync chunk comes in of which nobody knows when it was sent
  kApply,         // a sync chunk
  kCall,          // a worker opens a call to the coordinator, or closes it behind its last chunk
  kVerify,        // the hash, and repair
  kReport,        // the report on its way
  kWait,          // a worker waits for the first sync chunk; only where no send was recorded
  kWaitDeadline,  // all waited for this worker, until the round went on without it
  kJoin,          // where several come together; takes no time
  kHandOver,      // between two records of one process: from one thread to another
  kUnexplained,   // no record says what happened
};
inline constexpr size_t kActivityKinds = static_cast<size_t>(ActivityKind::kUnexplained) + 1;

/// "train", "link_up", ...
std::string_view ActivityName(ActivityKind kind);

/// The chunk of what covers no single one.
inline constexpr uint32_t kNoChunk = std::numeric_limits<uint32_t>::max();

/// Places of activities in a graph. Most are after one or two: those need no memory of their own.
using Places = absl::InlinedVector<uint32_t, 4>;

/// Begins when all in `after` have ended, and a lag later, which is what was observed. The lag is
/// negative where one of them ended after this had begun.
struct Activity {
  ActivityKind kind = ActivityKind::kJoin;
  /// The first part of a link: the way itself, which any number of chunks go side by side.
  bool flight = false;
  int32_t worker = kNoWorker;  // whose it is; kNoWorker: the coordinator's
  uint32_t chunk = kNoChunk;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // not before begin_ns
  /// Whose clock told the two times; kNoWorker: the coordinator's.
  int32_t begin_clock = kNoWorker;
  int32_t end_clock = kNoWorker;
  Places after;  // earlier activities
};

/// In an order in which each activity stands behind all that it is after: so there is no circle.
using ActivityGraph = std::pmr::vector<Activity>;

/// A stretch of the critical path.
struct WalkPiece {
  uint32_t activity = 0;  // what was done; of a gap, what was done next
  bool gap = false;       // between two activities, before the first or behind the last
  /// Of a gap between two: what had been done before.
  std::optional<uint32_t> before = std::nullopt;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int32_t begin_clock = kNoWorker;
  int32_t end_clock = kNoWorker;
};

/// Walks back from `end_ns` over the activity `last` to `begin_ns`, at each activity to that of its
/// `after` which ended last (the first of equals). The pieces come in order of time; each begins
/// where the one before ended, the first at begin_ns, the last ends at end_ns: they sum to
/// end_ns - begin_ns exactly, whatever the graph holds. What lies outside these two is cut off, and
/// so is what an activity did after the one behind it had begun. Empty pieces are left out. They
/// are in the graph's memory.
std::pmr::vector<WalkPiece> CriticalPath(const ActivityGraph& graph, uint32_t last,
                                         int64_t begin_ns, int64_t end_ns);

/// The slack of what `last` does not depend on.
inline constexpr int64_t kUnlimitedSlack = std::numeric_limits<int64_t>::max();

/// What follows from all lags of a graph. Exact whatever its times are: a slack beyond 64 bits is
/// kUnlimitedSlack, a time the nearest that they hold.
class GraphTimes {
 public:
  /// The graph outlives it, and so does the memory that the graph is in.
  GraphTimes(const ActivityGraph& graph, uint32_t last);

  /// For each activity: by how much it could have ended later without `last` ending later, all lags
  /// and other durations as they were ("total float" in network planning).
  std::vector<int64_t> Slack() const;
  /// The same, into one for each activity.
  void FillSlack(std::span<int64_t> slack_ns) const;

  /// When `last` would have ended if the activities had taken these times, all lags as they were.
  /// What is after nothing begins when it did. With the graph's own durations: last's end_ns.
  int64_t Recompute(std::span<const int64_t> durations_ns) const;

 private:
  template <typename Sum>
  std::optional<Sum> EndWith(std::span<const int64_t> durations_ns) const;

  const ActivityGraph& graph_;
  const uint32_t last_;
  std::pmr::vector<int64_t> ready_ns_;  // of each: when all that it is after have ended
};

}  // namespace interlude
