#include "analysis/activity_graph.h"

#include <algorithm>
#include <optional>

#include "analysis/wide.h"
#include "base/check.h"

namespace interlude {
namespace {

/// Of `activity.after` the one that ended last; nothing where it is after nothing.
std::optional<uint32_t> LastBefore(const ActivityGraph& graph, const Activity& activity) {
  std::optional<uint32_t> last;
  for (const uint32_t before : activity.after) {
    if (!last || graph[before].end_ns > graph[*last].end_ns) last = before;
  }
  return last;
}

void CheckOrder(uint32_t before, size_t place) {
  INTERLUDE_CHECK(before < place, "activity {} is after {}, which stands behind it", place, before);
}

/// `a` and `b` are not negative.
int64_t SlackSum(int64_t a, uint64_t b) {
  return b < static_cast<uint64_t>(kUnlimitedSlack - a) ? a + static_cast<int64_t>(b)
                                                        : kUnlimitedSlack;
}

/// Goes back in time, and lays down a piece wherever it has got further.
class Walk {
 public:
  /// Pieces in `memory`.
  Walk(int64_t begin_ns, int64_t end_ns, std::pmr::memory_resource* memory)
      : begin_ns_(begin_ns), at_ns_(end_ns), pieces_(memory) {}

  void BackTo(int64_t time_ns, int32_t clock, uint32_t activity, bool gap,
              std::optional<uint32_t> before = std::nullopt) {
    if (done() || time_ns >= at_ns_) return;
    const bool outside = time_ns <= begin_ns_;
    const int64_t to_ns = outside ? begin_ns_ : time_ns;
    const int32_t to_clock = outside ? kNoWorker : clock;
    pieces_.push_back({activity, gap, before, to_ns, at_ns_, to_clock, clock_});
    at_ns_ = to_ns;
    clock_ = to_clock;
  }
  bool done() const { return at_ns_ <= begin_ns_; }

  std::pmr::vector<WalkPiece> Take() {
    std::reverse(pieces_.begin(), pieces_.end());
    return std::move(pieces_);
  }

 private:
  const int64_t begin_ns_;
  int64_t at_ns_;
  int32_t clock_ = kNoWorker;
  std::pmr::vector<WalkPiece> pieces_;
};

}  // namespace

std::string_view ActivityName(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kStart:
      return "start";
    case ActivityKind::kAwaitRound:
      return "await_round";
    case ActivityKind::kShareBase:
      return "share_base";
    case ActivityKind::kEvaluate:
      return "evaluate";
    case ActivityKind::kTrain:
      return "train";
    case ActivityKind::kEncode:
      return "encode";
    case ActivityKind::kUpload:
      return "upload";
    case ActivityKind::kLinkUp:
      return "link_up";
    case ActivityKind::kReceive:
      return "receive";
    case ActivityKind::kLedger:
      return "ledger";
    case ActivityKind::kDecide:
      return "decide";
    case ActivityKind::kMerge:
      return "merge";
    case ActivityKind::kSave:
      return "save";
    case ActivityKind::kAsk:
      return "ask";
    case ActivityKind::kSend:
      return "send";
    case ActivityKind::kLinkDown:
      return "link_down";
    case ActivityKind::kDownload:
      return "download";
    case ActivityKind::kApply:
      return "apply";
    case ActivityKind::kCall:
      return "call";
    case ActivityKind::kVerify:
      return "verify";
    case ActivityKind::kReport:
      return "report";
    case ActivityKind::kWait:
      return "wait";
    case ActivityKind::kWaitDeadline:
      return "wait_deadline";
    case ActivityKind::kJoin:
      return "join";
    case ActivityKind::kHandOver:
      return "hand_over";
    case ActivityKind::kUnexplained:
      return "unexplained";
  }
  return "unknown";
}

