#include "analysis/activity_graph.h"

#include <algorithm>
#include <optional>

#include "analysis/wide.h"
#include "base/check.h"

namespace interlude {
namespace {

constexpr Wide kNever = Wide{1} << 120;

/// Of `activity.after` the one that ended last; nothing where it is after nothing.
std::optional<uint32_t> LastBefore(const ActivityGraph& graph, const Activity& activity) {
  std::optional<uint32_t> last;
  for (const uint32_t before : activity.after) {
    if (!last || graph[before].end_ns > graph[*last].end_ns) last = before;
  }
  return last;
}

void CheckOrder(const Activity& activity, size_t place) {
  for (const uint32_t before : activity.after) {
    INTERLUDE_CHECK(before < place, "activity {} is after {}, which stands behind it", place,
                    before);
  }
}

/// Goes back in time, and lays down a piece wherever it has got further.
class Walk {
 public:
  Walk(int64_t begin_ns, int64_t end_ns) : begin_ns_(begin_ns), at_ns_(end_ns) {}

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

  std::vector<WalkPiece> Take() {
    std::reverse(pieces_.begin(), pieces_.end());
    return std::move(pieces_);
  }

 private:
  const int64_t begin_ns_;
  int64_t at_ns_;
  int32_t clock_ = kNoWorker;
  std::vector<WalkPiece> pieces_;
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

std::vector<WalkPiece> CriticalPath(const ActivityGraph& graph, uint32_t last, int64_t begin_ns,
                                    int64_t end_ns) {
  Walk walk(begin_ns, end_ns);
  uint32_t here = last;
  walk.BackTo(graph[here].end_ns, graph[here].end_clock, here, true);
  while (!walk.done()) {
    const Activity& activity = graph[here];
    CheckOrder(activity, here);
    walk.BackTo(activity.begin_ns, activity.begin_clock, here, false);
    const std::optional<uint32_t> before = LastBefore(graph, activity);
    if (!before) {
      walk.BackTo(begin_ns, kNoWorker, here, true);
      break;
    }
    walk.BackTo(graph[*before].end_ns, graph[*before].end_clock, here, true, before);
    here = *before;
  }
  return walk.Take();
}

GraphTimes::GraphTimes(const ActivityGraph& graph, uint32_t last) : graph_(graph), last_(last) {
  lags_.reserve(graph.size());
  for (size_t place = 0; place < graph.size(); ++place) {
    const Activity& activity = graph[place];
    CheckOrder(activity, place);
    int64_t ready = std::numeric_limits<int64_t>::min();
    for (const uint32_t before : activity.after) ready = std::max(ready, graph[before].end_ns);
    const Wide begin = activity.begin_ns;
    lags_.push_back(activity.after.empty() ? begin : begin - ready);
  }
}

std::vector<int64_t> GraphTimes::Slack() const {
  std::vector<Wide> latest_end(graph_.size(), kNever);
  latest_end[last_] = graph_[last_].end_ns;
  for (uint32_t place = last_ + 1; place-- > 0;) {
    const Activity& activity = graph_[place];
    if (latest_end[place] == kNever) continue;
    const Wide latest_begin = latest_end[place] - (Wide{activity.end_ns} - activity.begin_ns);
    const Wide needed = latest_begin - lags_[place];
    for (const uint32_t before : activity.after)
      latest_end[before] = std::min(latest_end[before], needed);
  }
  std::vector<int64_t> slack(graph_.size(), kUnlimitedSlack);
  for (size_t i = 0; i < graph_.size(); ++i) {
    if (latest_end[i] != kNever) slack[i] = Narrow(latest_end[i] - graph_[i].end_ns);
  }
  return slack;
}

int64_t GraphTimes::Recompute(const std::vector<int64_t>& durations_ns) const {
  INTERLUDE_CHECK(durations_ns.size() == graph_.size(), "{} durations for {} activities",
                  durations_ns.size(), graph_.size());
  const auto as_it_was = [&](size_t place) {
    return durations_ns[place] == graph_[place].end_ns - graph_[place].begin_ns;
  };
  std::vector<Wide> ends(size_t{last_} + 1);
  uint32_t place = 0;
  // Before the first other duration all ended when it did: that is what lags are.
  for (; place <= last_ && as_it_was(place); ++place) ends[place] = graph_[place].end_ns;
  for (; place <= last_; ++place) {
    const Places& after = graph_[place].after;
    Wide ready = after.empty() ? Wide{0} : ends[after.front()];
    for (const uint32_t before : after) ready = std::max(ready, ends[before]);
    ends[place] = ready + lags_[place] + durations_ns[place];
  }
  return Narrow(ends[last_]);
}

}  // namespace interlude
