// Why a worker's upload or download took longer: bandwidth, or latency and loss.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/cause_rules.h"
#include "base/human_text.h"

namespace interlude::internal {
namespace {

/// Where a way is far: so much longer, and so many times as long, as the median worker's.
constexpr int64_t kFartherNs = 2'000'000;
constexpr int64_t kFartherTimes = 3;
/// A queue stands in the way when packets need so much longer than the quickest probe.
constexpr int64_t kQueueNs = 5'000'000;
constexpr int64_t kQueueTimes = 2;
/// Where much is lost it is less sure: the last packets of what is sent again wait for an answer
/// that TCP may delay so long, which the smoothed round trip then contains. A short way is left
/// out: there much is lost where a queue is full.
constexpr int64_t kDelayedAnswerNs = 40'000'000;
constexpr double kHeavyLossShare = 0.02;
constexpr double kLossShare = 0.005;
constexpr int64_t kLossBytes = 4096;
/// What TCP sends before the first answer: 10 segments.
constexpr double kFirstWindow = 14'480;

struct Link {
  bool far = false;
  bool queue = false;
  bool lossy = false;
  bool tcp = false;        // its connections' figures are known
  int64_t farther_ns = 0;  // a round trip is so much longer
};

double LostShare(const HostFigures& host) {
  return static_cast<double>(host.tcp_retransmitted_bytes) /
         static_cast<double>(std::max<int64_t>(1, host.tcp_sent_bytes));
}

Link Look(const PhaseFacts& own, const PhaseFacts& median) {
  const HostFigures& host = own.host;
  Link link;
  const int64_t trip = own.probe_round_trip_ns, others = median.probe_round_trip_ns;
  if (trip >= 0 && others >= 0) {
    link.farther_ns = std::max<int64_t>(0, trip - others);
    link.far = link.farther_ns >= kFartherNs && trip >= kFartherTimes * others;
  }
  // The samples' figures are those of what the worker sends.
  if (own.phase != Phase::kUpload) return link;
  const double lost = LostShare(host);
  const int64_t answer = lost >= kHeavyLossShare ? std::min(trip, kDelayedAnswerNs) : 0;
  link.queue = trip >= 0 && host.tcp_round_trip_ns > kQueueTimes * trip + kQueueNs + answer;
  link.lossy = host.tcp_retransmitted_bytes >= kLossBytes && !link.queue && lost >= kLossShare;
  link.tcp =
      host.tcp_busy_ns >= 0 && host.tcp_receiver_limited_ns >= 0 && host.tcp_sender_limited_ns >= 0;
  return link;
}

/// Round trips that so many bytes need at least: one to begin, one for the answer, and TCP doubles
/// what it sends a round trip.
int64_t RoundTrips(uint64_t bytes) {
  return 2 +
         static_cast<int64_t>(std::ceil(std::log2(1 + static_cast<double>(bytes) / kFirstWindow)));
}

void SayLoss(PhaseCase& phase) {
  const HostFigures& host = phase.own.host;
  phase.Say(CauseKind::kLatencyOrLoss,
            fmt::format("{:.1f} % of its bytes were lost and sent again", 100 * LostShare(host)),
            fmt::format("{} of {} were sent again, and no queue stands in the way: packets took "
                        "{}.",
                        HumanBytes(static_cast<double>(host.tcp_retransmitted_bytes)),
                        HumanBytes(static_cast<double>(host.tcp_sent_bytes)),
                        HumanNs(std::max<int64_t>(0, host.tcp_round_trip_ns))));
}

void ExplainLoss(PhaseCase& phase, const Link& link) {
  const int64_t wanted = link.tcp ? phase.own.host.tcp_busy_ns : phase.left.blocked_ns;
  if (phase.Take(CauseKind::kLatencyOrLoss, &Budget::blocked_ns, wanted, true) > 0) SayLoss(phase);
}

std::string Rate(const PhaseFacts& facts) {
  const double seconds = static_cast<double>(facts.split.busy_ns()) / 1e9;
  return HumanBytes(static_cast<double>(facts.bytes) / std::max(seconds, 1e-9)) + "/s";
}

/// The connection had bytes to send, and neither a round trip nor a loss held them up.
void ExplainBandwidth(PhaseCase& phase, const Link& link) {
  const PhaseFacts &own = phase.own, &median = phase.median;
  const std::string rates =
      fmt::format("{} at {}, worker {} at {}", HumanBytes(static_cast<double>(own.bytes)),
                  Rate(own), median.worker, Rate(median));
  if (!link.tcp || own.probe_round_trip_ns < 0) {
    if (phase.Take(CauseKind::kBandwidth, &Budget::blocked_ns, phase.left.blocked_ns, false) == 0)
      return;
    phase.Say(CauseKind::kBandwidth, fmt::format("its link carried {}", Rate(own)), rates + ".");
    phase.Miss(
        own.phase == Phase::kUpload
            ? "No figures of its TCP connections and clock probes say what held the bytes up."
            : "How the coordinator's connection to this one worker did is not recorded.");
    return;
  }
  const HostFigures& host = own.host;
  const int64_t receiver =
      phase.Take(CauseKind::kBandwidth, &Budget::blocked_ns, host.tcp_receiver_limited_ns, true);
  const int64_t rest = host.tcp_busy_ns - host.tcp_receiver_limited_ns;
  const int64_t wire = phase.Take(CauseKind::kBandwidth, &Budget::blocked_ns, rest, true);
  if (receiver + wire == 0) return;
  const std::string what =
      receiver > wire
          ? fmt::format("the receiver's window was full for {} of it", HumanNs(receiver))
          : fmt::format("its link carried {}", Rate(own));
  phase.Say(
      CauseKind::kBandwidth, what,
      fmt::format(
          "{}; its connections had data to send for {}, {} of it with the receiver's "
          "window full; {} of {} were sent again, the round trip grew from {} to {}.",
          rates, HumanNs(host.tcp_busy_ns), HumanNs(host.tcp_receiver_limited_ns),
          HumanBytes(static_cast<double>(std::max<int64_t>(0, host.tcp_retransmitted_bytes))),
          HumanBytes(static_cast<double>(std::max<int64_t>(0, host.tcp_sent_bytes))),
          HumanNs(own.probe_round_trip_ns), HumanNs(std::max<int64_t>(0, host.tcp_round_trip_ns))));
}

/// Waiting that ends with an answer: a full window, or nothing to send until one comes.
int64_t AwaitingAnswers(const PhaseFacts& facts) {
  const HostFigures& host = facts.host;
  const int64_t nothing_to_send = std::max<int64_t>(0, facts.split.busy_ns() - host.tcp_busy_ns);
  return nothing_to_send + host.tcp_receiver_limited_ns + host.tcp_sender_limited_ns;
}

void ExplainDistance(PhaseCase& phase, const Link& link) {
  const PhaseFacts &own = phase.own, &median = phase.median;
  const int64_t trips = RoundTrips(own.bytes);
  const int64_t least = trips * std::min(link.farther_ns, int64_t{1} << 40);
  int64_t shown = least;
  if (link.tcp && !link.queue) shown = std::max(shown, AwaitingAnswers(own));
  if (phase.Take(CauseKind::kLatencyOrLoss, &Budget::blocked_ns, shown, true) > 0) {
    phase.Say(CauseKind::kLatencyOrLoss,
              fmt::format("the way to the coordinator and back takes {}",
                          HumanNs(own.probe_round_trip_ns)),
              fmt::format("A round trip takes {} at least, worker {}'s {}; {} need {} or more of "
                          "them.",
                          HumanNs(own.probe_round_trip_ns), median.worker,
                          HumanNs(median.probe_round_trip_ns),
                          HumanBytes(static_cast<double>(own.bytes)), trips));
  }
}

}  // namespace

void ExplainLink(PhaseCase& phase) {
  const Phase which = phase.own.phase;
  if ((which != Phase::kUpload && which != Phase::kDownload) || phase.left.blocked_ns == 0) return;
  const Link link = Look(phase.own, phase.median);
  if (link.far) ExplainDistance(phase, link);
  if (link.lossy) {
    ExplainLoss(phase, link);
  } else if (link.far && !link.queue) {
    phase.Take(CauseKind::kLatencyOrLoss, &Budget::blocked_ns, phase.left.blocked_ns, false);
  } else {
    ExplainBandwidth(phase, link);
  }
}

}  // namespace interlude::internal
