#include "analysis/round_clock.h"

#include <algorithm>
#include <cmath>
#include <memory_resource>
#include <tuple>

#include "analysis/nearly_sorted.h"

namespace interlude {
namespace {

constexpr int64_t kMostNs = int64_t{1} << 60;
constexpr double kMostDrift = 0.1;

bool CanBe(int64_t ns) { return ns >= -kMostNs && ns <= kMostNs; }

struct FirstBegin {
  uint32_t chunk;
  int64_t begin_ns;
};

/// When each chunk first began to go through, by chunk; kNoChunk, the last: when anything did.
std::pmr::vector<FirstBegin> FirstBegins(std::span<const ChunkStamp> stamps,
                                         std::pmr::memory_resource* memory) {
  std::pmr::vector<FirstBegin> begins(memory);
  begins.reserve(stamps.size() + 1);
  for (const ChunkStamp& stamp : stamps) begins.push_back({stamp.chunk, stamp.begin_ns});
  if (begins.empty()) return begins;
  const auto first = std::min_element(
      begins.begin(), begins.end(),
      [](const FirstBegin& a, const FirstBegin& b) { return a.begin_ns < b.begin_ns; });
  begins.push_back({kNoChunk, first->begin_ns});
  SortNearlySorted(begins, [](const FirstBegin& a, const FirstBegin& b) {
    return std::tie(a.chunk, a.begin_ns) < std::tie(b.chunk, b.begin_ns);
  });
  begins.erase(
      std::unique(begins.begin(), begins.end(),
                  [](const FirstBegin& a, const FirstBegin& b) { return a.chunk == b.chunk; }),
      begins.end());
  return begins;
}

/// The smallest of received - sent over what both know.
std::optional<int64_t> Quickest(const std::pmr::vector<FirstBegin>& sent,
                                const std::pmr::vector<FirstBegin>& received) {
  std::optional<int64_t> quickest;
  auto other = sent.begin();
  for (const FirstBegin& came : received) {
    while (other != sent.end() && other->chunk < came.chunk) ++other;
    if (other == sent.end()) break;
    if (other->chunk != came.chunk) continue;
    const int64_t took = came.begin_ns - other->begin_ns;
    quickest = std::min(quickest.value_or(took), took);
  }
  return quickest;
}

std::optional<int64_t> Quickest(std::span<const ChunkStamp> sent,
                                std::span<const ChunkStamp> received,
                                std::pmr::memory_resource* memory) {
  return Quickest(FirstBegins(sent, memory), FirstBegins(received, memory));
}

void AtMost(std::optional<int64_t>& bound, const std::optional<int64_t>& value) {
  if (value) bound = std::min(bound.value_or(*value), *value);
}

/// The first of them by their ends.
std::optional<int64_t> FirstEnd(std::span<const ChunkStamp> stamps) {
  return stamps.empty() ? std::nullopt : std::optional(stamps.front().end_ns);
}

int64_t LengthOf(const RoundRecord& round) {
  return std::max<int64_t>(0, round.end_ns - round.begin_ns);
}

/// Without probes.
WorkerClock FromCausality(const CausalInterval& allowed, const RoundRecord& round) {
  WorkerClock clock{.source = ClockSource::kCausality};
  if (!allowed.least_ns && !allowed.most_ns) return {};
  if (allowed.least_ns && allowed.most_ns) {
    const int64_t width = *allowed.most_ns - *allowed.least_ns;
    clock.shift_ns = *allowed.least_ns + width / 2;
    clock.error_ns = std::abs(width) - std::abs(width) / 2;
  } else {
    clock.shift_ns = allowed.least_ns ? *allowed.least_ns : *allowed.most_ns;
    clock.error_ns = LengthOf(round);
  }
  return clock;
}

WorkerClock FromProbes(int64_t shift_ns, int64_t error_ns, CausalInterval allowed) {
  if (allowed.least_ns && allowed.most_ns && *allowed.least_ns > *allowed.most_ns)
    std::swap(allowed.least_ns, allowed.most_ns);
  const int64_t least = allowed.least_ns.value_or(-2 * kMostNs);
  const int64_t most = allowed.most_ns.value_or(2 * kMostNs);
  WorkerClock clock{.source = ClockSource::kProbes, .shift_ns = std::clamp(shift_ns, least, most)};
  if (clock.shift_ns != shift_ns) clock.source = ClockSource::kClamped;
  // What both leave open: the probes' bound and the messages'.
  const int64_t from = std::max(least, shift_ns - error_ns);
  const int64_t to = std::min(most, shift_ns + error_ns);
  const auto reach = [&](int64_t a, int64_t b) {
    return std::max({int64_t{0}, clock.shift_ns - a, b - clock.shift_ns});
  };
  clock.error_ns = from <= to ? reach(from, to) : std::abs(clock.shift_ns - shift_ns) + error_ns;
  return clock;
}

}  // namespace

std::string_view ClockSourceName(ClockSource source) {
  switch (source) {
    case ClockSource::kNone:
      return "none";
    case ClockSource::kCausality:
      return "causality";
    case ClockSource::kProbes:
      return "probes";
    case ClockSource::kClamped:
      return "probes, clamped";
  }
  return "unknown";
}

CausalInterval CausalIntervalOf(const PhaseTimes& times, int32_t worker) {
  const auto of = [&](Phase phase) { return times.Of(phase, worker); };
  std::optional<int64_t> up = Quickest(of(Phase::kUpload), of(Phase::kReceive), times.memory());
  const auto verified = FirstEnd(of(Phase::kVerify));
  const auto reported = FirstEnd(of(Phase::kReport));
  if (verified && reported) AtMost(up, *reported - *verified);

  std::optional<int64_t> down = Quickest(of(Phase::kSend), of(Phase::kDownload), times.memory());
  const auto heard = FirstEnd(of(Phase::kAwaitRound));
  const std::span<const ChunkStamp> starts = of(Phase::kStart);
  if (heard && !starts.empty()) AtMost(down, *heard - starts.front().begin_ns);

  CausalInterval interval;
  interval.most_ns = up;
  if (down) interval.least_ns = -*down;
  return interval;
}

std::optional<int64_t> ShiftAt(const ClockEstimate& estimate, const RoundRecord& round) {
  const bool usable = estimate.method != ClockMethod::kNone && std::isfinite(estimate.drift) &&
                      std::abs(estimate.drift) <= kMostDrift && CanBe(estimate.offset_ns) &&
                      CanBe(estimate.at_ns) && estimate.error_ns >= 0;
  if (!usable) return std::nullopt;
  const int64_t middle_ns = round.begin_ns + (round.end_ns - round.begin_ns) / 2;
  const double since_ns =
      static_cast<double>(middle_ns - estimate.offset_ns - estimate.at_ns) / (1 + estimate.drift);
  return estimate.offset_ns + std::llround(estimate.drift * since_ns);
}

WorkerClock PlaceClock(const std::optional<ClockEstimate>& estimate, const CausalInterval& allowed,
                       const RoundRecord& round) {
  const std::optional<int64_t> shift = estimate ? ShiftAt(*estimate, round) : std::nullopt;
  const int64_t error_ns = estimate ? std::min(estimate->error_ns, kMostNs) : 0;
  WorkerClock clock = shift ? FromProbes(*shift, error_ns, allowed) : FromCausality(allowed, round);
  // No piece can be wrong by more.
  clock.error_ns = std::clamp<int64_t>(clock.error_ns, 0, LengthOf(round));
  if (allowed.least_ns && allowed.most_ns)
    clock.contradiction_ns = std::max<int64_t>(0, *allowed.least_ns - *allowed.most_ns);
  return clock;
}

std::map<int32_t, WorkerClock> PlaceClocks(const RoundRecords& records, const PhaseTimes& times) {
  std::map<int32_t, ClockEstimate> estimates;
  for (const ClockEstimate& estimate : records.clocks) estimates[estimate.worker] = estimate;
  std::map<int32_t, WorkerClock> clocks;
  for (const int32_t worker : times.workers()) {
    const auto found = estimates.find(worker);
    clocks[worker] =
        PlaceClock(found == estimates.end() ? std::nullopt : std::optional(found->second),
                   CausalIntervalOf(times, worker), records.round);
  }
  return clocks;
}

}  // namespace interlude