std::pmr::vector<WalkPiece> CriticalPath(const ActivityGraph& graph, uint32_t last,
                                         int64_t begin_ns, int64_t end_ns) {
  Walk walk(begin_ns, end_ns, graph.get_allocator().resource());
  uint32_t here = last;
  walk.BackTo(graph[here].end_ns, graph[here].end_clock, here, true);
  while (!walk.done()) {
    const Activity& activity = graph[here];
    walk.BackTo(activity.begin_ns, activity.begin_clock, here, false);
    const std::optional<uint32_t> before = LastBefore(graph, activity);
    if (!before) {
      walk.BackTo(begin_ns, kNoWorker, here, true);
      break;
    }
    CheckOrder(*before, here);
    walk.BackTo(graph[*before].end_ns, graph[*before].end_clock, here, true, before);
    here = *before;
  }
  return walk.Take();
}

GraphTimes::GraphTimes(const ActivityGraph& graph, uint32_t last)
    : graph_(graph), last_(last), ready_ns_(graph.get_allocator()) {
  ready_ns_.reserve(size_t{last} + 1);
  for (uint32_t place = 0; place <= last; ++place) {
    int64_t ready = std::numeric_limits<int64_t>::min();
    for (const uint32_t before : graph[place].after) {
      CheckOrder(before, place);
      ready = std::max(ready, graph[before].end_ns);
    }
    ready_ns_.push_back(ready);
  }
}

std::vector<int64_t> GraphTimes::Slack() const {
  std::vector<int64_t> slack(graph_.size());
  FillSlack(slack);
  return slack;
}

void GraphTimes::FillSlack(std::span<int64_t> slack) const {
  std::fill(slack.begin(), slack.end(), kUnlimitedSlack);
  slack[last_] = 0;
  for (uint32_t place = last_ + 1; place-- > 0;) {
    if (slack[place] == kUnlimitedSlack) continue;
    const auto ready = static_cast<uint64_t>(ready_ns_[place]);
    for (const uint32_t before : graph_[place].after) {
      // It could have ended as late as the last of them, and this one later besides.
      const uint64_t earlier = ready - static_cast<uint64_t>(graph_[before].end_ns);
      slack[before] = std::min(slack[before], SlackSum(slack[place], earlier));
    }
  }
}

/// See Recompute. Nothing where sums leave `Sum`, as those of nonsense times do.
template <typename Sum>
std::optional<Sum> GraphTimes::EndWith(std::span<const int64_t> durations_ns) const {
  bool fits = true;
  const auto plus = [&fits](Sum a, Sum b) {
    Sum sum = 0;
    fits &= !__builtin_add_overflow(a, b, &sum);
    return sum;
  };
  const auto minus = [&fits](Sum a, Sum b) {
    Sum difference = 0;
    fits &= !__builtin_sub_overflow(a, b, &difference);
    return difference;
  };
  std::pmr::vector<Sum> ends(size_t{last_} + 1, graph_.get_allocator());
  uint32_t place = 0;
  // Before the first other duration all end when they did: that is what lags are.
  for (; place <= last_; ++place) {
    if (durations_ns[place] != graph_[place].end_ns - graph_[place].begin_ns) break;
    ends[place] = graph_[place].end_ns;
  }
  for (; place <= last_; ++place) {
    const Activity& activity = graph_[place];
    Sum begin = activity.begin_ns;
    if (!activity.after.empty()) {
      Sum ready = ends[activity.after.front()];
      for (const uint32_t before : activity.after) ready = std::max(ready, ends[before]);
      begin = plus(begin, minus(ready, ready_ns_[place]));
    }
    ends[place] = plus(begin, durations_ns[place]);
  }
  return fits ? std::optional(ends[last_]) : std::nullopt;
}

int64_t GraphTimes::Recompute(std::span<const int64_t> durations_ns) const {
  INTERLUDE_CHECK(durations_ns.size() == graph_.size(), "{} durations for {} activities",
                  durations_ns.size(), graph_.size());
  if (const auto end = EndWith<int64_t>(durations_ns)) return *end;
  return Narrow(*EndWith<Wide>(durations_ns));
}

}  // namespace interlude
