#include "analysis/hand_over.h"

#include <algorithm>
#include <array>

#include "analysis/wide.h"

namespace interlude {
namespace {

using enum ActivityKind;

struct Pair {
  ActivityKind before, next;
  friend bool operator==(const Pair&, const Pair&) = default;
};

/// docs/report.md says of each what the program does in between.
constexpr std::array kOfWorker = {
    Pair{kStart, kEvaluate}, Pair{kStart, kTrain},    Pair{kEvaluate, kTrain},
    Pair{kTrain, kEncode},   Pair{kTrain, kCall},     Pair{kEncode, kEncode},
    Pair{kEncode, kUpload},  Pair{kEncode, kCall},    Pair{kCall, kUpload},
    Pair{kUpload, kUpload},  Pair{kLinkDown, kApply}, Pair{kDownload, kApply},
    Pair{kApply, kApply},    Pair{kLinkDown, kCall},  Pair{kDownload, kCall},
    Pair{kCall, kApply},     Pair{kApply, kVerify},   Pair{kCall, kVerify},
    Pair{kUpload, kVerify},
};
constexpr std::array kOfCoordinator = {
    Pair{kLedger, kStart},   Pair{kLinkUp, kDecide},
    Pair{kReceive, kDecide}, Pair{kWaitDeadline, kDecide},
    Pair{kLedger, kDecide},  Pair{kDecide, kMerge},
    Pair{kMerge, kMerge},    Pair{kMerge, kDecide},
    Pair{kMerge, kSave},     Pair{kSave, kDecide},
    Pair{kDecide, kSend},    Pair{kSend, kSend},
    Pair{kAsk, kSend},       Pair{kReport, kJoin},
};

/// The activity that a place where several come together ended with.
uint32_t BehindJoins(const ActivityGraph& graph, uint32_t place) {
  while (graph[place].kind == kJoin && !graph[place].after.empty()) {
    const Places& after = graph[place].after;
    place = *std::max_element(after.begin(), after.end(), [&](uint32_t a, uint32_t b) {
      return graph[a].end_ns < graph[b].end_ns;
    });
  }
  return place;
}

template <typename Pairs>
bool Holds(const Pairs& pairs, const Pair& pair) {
  return std::find(pairs.begin(), pairs.end(), pair) != pairs.end();
}

}  // namespace

bool IsHeldUpByQuota(const Throttling::Part& gap, int64_t length_ns) {
  return gap.held_up_ns >= length_ns / 2 && gap.cpu_ns <= kMostHandOverNs;
}

bool IsHandOver(const ActivityGraph& graph, uint32_t before, const WalkPiece& gap,
                const Throttling* throttling, int64_t shift_ns) {
  // The gap itself may be cut at the round's begin, on the coordinator's clock.
  const Activity& begin = graph[before];
  if (begin.end_clock != gap.end_clock) return false;
  const Activity& ended = graph[BehindJoins(graph, before)];
  const Activity& next = graph[gap.activity];
  const Wide length_ns = Wide{gap.end_ns} - begin.end_ns;
  // A worker that two activities are about may be two workers.
  if (gap.end_clock == kNoWorker)
    return length_ns <= kMostHandOverNs && Holds(kOfCoordinator, {ended.kind, next.kind});
  if (ended.worker != next.worker || !Holds(kOfWorker, {ended.kind, next.kind})) return false;
  if (length_ns <= kMostHandOverNs) return true;
  return throttling != nullptr &&
         IsHeldUpByQuota(throttling->Within(Narrow(Wide{begin.end_ns} - shift_ns),
                                            Narrow(Wide{gap.end_ns} - shift_ns)),
                         Narrow(length_ns));
}

}  // namespace interlude
