// What stands on the critical path of the rounds although no single worker is to blame.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/finding_rules.h"
#include "analysis/wide.h"
#include "base/human_text.h"

namespace interlude::internal {
namespace {

struct PathRule {
  const char* id;
  std::set<std::string_view> what;
  double least;       // share of the measured rounds
  const char* text;   // {0}: share, {1}: time a round
  const char* phase;  // whose spans show it
  const char* try_this;
};

const PathRule kRules[] = {
    {"exchange_on_path",
     {"encode", "call", "upload", "link_up", "receive", "decide", "merge", "ask", "send",
      "link_down", "download", "apply", "verify", "report"},
     0.5,
     "the exchange is {0} of the rounds' critical path, {1} a round",
     "upload",
     "More local steps a round (round.local_steps) make the exchange rarer; its longest stage is "
     "in the table of the path."},
    {"save_on_path",
     {"save"},
     0.02,
     "saving full models holds the rounds up for {1} each, {0} of them",
     "save",
     "round.persistence = \"on_demand\" saves when somebody needs it; a quicker disk otherwise."},
    {"evaluation_on_path",
     {"evaluate"},
     0.05,
     "evaluation is {0} of the rounds' critical path, {1} a round",
     "evaluate",
     "Evaluate less often (round.evaluate_every) or on fewer samples (data.test_limit)."},
    {"merge_on_path",
     {"merge"},
     0.05,
     "the coordinator's merging is {0} of the rounds' critical path, {1} a round",
     "merge",
     "Give the coordinator more cores (--threads), or smaller chunks (round.chunk_params) so that "
     "merging begins earlier."},
    {"hand_over_on_path",
     {"hand_over"},
     0.05,
     "handing over from thread to thread is {0} of the rounds' critical path, {1} a round",
     "decide",
     "A thread that is woken waits for a CPU: run fewer threads or processes on these cores, raise "
     "a CPU quota that is used up, or hand over less often with larger chunks "
     "(round.chunk_params)."},
};

constexpr double kUnexplained = 0.02;
constexpr double kLinkShare = 0.10;
constexpr double kMostly = 0.5;
constexpr double kLossShare = 0.005;

std::string RoundRange(const FindingContext& context) {
  return fmt::format("round BETWEEN {} AND {}", context.measured.begin()->first,
                     context.measured.rbegin()->first);
}

std::string Query(const FindingContext& context, std::string_view phase) {
  return fmt::format(
      "SELECT round, phase, recorded_by, about_worker, busy_ns / 1e6 AS busy_ms, (end_ns - "
      "begin_ns) / 1e6 AS inside_ms FROM spans WHERE phase = '{}' AND {} ORDER BY round",
      phase, RoundRange(context));
}

/// The parts of `what` on the path, as sentences.
std::vector<std::string> Parts(const FindingContext& context,
                               const std::set<std::string_view>& what) {
  std::map<std::string_view, int64_t> sums;
  for (const PathShare& share : context.path) {
    if (context.measured.contains(share.round) && what.contains(share.what))
      AddTo(sums[share.what], share.ns);
  }
  std::vector<std::string> sentences;
  for (const auto& [name, ns] : sums)
    sentences.push_back(fmt::format("{} is {} of the path.", name, Percent(context.ShareOf(ns))));
  return sentences;
}

void FindUnexplained(const FindingContext& context, Findings& out) {
  const int64_t ns = context.OnPath({"unexplained"});
  if (context.ShareOf(ns) < kUnexplained) return;
  Finding finding;
  finding.id = "unexplained";
  finding.grade = Grade::kObserved;
  finding.text = fmt::format("no record says what happened in {} of the rounds' time (observed)",
                             Percent(context.ShareOf(ns)));
  finding.evidence.push_back(
      fmt::format("{} in {} rounds; spans are dropped where a process cannot report for long.",
                  HumanNs(ns), context.measured.size()));
  finding.records = "SELECT round, recorded_by, count(*) AS spans FROM spans WHERE " +
                    RoundRange(context) + " GROUP BY round, recorded_by ORDER BY round";
  finding.try_this = "Look at the events of these rounds.";
  out.push_back(std::move(finding));
}

/// The TCP figures of all workers' samples.
struct Sums {
  int64_t busy = 0, receiver = 0, sender = 0, sent = 0, again = 0;
};

Sums SumTcp(const FindingContext& context) {
  Sums sums;
  const auto add = [](int64_t value, int64_t& to) {
    if (value > 0) to = std::min(to + std::min(value, int64_t{1} << 50), int64_t{1} << 61);
  };
  for (const ProcessSample& sample : context.input.tables.samples) {
    if (sample.recorded_by < 0) continue;
    add(sample.tcp_busy_ns, sums.busy);
    add(sample.tcp_receiver_limited_ns, sums.receiver);
    add(sample.tcp_sender_limited_ns, sums.sender);
    add(sample.tcp_sent_bytes, sums.sent);
    add(sample.tcp_retransmitted_bytes, sums.again);
  }
  return sums;
}

/// All workers' uploads, when they are a good part of the path: what holds them up.
void FindLinkLimit(const FindingContext& context, Findings& out) {
  const int64_t ns = context.OnPath({"upload", "link_up"});
  const Sums tcp = SumTcp(context);
  if (context.ShareOf(ns) < kLinkShare || tcp.busy == 0 || tcp.sent == 0) return;
  const auto share = [](int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  Finding finding;
  finding.grade = Grade::kObserved;
  std::string why;
  if (share(tcp.again, tcp.sent) >= kLossShare) {
    finding.id = "uploads_limited_by_loss";
    why = fmt::format("{} of the bytes were lost and sent again",
                      Percent(share(tcp.again, tcp.sent)));
    finding.try_this = "Look for what loses packets; BBR bears losses that CUBIC does not.";
  } else if (share(tcp.receiver, tcp.busy) >= kMostly) {
    finding.id = "uploads_limited_by_receiver";
    why = fmt::format("the coordinator's receive window was full for {} of the time",
                      Percent(share(tcp.receiver, tcp.busy)));
    finding.try_this =
        "Give the coordinator more cores, or larger receive buffers (net.ipv4.tcp_rmem).";
  } else if (share(tcp.sender, tcp.busy) >= kMostly) {
    finding.id = "uploads_limited_by_sender";
    why = fmt::format("the workers' send buffers were too small for {} of the time",
                      Percent(share(tcp.sender, tcp.busy)));
    finding.try_this = "Larger send buffers on the workers (net.ipv4.tcp_wmem).";
  } else {
    finding.id = "uploads_limited_by_bandwidth";
    finding.grade = Grade::kHypothesis;
    why = "nothing was lost and no buffer was full: the link itself carries no more";
    finding.try_this = "A wider link, or more local steps a round.";
  }
  finding.text = fmt::format("uploading is {} of the rounds' critical path: {} ({})",
                             Percent(context.ShareOf(ns)), why, GradeName(finding.grade));
  context.SetSaving(ns, finding);
  finding.evidence.push_back(fmt::format(
      "The workers' connections had data to send for {}; {} with the receiver's window full, {} "
      "with the send buffer full; {} of {} were sent again.",
      HumanNs(tcp.busy), HumanNs(tcp.receiver), HumanNs(tcp.sender),
      HumanBytes(static_cast<double>(tcp.again)), HumanBytes(static_cast<double>(tcp.sent))));
  finding.records =
      "SELECT recorded_by AS worker, at_ns, tcp_sent_bytes, tcp_retransmitted_bytes, tcp_busy_ns, "
      "tcp_receiver_limited_ns, tcp_sender_limited_ns, tcp_round_trip_ns FROM process_samples "
      "WHERE recorded_by >= 0 AND tcp_busy_ns > 0 ORDER BY recorded_by, at_ns";
  out.push_back(std::move(finding));
}

/// Rounds after the first are the measure.
void FindWarmUp(const FindingContext& context, Findings& out) {
  constexpr double kLeastShare = 0.05;  // of the run
  constexpr int64_t kLeastNs = 5'000'000'000;
  const std::span<const RoundRecord> rounds = context.input.tables.rounds;
  if (rounds.size() < 3) return;
  const RoundRecord& first = rounds.front();
  if (context.measured.contains(first.round) || first.begin_ns < 0 ||
      first.end_ns <= first.begin_ns)
    return;
  const int64_t mean = context.wall_ns / static_cast<int64_t>(context.measured.size());
  const int64_t more = (first.end_ns - first.begin_ns) - mean;
  if (more < kLeastNs ||
      static_cast<double>(more) < kLeastShare * static_cast<double>(context.wall_ns))
    return;
  Finding finding;
  finding.id = "first_round";
  finding.grade = Grade::kObserved;
  finding.text = fmt::format("the first round took {}, {} longer than the others' mean (observed)",
                             HumanNs(more + mean), HumanNs(more));
  finding.evidence.push_back("It warms connections, caches and memory; figures leave it out.");
  finding.records = "SELECT * FROM round_summary ORDER BY round LIMIT 3";
  finding.try_this = "Longer runs; data sets read before the run begins.";
  out.push_back(std::move(finding));
}

}  // namespace

void FindOnPath(const FindingContext& context, Findings& out) {
  if (context.measured.empty()) return;
  FindWarmUp(context, out);
  if (context.path.empty()) return;
  for (const PathRule& rule : kRules) {
    const int64_t ns = context.OnPath(rule.what);
    if (context.ShareOf(ns) < rule.least) continue;
    Finding finding;
    finding.id = rule.id;
    finding.grade = Grade::kObserved;
    context.SetSaving(ns, finding);
    finding.text = fmt::format(fmt::runtime(rule.text), Percent(context.ShareOf(ns)),
                               HumanNs(finding.saves_ns_per_round)) +
                   " (observed)";
    finding.evidence = Parts(context, rule.what);
    finding.records = Query(context, rule.phase);
    finding.try_this = rule.try_this;
    out.push_back(std::move(finding));
  }
  FindLinkLimit(context, out);
  FindUnexplained(context, out);
}

}  // namespace interlude::internal
