// What the way to the coordinator carries.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_text.h"
#include "doctor/network_checks.h"

namespace interlude {
namespace {

constexpr double kSlowRoundTrip = 0.2;
constexpr double kUnevenRoundTrip = 0.1;  // p99 above the median by so much
constexpr double kSomeLoss = 1e-3;
constexpr double kMuchLoss = 2e-2;
constexpr double kSomeOfTraining = 0.1;
constexpr double kMuchOfTraining = 0.5;

Check CheckRoundTrip(const LinkFigures& link) {
  const double shortest = link.round_trip_s.front();
  const double median = link.RoundTrip(0.5);
  const double p99 = link.RoundTrip(0.99);
  Check check{.name = "round trip", .grade = CheckGrade::kOk};
  check.figure = fmt::format("{} at least, {} median, {} p99 of {}", HumanSeconds(shortest),
                             HumanSeconds(median), HumanSeconds(p99),
                             HumanCount(static_cast<double>(link.round_trip_s.size())));
  check.values = {{"min_seconds", shortest}, {"median_seconds", median}, {"p99_seconds", p99}};
  if (median > kSlowRoundTrip) {
    check.grade = CheckGrade::kWarn;
    check.advice =
        "each round waits for some of them: a coordinator nearer to the workers, or "
        "longer rounds (round.local_steps)";
  } else if (p99 - median > kUnevenRoundTrip) {
    check.grade = CheckGrade::kWarn;
    check.advice = "uneven: something else fills the line or the machine now and then";
  }
  return check;
}

Check CheckLoss(const LinkFigures& link) {
  Check check{.name = "loss"};
  if (!link.sent_bytes || !link.retransmitted_bytes || *link.sent_bytes <= 0) {
    check.figure = "the kernel does not say what TCP sent again";
    return check;
  }
  const double share =
      static_cast<double>(*link.retransmitted_bytes) / static_cast<double>(*link.sent_bytes);
  check.figure = fmt::format("{:.3f} % of {} were sent again on the way up", 100 * share,
                             HumanBytes(static_cast<double>(*link.sent_bytes)));
  check.values = {{"retransmitted_share", share}};
  const bool far = link.RoundTrip(0.5) >= kFarSeconds;
  check.grade = share > kMuchLoss          ? CheckGrade::kBad
                : share > kSomeLoss && far ? CheckGrade::kWarn
                                           : CheckGrade::kOk;
  if (check.grade != CheckGrade::kOk)
    check.advice =
        "a full queue or a bad line: with CUBIC the rate falls with it, BBR stands it "
        "(see congestion)";
  return check;
}

Check CheckRate(const LinkFigures& link) {
  Check check{.name = "link rate"};
  const auto text = [](const std::optional<double>& rate) {
    return rate ? HumanBytes(*rate) + "/s" : std::string("not known");
  };
  check.figure = fmt::format("up {}, down {} on one connection", text(link.upload_bytes_per_s),
                             text(link.download_bytes_per_s));
  if (link.upload_bytes_per_s)
    check.values.emplace_back("upload_bytes_per_s", *link.upload_bytes_per_s);
  if (link.download_bytes_per_s)
    check.values.emplace_back("download_bytes_per_s", *link.download_bytes_per_s);
  if (link.upload_bytes_per_s && link.download_bytes_per_s) {
    check.grade = CheckGrade::kOk;
  } else {
    check.advice = link.cut_short.empty() ? "too slow to be measured in a moment" : link.cut_short;
  }
  return check;
}

/// What a round costs over this line, beside its training.
Check CheckExchange(const LinkFigures& link, const Job& job,
                    const std::optional<CodecSeconds>& codec) {
  Check check{.name = "exchange"};
  if (job.params == 0 || !link.upload_bytes_per_s || !link.download_bytes_per_s) {
    check.figure = "a round's cost is not computed";
    check.advice = job.params == 0 ? "give --params N" : "the link's rate is not known";
    return check;
  }
  const auto bytes = static_cast<double>(PayloadBytes(job.params));
  const double up = bytes / *link.upload_bytes_per_s;
  const double down = bytes / *link.download_bytes_per_s;
  const double slowest = std::max({up, down, codec ? codec->encode : 0, codec ? codec->apply : 0});
  const double seconds = slowest + 2 * link.RoundTrip(0.5);
  check.figure =
      fmt::format("{} each way: {} up, {} down; chunks overlap, so at least {} a round",
                  HumanBytes(bytes), HumanSeconds(up), HumanSeconds(down), HumanSeconds(seconds));
  check.values = {{"payload_bytes", bytes},
                  {"up_seconds", up},
                  {"down_seconds", down},
                  {"round_seconds", seconds}};
  if (job.train_seconds <= 0) {
    check.advice = "give --train-seconds S, of a round's local steps, to have it compared";
    return check;
  }
  const double share = seconds / job.train_seconds;
  check.figure +=
      fmt::format(", {:.0f} % of the training's {}", 100 * share, HumanSeconds(job.train_seconds));
  check.values.emplace_back("of_training", share);
  check.grade = share > kMuchOfTraining   ? CheckGrade::kBad
                : share > kSomeOfTraining ? CheckGrade::kWarn
                                          : CheckGrade::kOk;
  if (check.grade != CheckGrade::kOk)
    check.advice = fmt::format(
        "{:.0f} times as many round.local_steps bring it to 10 %; or a "
        "faster line",
        std::ceil(share / kSomeOfTraining));
  return check;
}

Check CheckWallClock(const LinkFigures& link) {
  const double error = link.round_trip_s.front() / 2;
  const double offset = std::abs(link.wall_offset_s);
  Check check{.name = "wall clock", .grade = CheckGrade::kOk};
  check.figure = fmt::format("{} {} the coordinator's, to within {}", HumanSeconds(offset),
                             link.wall_offset_s > 0 ? "behind" : "ahead of", HumanSeconds(error));
  check.values = {{"offset_seconds", link.wall_offset_s}, {"error_seconds", error}};
  if (offset - error > 1) {
    check.grade = CheckGrade::kWarn;
    check.advice =
        "logs of the two machines do not fit together, and certificates may seem not to "
        "be valid: run an NTP daemon. The account of a run does not use this clock";
  }
  return check;
}

}  // namespace

Checks CheckLink(const StatusOr<LinkFigures>& link, const Job& job,
                 const std::optional<CodecSeconds>& codec) {
  if (!link.ok()) {
    const StatusCode code = link.status().code();
    const bool busy = code == StatusCode::kResourceExhausted;
    const bool older = code == StatusCode::kUnimplemented;
    return {{.name = "link",
             .grade = busy || older ? CheckGrade::kUnknown : CheckGrade::kBad,
             .figure = link.status().message(),
             .advice = busy    ? ""
                       : older ? "the coordinator is of a version that measures no links"
                               : "a worker would not get further either"}};
  }
  return {CheckRoundTrip(*link), CheckLoss(*link), CheckRate(*link),
          CheckExchange(*link, job, codec), CheckWallClock(*link)};
}

}  // namespace interlude
